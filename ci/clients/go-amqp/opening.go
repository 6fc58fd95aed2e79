// How connections and sessions of go-amqp are opened.
package main

import (
	"sync"
	"time"

	"github.com/Azure/go-amqp"
)

var names Names

type connection struct {
	*amqp.Conn
	socket *Socket
	events *Events
}

// session is one of the library's; its end shows in its links, and is told once.
type session struct {
	*amqp.Session
	name string
	of   *connection
	over sync.Once
}

func connect(told Told) (Object, error) {
	if err := told.Refuse("heartbeat"); err != nil {
		return nil, err
	}
	options := &amqp.ConnOptions{ContainerID: told.Text("container"), HostName: told.Text("hostname")}
	if options.HostName == "" {
		options.HostName = told.Text("host") // as the library's own Dial does
	}
	switch mechanism := told.Text("mechanism"); mechanism {
	case "", "PLAIN":
		options.SASLType = amqp.SASLTypePlain(told.Text("user"), told.Text("password"))
	case "ANONYMOUS":
		options.SASLType = amqp.SASLTypeAnonymous()
	case "EXTERNAL":
		options.SASLType = amqp.SASLTypeExternal("")
	default:
		return nil, Unsupported("the library has no mechanism %s", mechanism)
	}
	options.MaxFrameSize = uint32(told.Number("frame_max", 0))
	options.MaxSessions = uint16(told.Number("channel_max", 0)) // the library sends just this number
	if _, given := told["channel_max"]; given && options.MaxSessions == 0 {
		return nil, Unsupported("to the library a channel-max of 0 is its default")
	}
	options.IdleTimeout = time.Duration(told.Number("idle", 0)) * time.Millisecond
	if _, given := told["idle"]; given && options.IdleTimeout == 0 {
		options.IdleTimeout = -1
	}
	c := &connection{events: NewEvents()}
	var err error
	if c.socket, err = names.Dial(told); err != nil {
		return nil, explain(c, "connection", err)
	}
	within, stop := told.Within()
	defer stop()
	if c.Conn, err = amqp.NewConn(within, c.socket, options); err != nil {
		return nil, explain(c, "connection", err)
	}
	name := names.Next("c", 0)
	go func() {
		<-c.Done()
		c.events.Put(ending(name, c, "connection", c.Err()), true)
	}()
	names.Put(name, c)
	return Object{"on": name}, nil
}

func open(told Told) (Object, error) {
	c, err := Named[*connection](&names, told.Text("on"))
	if err != nil {
		return nil, err
	}
	within, stop := told.Within()
	defer stop()
	opened, err := c.NewSession(within, nil)
	if err != nil {
		return nil, explain(c, "session", err)
	}
	s := &session{Session: opened, name: names.Next(told.Text("on")+"/", 1), of: c}
	names.Put(s.name, s)
	return Object{"on": s.name}, nil
}
