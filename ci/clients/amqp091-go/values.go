// What amqp091-go makes of the contract's values, and the way back.
package main

import (
	"fmt"
	"sort"
	"strconv"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

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
