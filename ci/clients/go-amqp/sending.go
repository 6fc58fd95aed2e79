// What go-amqp sends, and what becomes of it.
package main

import (
	"context"
	"strings"

	"github.com/Azure/go-amqp"
)

func send(told Told) (Object, error) {
	s, err := Named[*sender](&names, told.Text("on"))
	if err != nil {
		return nil, err
	}
	message, err := message(told)
	if err != nil {
		return nil, err
	}
	return deliver(s, message, told)
}

func echo(told Told) (Object, error) {
	s, err := Named[*sender](&names, told.Text("on"))
	if err != nil {
		return nil, err
	}
	it, err := Named[*kept](&names, told.Text("token"))
	if err != nil {
		return nil, err
	}
	return deliver(s, it.Message, told)
}

// none is closed: nothing is waited for.
var none = func() chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}()

// deliver sends a message so many times, and tells the outcome of the last, or a tag where nobody waits.
func deliver(s *sender, message *amqp.Message, told Told) (Object, error) {
	settled, count := told.Flag("settled") || s.settled, told.Number("count", 1)
	if wanted, given := told["wait"]; given && wanted == false {
		// The library waits for credit before it takes a message: it is kept for it, behind those before it.
		before, done, tag := s.last, make(chan struct{}), names.Next(s.name+"-", 1)
		s.last = done
		go func() {
			<-before
			defer close(done)
			for i := 0; i < count; i++ {
				receipt, err := transfer(context.Background(), s, message, settled)
				if err == nil && receipt != nil {
					go outcome(s, tag, receipt)
				}
			}
		}()
		return Object{"tag": tag}, nil
	}
	within, stop := told.Within()
	defer stop()
	select {
	case <-s.last:
	case <-within.Done():
		return nil, explain(s.of, "link", within.Err())
	}
	var receipts []*amqp.SendReceipt
	for i := 0; i < count; i++ {
		receipt, err := transfer(within, s, message, settled)
		if err != nil {
			return nil, explain(s.of, "link", err)
		}
		receipts = append(receipts, receipt)
	}
	answer := Object{"outcome": nil}
	for i := range receipts {
		if receipts[i] == nil {
			break
		}
		state, err := receipts[i].Wait(within)
		if err != nil {
			return nil, explain(s.of, "link", err)
		}
		answer = Object{"outcome": outcomeOf(state)}
	}
	return answer, nil
}

// transfer sends a message once; one that is settled has no receipt.
func transfer(within context.Context, s *sender, message *amqp.Message, settled bool) (*amqp.SendReceipt, error) {
	if settled {
		return nil, s.Send(within, message, &amqp.SendOptions{Settled: true})
	}
	receipt, err := s.SendWithReceipt(within, message, nil)
	if err != nil && strings.HasPrefix(err.Error(), "SendWithReceipt cannot be called") {
		// The other side has made a link of settled deliveries of it: these have another call.
		return nil, s.Send(within, message, nil)
	}
	return &receipt, err
}

// outcome waits for that of a delivery, and makes it an event; what closed the link is told elsewhere.
func outcome(s *sender, tag string, receipt *amqp.SendReceipt) {
	if state, err := receipt.Wait(context.Background()); err == nil {
		s.of.events.Put(Object{"event": "outcome", "on": s.name, "tag": tag, "outcome": outcomeOf(state)}, false)
	}
}

func outcomeOf(state amqp.DeliveryState) any {
	switch state.(type) {
	case *amqp.StateAccepted:
		return "accepted"
	case *amqp.StateRejected:
		return "rejected"
	case *amqp.StateReleased:
		return "released"
	case *amqp.StateModified:
		return "modified"
	}
	return nil
}
