// What the shims of Go's libraries share: lines in and out, time-outs, names, events, sockets and typed values.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"net"
	"os"
	"reflect"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"
)

// grace is what a command may take beyond `within`, so that a library's own time-out is told before the shim's.
const grace = 250 * time.Millisecond

// Object is an object of JSON.
type Object = map[string]any

// Failure is why a command was not carried out, in the contract's words.
type Failure struct {
	Kind      string `json:"kind"`
	Native    string `json:"native"`
	Text      string `json:"text"`
	Level     string `json:"level,omitempty"`
	Code      int    `json:"code,omitempty"`
	Condition string `json:"condition,omitempty"`
}

func (f *Failure) Error() string { return f.Kind + ": " + f.Text }

// Unsupported says that the library has no way to do something.
func Unsupported(format string, about ...any) error {
	return &Failure{Kind: "unsupported", Text: fmt.Sprintf(format, about...)}
}

// Failed tells an error of the library as a kind.
func Failed(kind string, err error) *Failure {
	return &Failure{Kind: kind, Native: strings.TrimPrefix(fmt.Sprintf("%T", err), "*"), Text: err.Error()}
}

// Told are the arguments of a command.
type Told Object

// Text gives an argument that is a text; empty when it is not given.
func (t Told) Text(name string) string { text, _ := t[name].(string); return text }

// Flag gives an argument that is true or false.
func (t Told) Flag(name string) bool { flag, _ := t[name].(bool); return flag }

// Object gives an argument that is an object.
func (t Told) Object(name string) Told { object, _ := t[name].(Object); return object }

// Number gives an argument that is an integer, or what stands for one that is not given.
func (t Told) Number(name string, otherwise int) int {
	if number, ok := t[name].(json.Number); ok {
		if whole, err := strconv.Atoi(number.String()); err == nil {
			return whole
		}
	}
	return otherwise
}

// Seconds gives an argument that is a time.
func (t Told) Seconds(name string) time.Duration {
	number, _ := t[name].(json.Number)
	seconds, _ := number.Float64()
	return time.Duration(seconds * float64(time.Second))
}

// Within gives a context that ends when the command has taken its time.
func (t Told) Within() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), t.Seconds("within"))
}

// Refuse says that an argument, when it is given, is more than the library can do.
func (t Told) Refuse(names ...string) error {
	for _, name := range names {
		if value, given := t[name]; given && value != nil && value != false {
			return Unsupported("the library has no option for %s", name)
		}
	}
	return nil
}

// Body gives the octets that `send` was told.
func Body(told any) ([]byte, error) {
	switch body := told.(type) {
	case string:
		return []byte(body), nil
	case Object:
		if text, ok := body["bin"].(string); ok {
			return hex.DecodeString(text)
		}
		if _, ok := body["fill"]; ok {
			octets := make([]byte, Told(body).Number("fill", 0))
			for i := range octets {
				octets[i] = byte(i % 251)
			}
			return octets, nil
		}
	}
	return nil, Unsupported("no body of octets: %v", told)
}

// TellBody adds to a message what is told of its octets.
func TellBody(message Object, octets []byte) Object {
	message["size"], message["crc32"] = len(octets), crc32.ChecksumIEEE(octets)
	if len(octets) <= 1024 && utf8.Valid(octets) {
		message["text"] = string(octets)
	}
	return message
}

// Version says which version of a module was built in.
func Version(module string) string {
	if built, ok := debug.ReadBuildInfo(); ok {
		for _, each := range built.Deps {
			if each.Path == module {
				return strings.TrimPrefix(each.Version, "v")
			}
		}
	}
	return ""
}

