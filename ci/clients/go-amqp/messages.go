// What go-amqp makes of the contract's messages.
package main

import (
	"encoding/json"
	"time"

	"github.com/Azure/go-amqp"
)

// message makes what `send` was told.
func message(told Told) (*amqp.Message, error) {
	made := &amqp.Message{}
	if err := body(made, told["body"]); err != nil {
		return nil, err
	}
	if _, given := told["header"]; given {
		made.Header = &amqp.MessageHeader{Priority: 4} // the library has no way to say that it is not set
		if err := set(made.Header, told.Object("header")); err != nil {
			return nil, err
		}
	}
	if _, given := told["properties"]; given {
		made.Properties = &amqp.MessageProperties{}
		if err := set(made.Properties, told.Object("properties")); err != nil {
			return nil, err
		}
	}
	if held, given := told.Object("application")["map"]; given {
		made.ApplicationProperties = map[string]any{}
		if err := Pairs(held, kinds, func(key, value any) error {
			name, ok := key.(string)
			if _, twice := made.ApplicationProperties[name]; twice || !ok {
				return Unsupported("to the library %v is no name, or there twice", key)
			}
			made.ApplicationProperties[name] = value
			return nil
		}); err != nil {
			return nil, err
		}
	}
	if held, given := told.Object("annotations")["map"]; given {
		made.Annotations = amqp.Annotations{}
		if err := Pairs(held, kinds, func(key, value any) error {
			switch key.(type) {
			case string, amqp.Symbol, int64, int:
				made.Annotations[key] = value
				return nil
			}
			return Unsupported("the library has no key of annotations that is %T", key)
		}); err != nil {
			return nil, err
		}
	}
	return made, nil
}

func body(made *amqp.Message, told any) (err error) {
	object, _ := told.(Object)
	if held, given := object["value"]; given {
		if made.Value, err = Value(held, kinds); err == nil && made.Value == nil {
			made.Value = amqp.Null{}
		}
		return err
	}
	if held, given := object["sequence"]; given {
		value, err := Value(Object{"list": held}, kinds)
		if err == nil {
			made.Sequence = [][]any{value.([]any)}
		}
		return err
	}
	octets, err := Body(told)
	made.Data = [][]byte{octets}
	return err
}

// set sets fields of a section by the contract's names; where the library takes a string or a number, it says which itself.
func set(section any, told Told) error {
	for name, held := range told {
		if number, ok := held.(json.Number); ok {
			switch name {
			case "priority":
				held = Object{"u8": number.String()}
			case "delivery-count", "group-sequence", "ttl":
				held = Object{"u32": number.String()}
			}
		}
		value, err := Value(held, kinds)
		if err != nil {
			return err
		}
		switch v := value.(type) {
		case amqp.Symbol: // content-type and content-encoding are strings here, and symbols when sent
			value = string(v)
		case string:
			if name == "user-id" {
				value = []byte(v)
			}
		case uint32:
			if name == "ttl" {
				value = time.Duration(v) * time.Millisecond
			}
		}
		switch value.(type) {
		case string, []byte, uint64, amqp.UUID:
		default:
			if name == "message-id" || name == "correlation-id" {
				return Unsupported("the library has no %s that is %T", name, value)
			}
		}
		if err := SetField(section, name, value); err != nil {
			return err
		}
	}
	return nil
}
