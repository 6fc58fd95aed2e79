// What the errors of go-amqp mean.
package main

import (
	"errors"
	"strings"

	"github.com/Azure/go-amqp"
)

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