// Serve does what each line says, and answers it; it ends the process at the end of the lines.
func Serve(commands map[string]func(Told) (Object, error), explain func(error) *Failure) {
	lines := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			os.Exit(0)
		}
		reader := json.NewDecoder(bytes.NewReader(line))
		reader.UseNumber()
		var told Told
		if err := reader.Decode(&told); err != nil {
			fmt.Fprintln(os.Stderr, "no command:", err)
			continue
		}
		answer := Object{"id": told["id"]}
		if ok, err := carryOut(commands, told); err != nil {
			failure, said := err.(*Failure)
			if !said {
				failure = explain(err)
			}
			answer["error"] = failure
		} else if ok == nil {
			answer["ok"] = Object{}
		} else {
			answer["ok"] = ok
		}
		var written bytes.Buffer
		writer := json.NewEncoder(&written)
		writer.SetEscapeHTML(false)
		if err := writer.Encode(answer); err != nil {
			written.Reset()
			failed := &Failure{Kind: "internal", Text: err.Error()}
			_ = json.NewEncoder(&written).Encode(Object{"id": told["id"], "error": failed})
		}
		_, _ = os.Stdout.Write(written.Bytes())
	}
}

// carryOut does a command, and gives up when it takes longer than it may: then it lingers, and nobody hears of it.
func carryOut(commands map[string]func(Told) (Object, error), told Told) (Object, error) {
	act, known := commands[told.Text("do")]
	if !known {
		return nil, &Failure{Kind: "unknown", Text: fmt.Sprintf("there is no command %q", told.Text("do"))}
	}
	type result struct {
		ok  Object
		err error
	}
	done := make(chan result, 1)
	go func() {
		defer func() {
			if fell := recover(); fell != nil {
				fmt.Fprintf(os.Stderr, "%v\n%s", fell, debug.Stack())
				failed := &Failure{Kind: "internal", Native: "panic", Text: fmt.Sprint(fell)}
				done <- result{nil, failed}
			}
		}()
		ok, err := act(told)
		done <- result{ok, err}
	}()
	select {
	case found := <-done:
		return found.ok, found.err
	case <-time.After(told.Seconds("within") + told.Seconds("for") + grace):
		return nil, &Failure{Kind: "timeout", Text: "the shim gave up waiting for the library"}
	}
}

// Socket is a connection of TCP that remembers what ended it, as libraries make texts of that.
type Socket struct {
	net.Conn
	failed atomic.Value
}

func (s *Socket) Read(into []byte) (int, error) {
	n, err := s.Conn.Read(into)
	return n, s.remember(err)
}

func (s *Socket) Write(octets []byte) (int, error) {
	n, err := s.Conn.Write(octets)
	return n, s.remember(err)
}

func (s *Socket) remember(err error) error {
	if kind := SocketKind(err); kind != "" {
		s.failed.CompareAndSwap(nil, kind)
	}
	return err
}

// Kind says what ended the socket: lost, timeout, or nothing as yet.
func (s *Socket) Kind() string {
	if s == nil {
		return ""
	}
	kind, _ := s.failed.Load().(string)
	return kind
}

// SocketKind says what an error is by the network's account; empty when it is none of the network's.
func SocketKind(err error) string {
	var failed net.Error
	if errors.Is(err, net.ErrClosed) {
		return "" // by this side
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &failed) && failed.Timeout() {
		return "timeout"
	}
	if errors.As(err, &failed) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "lost"
	}
	return ""
}

// Names are what a shim has opened, by the names that it has told; safe for what lingers of earlier commands.
type Names struct {
	lock    sync.Mutex
	known   map[string]any
	sockets []*Socket
	age     int
	counted map[string]int
}

// Next gives a name that has not been used: the beginning and a number.
func (n *Names) Next(beginning string, first int) string {
	n.lock.Lock()
	defer n.lock.Unlock()
	if n.counted == nil {
		n.counted = map[string]int{}
	}
	number := n.counted[beginning]
	n.counted[beginning]++
	return beginning + strconv.Itoa(number+first)
}

// Put keeps something by its name.
func (n *Names) Put(name string, it any) {
	n.lock.Lock()
	defer n.lock.Unlock()
	if n.known == nil {
		n.known = map[string]any{}
	}
	n.known[name] = it
}

// Named gives what a name stands for.
func Named[T any](n *Names, name string) (T, error) {
	n.lock.Lock()
	defer n.lock.Unlock()
	it, ok := n.known[name].(T)
	if !ok {
		return it, &Failure{Kind: "internal", Text: fmt.Sprintf("%q is no %T that was told", name, it)}
	}
	return it, nil
}

