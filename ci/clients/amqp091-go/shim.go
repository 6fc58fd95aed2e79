// amqp091-go as a shim: what the commands call.
package main

import (
	"slices"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

func main() {
	// Errors of the library are explained where they arise, as they mean something only with their channel.
	Serve(map[string]func(Told) (Object, error){
		"hello": hello, "connect": connect, "open": open, "call": onChannel(call), "send": onChannel(send),
		"get": onChannel(get), "receive": onChannel(receive), "stop": onChannel(stop), "settle": onChannel(settle),
		"echo": onChannel(echo), "wait": wait, "close": shut, "reset": names.Reset,
	}, func(err error) *Failure { return Failed("internal", err) })
}

func hello(Told) (Object, error) {
	version := amqp.NewConnectionProperties()["version"]
	return Object{"contract": 1, "library": "amqp091-go", "version": version, "language": "Go", "protocol": "0-9-1"}, nil
}

func onChannel(act func(*channel, Told) (Object, error)) func(Told) (Object, error) {
	return func(told Told) (Object, error) {
		ch, err := Named[*channel](&names, told.Text("on"))
		if err != nil {
			return nil, err
		}
		ok, err := act(ch, told)
		return ok, explain(ch.of, ch, err)
	}
}

func call(ch *channel, told Told) (Object, error) {
	a, found := told.Object("args"), methods[told.Text("method")]
	if found.act == nil {
		return nil, Unsupported("the library has no function for %s", told.Text("method"))
	}
	for name := range a {
		if err := a.Refuse(name); err != nil && !slices.Contains(strings.Fields(found.takes), name) {
			return nil, err
		}
	}
	table, err := arguments(a["arguments"])
	if err != nil {
		return nil, err
	}
	reply, err := found.act(ch, a, table)
	if a.Flag("no-wait") || reply == nil {
		reply = Object{} // what the library gives where it does not wait was not the server's
	}
	return Object{"reply": reply}, err
}

func send(ch *channel, told Told) (Object, error) {
	message, err := publishing(told)
	if err != nil {
		return nil, err
	}
	for i := 0; i < told.Number("count", 1) && err == nil; i++ {
		err = ch.Publish(told.Text("exchange"), told.Text("key"), told.Flag("mandatory"), told.Flag("immediate"), message)
	}
	return nil, err
}

func get(ch *channel, told Told) (Object, error) {
	delivery, found, err := ch.Get(told.Text("queue"), told.Flag("settled"))
	if err != nil || !found {
		return Object{"message": nil}, err
	}
	return Object{"message": tellDelivery(delivery)}, nil
}

func receive(ch *channel, told Told) (Object, error) {
	tag := told.Text("tag")
	if tag == "" { // the library would make one, but never says which
		tag = names.Next("shim-", 1)
	}
	table, err := arguments(told["arguments"])
	if err != nil {
		return nil, err
	}
	deliveries, err := ch.Consume(told.Text("queue"), tag, told.Flag("settled"), false, false, false, table)
	if err != nil {
		return nil, err
	}
	go func() {
		for each := range deliveries {
			event := Object{"event": "message", "on": ch.name, "tag": each.ConsumerTag, "message": tellDelivery(each)}
			ch.of.events.Put(event, false)
		}
	}()
	return Object{"tag": tag}, nil
}

func stop(ch *channel, told Told) (Object, error) { return nil, ch.Cancel(told.Text("tag"), false) }

func settle(ch *channel, told Told) (Object, error) {
	it, err := Named[*kept](&names, told.Text("token"))
	if err != nil {
		return nil, err
	}
	outcome, multiple := told.Text("outcome"), told.Flag("multiple")
	switch {
	case outcome == "accept":
		return nil, ch.Ack(it.tag, multiple)
	case multiple || outcome != "release" && outcome != "reject":
		return nil, Unsupported("Basic.Reject knows neither multiple nor %s", outcome)
	}
	return nil, ch.Reject(it.tag, outcome == "release")
}

func echo(ch *channel, told Told) (Object, error) {
	it, err := Named[*kept](&names, told.Text("token"))
	if err != nil {
		return nil, err
	}
	return nil, ch.Publish("", told.Text("key"), false, false, it.Publishing)
}

func wait(told Told) (Object, error) {
	c, err := Named[*connection](&names, strings.Split(told.Text("on"), "/")[0])
	if err != nil {
		return nil, err
	}
	return c.events.Wait(told)
}

func shut(told Told) (Object, error) {
	if ch, err := Named[*channel](&names, told.Text("on")); err == nil {
		return nil, explain(ch.of, ch, ch.Close())
	}
	c, err := Named[*connection](&names, told.Text("on"))
	if err != nil {
		return nil, err
	}
	return nil, explain(c, nil, c.CloseDeadline(time.Now().Add(told.Seconds("within"))))
}
