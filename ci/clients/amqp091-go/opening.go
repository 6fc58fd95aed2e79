// How connections and channels of amqp091-go are opened, what they notify of, and what their errors mean.
package main

import (
	"net"
	"net/url"
	"strconv"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

var names Names

// connection is one of the library's, with what it notifies of.
type connection struct {
	*amqp.Connection
	socket *Socket
	events *Events
	done   chan struct{}
	reason *amqp.Error
}

// channel is one of the library's; its reason is there when done is closed.
type channel struct {
	*amqp.Channel
	name   string
	of     *connection
	done   chan struct{}
	reason *amqp.Error
}

func connect(told Told) (Object, error) {
	if told.Text("vhost") == "" {
		return nil, Unsupported("to the library's dial an empty virtual host is its default, /")
	}
	config := amqp.Config{Vhost: told.Text("vhost"), FrameSize: told.Number("frame_max", 0)}
	if _, given := told["frame_max"]; given && config.FrameSize == 0 {
		config.FrameSize = amqp.FrameSizeUnlimited
	}
	config.ChannelMax = uint16(told.Number("channel_max", 0))
	user, password := told.Text("user"), told.Text("password")
	switch mechanism := told.Text("mechanism"); mechanism {
	case "", "PLAIN":
		config.SASL = []amqp.Authentication{&amqp.PlainAuth{Username: user, Password: password}}
	case "AMQPLAIN":
		config.SASL = []amqp.Authentication{&amqp.AMQPlainAuth{Username: user, Password: password}}
	case "EXTERNAL":
		config.SASL = []amqp.Authentication{&amqp.ExternalAuth{}}
	default:
		return nil, Unsupported("the library has no mechanism %s", mechanism)
	}
	to := url.URL{Scheme: "amqp", Path: "/", Host: net.JoinHostPort(told.Text("host"), strconv.Itoa(told.Number("port", 0)))}
	if seconds := told.Number("heartbeat", -1); seconds >= 0 {
		to.RawQuery = "heartbeat=" + strconv.Itoa(seconds) // no heartbeats can be said in the URI alone
	}
	c := &connection{events: NewEvents(), done: make(chan struct{})}
	config.Dial = func(_, _ string) (net.Conn, error) {
		var err error
		if c.socket, err = names.Dial(told); err != nil {
			return nil, err
		}
		return c.socket, c.socket.SetDeadline(time.Now().Add(told.Seconds("within")))
	}
	var err error
	if c.Connection, err = amqp.DialConfig(to.String(), config); err != nil {
		return nil, explain(c, nil, err)
	}
	name := names.Next("c", 0)
	closes := c.NotifyClose(make(chan *amqp.Error, 1))
	go func() {
		c.reason = <-closes
		close(c.done)
		event := Object{"event": "lost", "on": name}
		if c.reason == nil {
			event = nil // closed by ourselves
		} else if c.reason.Server {
			event = closed(name, "connection", c.reason)
		}
		c.events.Put(event, true)
	}()
	names.Put(name, c)
	return Object{"on": name}, nil
}

func open(told Told) (Object, error) {
	c, err := Named[*connection](&names, told.Text("on"))
	if err != nil {
		return nil, err
	}
	ch := &channel{of: c, done: make(chan struct{})}
	if ch.Channel, err = c.Channel(); err != nil {
		return nil, explain(c, nil, err)
	}
	ch.name = names.Next(told.Text("on")+"/", 1)
	closes, cancels := ch.NotifyClose(make(chan *amqp.Error, 1)), ch.NotifyCancel(make(chan string, 1))
	returns := ch.NotifyReturn(make(chan amqp.Return, 1))
	go func() {
		ch.reason = <-closes
		close(ch.done)
		if ch.reason != nil && ch.reason.Server && !ofConnection(ch) {
			c.events.Put(closed(ch.name, "channel", ch.reason), false)
		}
	}()
	go func() {
		for tag := range cancels {
			c.events.Put(Object{"event": "cancelled", "on": ch.name, "tag": tag}, false)
		}
	}()
	go func() {
		for r := range returns {
			event := Object{"event": "returned", "on": ch.name, "code": r.ReplyCode, "text": r.ReplyText}
			event["message"] = tell(keptOf(r), r.Exchange, r.RoutingKey)
			c.events.Put(event, false)
		}
	}()
	names.Put(ch.name, ch)
	return Object{"on": ch.name}, nil
}

func closed(on, level string, why *amqp.Error) Object {
	return Object{"event": "closed", "on": on, "level": level, "code": why.Code, "text": why.Reason}
}

// ofConnection says whether a channel is closed because its connection is: the library gives both the same error.
func ofConnection(ch *channel) bool {
	if ch.of.IsClosed() {
		<-ch.of.done
	}
	return ch.reason == ch.of.reason
}