// Dial opens the socket for `connect`; one that opens only after a reset is closed at once.
func (n *Names) Dial(told Told) (*Socket, error) {
	n.lock.Lock()
	age := n.age
	n.lock.Unlock()
	at := net.JoinHostPort(told.Text("host"), strconv.Itoa(told.Number("port", 0)))
	opened, err := net.DialTimeout("tcp", at, told.Seconds("within"))
	if err != nil {
		return nil, err
	}
	n.lock.Lock()
	defer n.lock.Unlock()
	if age != n.age {
		_ = opened.Close()
		return nil, net.ErrClosed
	}
	socket := &Socket{Conn: opened}
	n.sockets = append(n.sockets, socket)
	return socket, nil
}

// Reset drops all sockets and forgets all names.
func (n *Names) Reset(Told) (Object, error) {
	n.lock.Lock()
	defer n.lock.Unlock()
	for _, socket := range n.sockets {
		_ = socket.Conn.Close()
	}
	n.known, n.sockets, n.age = nil, nil, n.age+1
	return nil, nil
}

// Events are those of a connection that have not been told.
type Events struct {
	lock    sync.Mutex
	list    []Object
	over    bool
	changed chan struct{}
}

// NewEvents gives a queue with nothing in it.
func NewEvents() *Events { return &Events{changed: make(chan struct{})} }

// Put adds an event, if any; the last one when the connection is over.
func (e *Events) Put(event Object, last bool) {
	e.lock.Lock()
	defer e.lock.Unlock()
	if event != nil {
		e.list = append(e.list, event)
	}
	e.over = e.over || last
	close(e.changed)
	e.changed = make(chan struct{})
}

// Wait carries out `wait`.
func (e *Events) Wait(told Told) (Object, error) {
	end, count := time.After(told.Seconds("for")), told.Number("count", math.MaxInt)
	for late := false; ; {
		e.lock.Lock()
		if late || e.over || len(e.list) >= count {
			number := min(count, len(e.list))
			found := append([]Object{}, e.list[:number]...)
			e.list = e.list[number:]
			e.lock.Unlock()
			return Object{"events": found}, nil
		}
		changed := e.changed
		e.lock.Unlock()
		select {
		case <-changed:
		case <-end:
			late = true
		}
	}
}

// Field gives the field of a structure that has a name of the contract, as reply-to: ReplyTo. It is not valid where there is none.
func Field(structure reflect.Value, name string) reflect.Value {
	wanted := strings.ReplaceAll(name, "-", "")
	return structure.FieldByNameFunc(func(each string) bool { return strings.EqualFold(each, wanted) })
}

// SetField sets a field of what structure points to, and a pointer to one where the field is a pointer.
func SetField(structure any, name string, value any) error {
	at, given := Field(reflect.ValueOf(structure).Elem(), name), reflect.ValueOf(value)
	if !at.IsValid() || !given.IsValid() {
		return Unsupported("the library has no %s that is %v", name, value)
	}
	wanted := at.Type()
	if at.Kind() == reflect.Pointer {
		wanted = wanted.Elem()
	}
	if !given.Type().AssignableTo(wanted) {
		return Unsupported("to the library %s is %v, not %T", name, wanted, value)
	}
	if at.Kind() == reflect.Pointer {
		at.Set(reflect.New(wanted))
		at = at.Elem()
	}
	at.Set(given)
	return nil
}

// TellFields tells those fields of a structure that are set, by names of the contract; numbers of properties are plain.
func TellFields(structure any, names string, tell func(any) any) Object {
	found := Object{}
	for _, name := range strings.Fields(names) {
		at := Field(reflect.ValueOf(structure), name)
		if at.IsZero() {
			continue
		}
		if at = reflect.Indirect(at); at.CanUint() {
			found[name] = at.Uint()
		} else {
			found[name] = tell(at.Interface())
		}
	}
	return found
}

// Kinds are what a library makes of the contract's kinds of values beside those that Go has types for.
type Kinds map[string]func(any) (any, error)

