// How connections, sessions and links of go-amqp are opened and closed, and what their errors mean.
package main

import (
	"context"
	"encoding/hex"
	"errors"
	"strings"
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

type sender struct {
	*amqp.Sender
	name    string
	of      *connection
	settled bool
	last    chan struct{} // is closed when all that was handed over before has been sent
}

type receiver struct {
	*amqp.Receiver
	name string
	of   *connection
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

func attach(told Told) (Object, error) {
	s, err := Named[*session](&names, told.Text("on"))
	if err != nil {
		return nil, err
	}
	var snd *amqp.SenderSettleMode
	if _, given := told["snd"]; given {
		modes := map[string]amqp.SenderSettleMode{"unsettled": amqp.SenderSettleModeUnsettled,
			"settled": amqp.SenderSettleModeSettled, "mixed": amqp.SenderSettleModeMixed}
		snd = modes[told.Text("snd")].Ptr()
	}
	var rcv *amqp.ReceiverSettleMode
	if _, given := told["rcv"]; given {
		modes := map[string]amqp.ReceiverSettleMode{"first": amqp.ReceiverSettleModeFirst, "second": amqp.ReceiverSettleModeSecond}
		rcv = modes[told.Text("rcv")].Ptr()
	}
	within, stop := told.Within()
	defer stop()
	if told.Text("role") == "sender" {
		opened, err := s.NewSender(within, told.Text("address"),
			&amqp.SenderOptions{Name: told.Text("name"), SettlementMode: snd, RequestedReceiverSettleMode: rcv})
		if err != nil {
			return nil, explain(s.of, "link", err)
		}
		it := &sender{opened, names.Next(s.name+"/", 1), s.of, snd != nil && *snd == amqp.SenderSettleModeSettled, none}
		names.Put(it.name, it)
		return Object{"on": it.name}, nil
	}
	opened, err := s.NewReceiver(within, told.Text("address"), // a credit of -1 leaves it to us
		&amqp.ReceiverOptions{Name: told.Text("name"), Credit: -1, SettlementMode: rcv, RequestedSenderSettleMode: snd})
	if err != nil {
		return nil, explain(s.of, "link", err)
	}
	r := &receiver{opened, names.Next(s.name+"/", 1), s.of}
	names.Put(r.name, r)
	go receive(s, r)
	if credit := told.Number("credit", 0); credit > 0 {
		err = r.IssueCredit(uint32(credit))
	}
	return Object{"on": r.name}, explain(s.of, "link", err)
}

// receive makes events of what arrives, and of the end of the link or of its session.
func receive(s *session, r *receiver) {
	for {
		message, err := r.Receive(context.Background(), nil)
		if err == nil {
			tag := hex.EncodeToString(message.DeliveryTag)
			r.of.events.Put(Object{"event": "message", "on": r.name, "tag": tag, "message": tell(message, r)}, false)
			continue
		}
		var ofSession *amqp.SessionError
		var ofLink *amqp.LinkError
		if errors.As(err, &ofSession) {
			s.over.Do(func() { r.of.events.Put(ending(s.name, r.of, "session", err), false) })
		} else if errors.As(err, &ofLink) {
			r.of.events.Put(ending(r.name, r.of, "link", err), false)
		}
		return
	}
}

// ending makes an event of an error that ended something; none of an end that we asked for.
func ending(on string, c *connection, level string, err error) Object {
	failure, _ := explain(c, level, err).(*Failure)
	if failure != nil && failure.Kind == "closed" {
		return Object{"event": "closed", "on": on, "level": failure.Level, "condition": failure.Condition, "text": failure.Text}
	} else if failure != nil && level == "connection" {
		return Object{"event": "lost", "on": on}
	}
	return nil
}

// explain tells an error of the library as a Failure; `level` is what an error is about that names nothing.
func explain(c *connection, level string, err error) error {
	if _, said := err.(*Failure); err == nil || said {
		return err
	}
	var ofConnection *amqp.ConnError
	var ofSession *amqp.SessionError
	var ofLink *amqp.LinkError
	var told *amqp.Error
	failure := Failed("local", err)
	switch {
	case errors.As(err, &ofConnection):
		level = "connection"
	case errors.As(err, &ofSession):
		level = "session"
	case errors.As(err, &ofLink):
		level = "link"
	}
	switch {
	case SocketKind(err) == "timeout":
		failure.Kind = "timeout"
	case errors.As(err, &told) && strings.HasPrefix(told.Description, "credit limit exceeded for sending link"):
		failure.Kind = "timeout" // the library's own words for no credit within the time
	case errors.As(err, &told) && strings.HasPrefix(told.Description, "encoded message size exceeds max"):
	case told != nil:
		failure.Kind, failure.Level = "closed", level
		failure.Condition, failure.Text = string(told.Condition), told.Description
	case strings.HasPrefix(failure.Text, "SASL"), strings.HasPrefix(failure.Text, "received detach with no error"):
		failure.Kind, failure.Level = "closed", level
	case SocketKind(err) != "":
		failure.Kind = "lost"
	case level == "connection" && c.socket.Kind() != "":
		failure.Kind = c.socket.Kind()
	}
	return failure
}

func shut(told Told) (Object, error) {
	within, stop := told.Within()
	defer stop()
	on := told.Text("on")
	if it, err := Named[*sender](&names, on); err == nil {
		return nil, explain(it.of, "link", it.Close(within))
	}
	if it, err := Named[*receiver](&names, on); err == nil {
		return nil, explain(it.of, "link", it.Close(within))
	}
	if it, err := Named[*session](&names, on); err == nil {
		return nil, explain(it.of, "session", it.Close(within))
	}
	it, err := Named[*connection](&names, on)
	if err != nil {
		return nil, err
	}
	return nil, explain(it, "connection", it.Close())
}
