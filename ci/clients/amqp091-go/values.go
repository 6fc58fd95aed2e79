// What amqp091-go makes of the contract's values and properties, and the way back.
package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"sort"
	"strconv"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// kept is what a token stands for: what the library gave, as it is published again.
type kept struct {
	amqp.Publishing
	tag uint64
}

var kinds Kinds

func init() {
	kinds = Kinds{"time": seconds, "map": table, "dec": decimal, "u64": nil}
}

func seconds(held any) (any, error) {
	since, err := strconv.ParseInt(fmt.Sprint(held), 10, 64)
	return time.Unix(since, 0), err
}

func decimal(held any) (any, error) {
	parts, _ := held.([]any)
	if len(parts) != 2 {
		return nil, Unsupported("%v is no decimal", held)
	}
	scale, err := strconv.ParseUint(fmt.Sprint(parts[0]), 10, 8)
	if err != nil {
		return nil, err
	}
	unscaled, err := strconv.ParseInt(fmt.Sprint(parts[1]), 10, 32)
	if err != nil {
		return nil, Unsupported("the library holds %v in 32 bits with a sign", parts[1])
	}
	return amqp.Decimal{Scale: uint8(scale), Value: int32(unscaled)}, nil
}

// table makes a map of Go, which has no order, and no name twice.
func table(held any) (any, error) {
	made := amqp.Table{}
	return made, Pairs(held, kinds, func(key, value any) error {
		name, ok := key.(string)
		if _, twice := made[name]; twice || !ok {
			return Unsupported("the library's tables hold %v not as a name, or not twice", key)
		}
		made[name] = value
		return nil
	})
}

// arguments makes the table of a method; none when it was not told.
func arguments(told any) (amqp.Table, error) {
	if told == nil {
		return nil, nil
	}
	made, err := Value(told, kinds)
	if err != nil {
		return nil, err
	}
	found, ok := made.(amqp.Table)
	if !ok {
		return nil, Unsupported("%v is no table", told)
	}
	return found, nil
}

func tellValue(value any) any {
	return Tell(value, func(value any) any {
		switch v := value.(type) {
		case time.Time:
			return Object{"time": strconv.FormatInt(v.Unix(), 10)}
		case amqp.Decimal:
			return Object{"dec": []any{v.Scale, strconv.Itoa(int(v.Value))}}
		case amqp.Table:
			return tellTable(v)
		}
		return fmt.Sprintf("%T", value)
	})
}

func tellTable(held amqp.Table) Object {
	pairs := make([][]any, 0, len(held))
	for name, value := range held {
		pairs = append(pairs, []any{name, tellValue(value)})
	}
	sort.Slice(pairs, func(i, j int) bool { return pairs[i][0].(string) < pairs[j][0].(string) })
	return Object{"map": pairs}
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