// Value makes a value of Go of one of the contract.
func Value(told any, kinds Kinds) (any, error) {
	switch value := told.(type) {
	case json.Number:
		if whole, err := strconv.Atoi(value.String()); err == nil {
			return whole, nil
		}
		return value.Float64()
	case Object:
		for kind, held := range value {
			if made, ok := kinds[kind]; ok && made != nil {
				return made(held)
			} else if ok { // Go has the type, but the library takes it not
				return nil, Unsupported("the library has no type for %s", kind)
			}
			return plainValue(kind, held, kinds)
		}
	}
	return told, nil
}

func plainValue(kind string, held any, kinds Kinds) (any, error) {
	if each, ok := held.([]any); ok && kind == "list" {
		made := make([]any, len(each))
		for i := range each {
			var err error
			if made[i], err = Value(each[i], kinds); err != nil {
				return nil, err
			}
		}
		return made, nil
	}
	text, _ := held.(string)
	switch kind {
	case "bin":
		return hex.DecodeString(text)
	case "i8":
		n, err := strconv.ParseInt(text, 10, 8)
		return int8(n), err
	case "i16":
		n, err := strconv.ParseInt(text, 10, 16)
		return int16(n), err
	case "i32":
		n, err := strconv.ParseInt(text, 10, 32)
		return int32(n), err
	case "i64":
		return strconv.ParseInt(text, 10, 64)
	case "u8":
		n, err := strconv.ParseUint(text, 10, 8)
		return uint8(n), err
	case "u16":
		n, err := strconv.ParseUint(text, 10, 16)
		return uint16(n), err
	case "u32":
		n, err := strconv.ParseUint(text, 10, 32)
		return uint32(n), err
	case "u64":
		return strconv.ParseUint(text, 10, 64)
	case "f32":
		bits, err := strconv.ParseUint(text, 16, 32)
		return math.Float32frombits(uint32(bits)), err
	case "f64":
		bits, err := strconv.ParseUint(text, 16, 64)
		return math.Float64frombits(bits), err
	}
	return nil, Unsupported("the library has no type for %s", kind)
}

// Pairs calls what takes the key and the value of each pair of a map, made values of Go.
func Pairs(held any, kinds Kinds, take func(key, value any) error) error {
	list, _ := held.([]any)
	for _, each := range list {
		pair, _ := each.([]any)
		if len(pair) != 2 {
			return &Failure{Kind: "internal", Text: fmt.Sprintf("%v is no pair", each)}
		}
		key, err := Value(pair[0], kinds)
		if err != nil {
			return err
		}
		value, err := Value(pair[1], kinds)
		if err != nil {
			return err
		}
		if err := take(key, value); err != nil {
			return err
		}
	}
	return nil
}

// Tell makes a value of the contract of one of Go; `other` is asked about types that Go has not.
func Tell(value any, other func(any) any) any {
	switch v := value.(type) {
	case nil, bool:
		return v
	case string:
		if utf8.ValidString(v) {
			return v
		}
		return Object{"bin": hex.EncodeToString([]byte(v))}
	case []byte:
		return Object{"bin": hex.EncodeToString(v)}
	case int8:
		return Object{"i8": fmt.Sprint(v)}
	case int16:
		return Object{"i16": fmt.Sprint(v)}
	case int32:
		return Object{"i32": fmt.Sprint(v)}
	case int64:
		return Object{"i64": fmt.Sprint(v)}
	case uint8:
		return Object{"u8": fmt.Sprint(v)}
	case uint16:
		return Object{"u16": fmt.Sprint(v)}
	case uint32:
		return Object{"u32": fmt.Sprint(v)}
	case uint64:
		return Object{"u64": fmt.Sprint(v)}
	case int:
		return Object{"int": fmt.Sprint(v)}
	case float32:
		return Object{"f32": fmt.Sprintf("%08x", math.Float32bits(v))}
	case float64:
		return Object{"f64": fmt.Sprintf("%016x", math.Float64bits(v))}
	case []any:
		told := make([]any, len(v))
		for i := range v {
			told[i] = Tell(v[i], other)
		}
		return Object{"list": told}
	}
	return other(value)
}
