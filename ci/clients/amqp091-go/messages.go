// What amqp091-go makes of the contract's messages, and the way back.
package main

import (
	"encoding/json"
	"reflect"

	amqp "github.com/rabbitmq/amqp091-go"
)

// kept is what a token stands for: what the library gave, as it is published again.
type kept struct {
	amqp.Publishing
	tag uint64
}

const properties = "content-type content-encoding headers delivery-mode priority correlation-id reply-to " +
	"expiration message-id timestamp type user-id app-id"

// publishing makes what is published; the library leaves out properties that are empty or 0, so these cannot be said.
func publishing(told Told) (amqp.Publishing, error) {
	made := amqp.Publishing{}
	var err error
	if made.Body, err = Body(told["body"]); err != nil {
		return made, err
	}
	for name, value := range told.Object("properties") {
		if number, ok := value.(json.Number); ok {
			value = Object{"u8": number.String()}
		}
		if value, err = Value(value, kinds); err != nil {
			return made, err
		}
		if err = SetField(&made, name, value); err != nil {
			return made, err
		}
		at := Field(reflect.ValueOf(made), name)
		if at.IsZero() || at.Kind() == reflect.Map && at.Len() == 0 {
			return made, Unsupported("the library leaves out %s that is empty or 0", name)
		}
	}
	return made, nil
}

// keptOf takes the fields that a delivery or a return shares with a publishing: the objects are the library's.
func keptOf(given any) *kept {
	made, from := &kept{}, reflect.ValueOf(given)
	to := reflect.ValueOf(&made.Publishing).Elem()
	for i := 0; i < to.NumField(); i++ {
		to.Field(i).Set(from.FieldByName(to.Type().Field(i).Name))
	}
	return made
}

// tell makes a message of the contract, and keeps it under a token.
func tell(it *kept, exchange, key string) Object {
	message := Object{"token": names.Next("t", 1), "properties": TellFields(it.Publishing, properties, tellValue)}
	message["exchange"], message["key"] = exchange, key
	names.Put(message["token"].(string), it)
	return TellBody(message, it.Body)
}

func tellDelivery(d amqp.Delivery) Object {
	it := keptOf(d)
	it.tag = d.DeliveryTag
	message := tell(it, d.Exchange, d.RoutingKey)
	message["redelivered"] = d.Redelivered
	return message
}
