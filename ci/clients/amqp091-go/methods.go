// The methods that amqp091-go has functions for.
package main

import amqp "github.com/rabbitmq/amqp091-go"

// method is one that a client may send: the arguments that the library has parameters for, and the function.
type method struct {
	takes string
	act   func(ch *channel, a Told, table amqp.Table) (Object, error)
}

var methods = map[string]method{
	"exchange.declare": {"exchange type passive durable auto-delete internal no-wait arguments",
		func(ch *channel, a Told, table amqp.Table) (Object, error) {
			declare := ch.ExchangeDeclare
			if a.Flag("passive") {
				declare = ch.ExchangeDeclarePassive
			}
			return nil, declare(a.Text("exchange"), a.Text("type"), a.Flag("durable"), a.Flag("auto-delete"), a.Flag("internal"),
				a.Flag("no-wait"), table)
		}},
	"exchange.delete": {"exchange if-unused no-wait", func(ch *channel, a Told, _ amqp.Table) (Object, error) {
		return nil, ch.ExchangeDelete(a.Text("exchange"), a.Flag("if-unused"), a.Flag("no-wait"))
	}},
	"queue.declare": {"queue passive durable exclusive auto-delete no-wait arguments",
		func(ch *channel, a Told, table amqp.Table) (Object, error) {
			declare := ch.QueueDeclare
			if a.Flag("passive") {
				declare = ch.QueueDeclarePassive
			}
			found, err := declare(a.Text("queue"), a.Flag("durable"), a.Flag("auto-delete"), a.Flag("exclusive"), a.Flag("no-wait"), table)
			return Object{"queue": found.Name, "message-count": found.Messages, "consumer-count": found.Consumers}, err
		}},
	"queue.bind": {"queue exchange routing-key no-wait arguments", func(ch *channel, a Told, table amqp.Table) (Object, error) {
		return nil, ch.QueueBind(a.Text("queue"), a.Text("routing-key"), a.Text("exchange"), a.Flag("no-wait"), table)
	}},
	"queue.unbind": {"queue exchange routing-key arguments", func(ch *channel, a Told, table amqp.Table) (Object, error) {
		return nil, ch.QueueUnbind(a.Text("queue"), a.Text("routing-key"), a.Text("exchange"), table)
	}},
	"queue.purge": {"queue no-wait", func(ch *channel, a Told, _ amqp.Table) (Object, error) {
		count, err := ch.QueuePurge(a.Text("queue"), a.Flag("no-wait"))
		return Object{"message-count": count}, err
	}},
	"queue.delete": {"queue if-unused if-empty no-wait", func(ch *channel, a Told, _ amqp.Table) (Object, error) {
		count, err := ch.QueueDelete(a.Text("queue"), a.Flag("if-unused"), a.Flag("if-empty"), a.Flag("no-wait"))
		return Object{"message-count": count}, err
	}},
	"basic.qos": {"prefetch-count prefetch-size global", func(ch *channel, a Told, _ amqp.Table) (Object, error) {
		return nil, ch.Qos(a.Number("prefetch-count", 0), a.Number("prefetch-size", 0), a.Flag("global"))
	}},
	"basic.recover": {"requeue", func(ch *channel, a Told, _ amqp.Table) (Object, error) { return nil, ch.Recover(a.Flag("requeue")) }},
	"channel.flow":  {"active", func(ch *channel, a Told, _ amqp.Table) (Object, error) { return nil, ch.Flow(a.Flag("active")) }},
	"tx.select":     {"", func(ch *channel, _ Told, _ amqp.Table) (Object, error) { return nil, ch.Tx() }},
	"tx.commit":     {"", func(ch *channel, _ Told, _ amqp.Table) (Object, error) { return nil, ch.TxCommit() }},
	"tx.rollback":   {"", func(ch *channel, _ Told, _ amqp.Table) (Object, error) { return nil, ch.TxRollback() }},
}
