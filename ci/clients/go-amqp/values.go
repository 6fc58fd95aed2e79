// What go-amqp makes of the contract's values, and the way back.
package main

import (
	"encoding/hex"
	"fmt"
	"reflect"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/Azure/go-amqp"
)

var kinds Kinds

func init() {
	kinds = Kinds{"time": milliseconds, "sym": symbol, "uuid": uuid, "map": aMap, "array": array}
}

func milliseconds(held any) (any, error) {
	since, err := strconv.ParseInt(fmt.Sprint(held), 10, 64)
	return time.UnixMilli(since), err
}

func symbol(held any) (any, error) { return amqp.Symbol(fmt.Sprint(held)), nil }

func uuid(held any) (any, error) {
	made := amqp.UUID{}
	octets, err := hex.DecodeString(strings.ReplaceAll(fmt.Sprint(held), "-", ""))
	if err == nil && len(octets) != len(made) {
		err = Unsupported("%v is no uuid", held)
	}
	copy(made[:], octets)
	return made, err
}

// aMap makes a map of Go, which has no order, no key twice, and no key that cannot be compared.
func aMap(held any) (any, error) {
	made := map[any]any{}
	return made, Pairs(held, kinds, func(key, value any) error {
		if key != nil && !reflect.TypeOf(key).Comparable() {
			return Unsupported("no map of Go has a key that is %T", key)
		}
		if _, twice := made[key]; twice {
			return Unsupported("no map of Go has a key twice")
		}
		made[key] = value
		return nil
	})
}

// kindsOf are the contract's names of what an array may be of; the library has no array of u8 for its user.
var kindsOf = map[string]any{"i8": int8(0), "i16": int16(0), "u16": uint16(0), "i32": int32(0), "u32": uint32(0), "i64": int64(0),
	"u64": uint64(0), "f32": float32(0), "f64": float64(0), "bool": false, "text": "", "sym": amqp.Symbol(""), "bin": []byte(nil),
	"time": time.Time{}, "uuid": amqp.UUID{}, "map": map[any]any(nil)}

func array(held any) (any, error) {
	parts, _ := held.([]any)
	if len(parts) != 2 {
		return nil, Unsupported("%v is no array", held)
	}
	kind, _ := parts[0].(string)
	values, _ := parts[1].([]any)
	of, known := kindsOf[kind]
	if !known {
		return nil, Unsupported("the library has no array of %s", kind)
	}
	made := reflect.MakeSlice(reflect.SliceOf(reflect.TypeOf(of)), 0, len(values))
	for _, each := range values {
		if _, object := each.(Object); !object && kind != "bool" && kind != "text" {
			each = Object{kind: fmt.Sprint(each)} // of the array's kind, told once
		}
		value, err := Value(each, kinds)
		if err != nil {
			return nil, err
		}
		if reflect.TypeOf(value) != reflect.TypeOf(of) {
			return nil, Unsupported("%v is no %s", each, kind)
		}
		made = reflect.Append(made, reflect.ValueOf(value))
	}
	return made.Interface(), nil
}

func tellValue(value any) any {
	return Tell(value, func(value any) any {
		switch v := value.(type) {
		case time.Time:
			return Object{"time": strconv.FormatInt(v.UnixMilli(), 10)}
		case *time.Time:
			return tellValue(*v)
		case amqp.Symbol:
			return Object{"sym": string(v)}
		case amqp.UUID:
			return Object{"uuid": v.String()}
		case time.Duration:
			return v.Milliseconds()
		}
		held := reflect.ValueOf(value)
		switch held.Kind() {
		case reflect.Map:
			return tellMap(held)
		case reflect.Slice:
			kind, told := "u8", make([]any, held.Len()) // bytes that are no binary are the library's array of ubyte
			for each, of := range kindsOf {
				if reflect.TypeOf(of) == held.Type().Elem() {
					kind = each
				}
			}
			for i := range told {
				told[i] = tellValue(held.Index(i).Interface())
			}
			return Object{"array": []any{kind, told}}
		case reflect.Struct:
			if of := held.FieldByName("Descriptor"); of.IsValid() { // the type has no public name
				return Object{"desc": []any{tellValue(of.Interface()), tellValue(held.FieldByName("Value").Interface())}}
			}
		}
		return fmt.Sprintf("%T", value)
	})
}

func tellMap(held reflect.Value) Object {
	pairs := make([][]any, 0, held.Len())
	for each := held.MapRange(); each.Next(); {
		pairs = append(pairs, []any{tellValue(each.Key().Interface()), tellValue(each.Value().Interface())})
	}
	sort.Slice(pairs, func(i, j int) bool { return fmt.Sprint(pairs[i][0]) < fmt.Sprint(pairs[j][0]) })
	return Object{"map": pairs}
}
