// What the errors of amqp091-go mean.
package main

import (
	"errors"

	amqp "github.com/rabbitmq/amqp091-go"
)

// explain tells an error of the library as a Failure.
func explain(c *connection, ch *channel, err error) error {
	if _, said := err.(*Failure); err == nil || said {
		return err
	}
	var told *amqp.Error
	if !errors.As(err, &told) {
		if kind := SocketKind(err); kind != "" {
			return Failed(kind, err)
		}
		return Failed("local", err)
	}
	failure := Failed("local", told)
	switch {
	case told.Server, (told == amqp.ErrCredentials || told == amqp.ErrVhost) && c.socket.Kind() != "timeout":
		failure.Kind, failure.Level, failure.Code, failure.Text = "closed", "connection", told.Code, told.Reason
		if ch != nil {
			<-ch.done
			if !ofConnection(ch) {
				failure.Level = "channel"
			}
		}
	case told == amqp.ErrClosed && ch != nil && ch.IsClosed():
		if <-ch.done; ch.reason != nil { // why it is closed has been told beside
			return explain(c, ch, ch.reason)
		}
	case told == amqp.ErrClosed && c.Connection != nil && c.IsClosed():
		if <-c.done; c.reason != nil {
			return explain(c, nil, c.reason)
		}
	case c.socket.Kind() != "":
		failure.Kind = c.socket.Kind()
	}
	return failure
}
