// What is told of go-amqp's messages.
package main

import (
	"reflect"

	"github.com/Azure/go-amqp"
)

// kept is what a token stands for.
type kept struct {
	*amqp.Message
	from *receiver
}

const (
	headers    = "durable priority ttl first-acquirer delivery-count"
	properties = "message-id user-id to subject reply-to correlation-id content-type content-encoding absolute-expiry-time " +
		"creation-time group-id group-sequence reply-to-group-id"
)

// tell makes a message of the contract, and keeps it under a token.
func tell(message *amqp.Message, from *receiver) Object {
	found := Object{"token": names.Next("t", 1)}
	names.Put(found["token"].(string), &kept{message, from})
	if message.Header != nil {
		found["header"] = TellFields(*message.Header, headers, tellValue)
	}
	if message.Properties != nil {
		found["properties"] = TellFields(*message.Properties, properties, tellValue)
	}
	if message.ApplicationProperties != nil {
		found["application"] = tellMap(reflect.ValueOf(message.ApplicationProperties))
	}
	if message.Annotations != nil {
		found["annotations"] = tellMap(reflect.ValueOf(message.Annotations))
	}
	switch {
	case len(message.Sequence) > 0:
		found["sequence"] = tellValue(message.Sequence[0]).(Object)["list"]
	case len(message.Data) > 0:
		octets := []byte{}
		for _, each := range message.Data {
			octets = append(octets, each...)
		}
		return TellBody(found, octets)
	default:
		found["value"] = tellValue(message.Value)
	}
	return found
}
