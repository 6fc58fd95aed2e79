// How links of go-amqp are attached, and what arrives on them.
package main

import (
	"context"
	"encoding/hex"
	"errors"

	"github.com/Azure/go-amqp"
)

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
