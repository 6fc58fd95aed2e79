// go-amqp as a shim: what the commands call.
package main

import "strings"

func main() {
	Serve(map[string]func(Told) (Object, error){
		"hello": hello, "connect": connect, "open": open, "attach": attach, "send": send, "echo": echo, "credit": credit,
		"drain": drain, "detach": detach, "settle": settle, "wait": wait, "close": shut, "reset": names.Reset,
	}, func(err error) *Failure { return Failed("internal", err) })
}

func hello(Told) (Object, error) {
	version := Version("github.com/Azure/go-amqp")
	return Object{"contract": 1, "library": "go-amqp", "version": version, "language": "Go", "protocol": "1-0"}, nil
}

func credit(told Told) (Object, error) {
	r, err := Named[*receiver](&names, told.Text("on"))
	if err != nil {
		return nil, err
	}
	return nil, explain(r.of, "link", r.IssueCredit(uint32(told.Number("credit", 0))))
}

func drain(told Told) (Object, error) {
	r, err := Named[*receiver](&names, told.Text("on"))
	if err != nil {
		return nil, err
	}
	within, stop := told.Within()
	defer stop()
	return nil, explain(r.of, "link", r.DrainCredit(within, nil))
}

func detach(Told) (Object, error) { return nil, Unsupported("the library detaches only by closing") }

func settle(told Told) (Object, error) {
	it, err := Named[*kept](&names, told.Text("token"))
	if err != nil {
		return nil, err
	}
	if told.Flag("multiple") {
		return nil, Unsupported("the library settles one delivery at a time")
	}
	within, stop := told.Within()
	defer stop()
	switch outcome := told.Text("outcome"); outcome {
	case "accept":
		err = it.from.AcceptMessage(within, it.Message)
	case "reject":
		err = it.from.RejectMessage(within, it.Message, nil)
	case "release":
		err = it.from.ReleaseMessage(within, it.Message)
	case "modify":
		err = it.from.ModifyMessage(within, it.Message, nil)
	default:
		err = Unsupported("the library has no outcome %s", outcome)
	}
	return nil, explain(it.from.of, "link", err)
}

func wait(told Told) (Object, error) {
	c, err := Named[*connection](&names, strings.Split(told.Text("on"), "/")[0])
	if err != nil {
		return nil, err
	}
	return c.events.Wait(told)
}

func shut(told Told) (Object, error) {
	within, stop := told.Within()
	defer stop()
	on := told.Text("on")
	if it, err := Named[*sender](&names, on); err == nil {
		return nil, explain(it.of, "link", it.Close(within))
	}
	if it, err := Named[*receiver](&names, on); err == nil {
		return nil, explain(it.of, "link", it.Close(within))
	}
	if it, err := Named[*session](&names, on); err == nil {
		return nil, explain(it.of, "session", it.Close(within))
	}
	it, err := Named[*connection](&names, on)
	if err != nil {
		return nil, err
	}
	return nil, explain(it, "connection", it.Close())
}
