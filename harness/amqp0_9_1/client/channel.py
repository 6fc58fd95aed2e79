"""What a scenario says on a channel.

Methods come in two kinds. *Controls* (`ask`, `declare_queue`, `deliveries`, …) do what must work for a rule
to be judged at all; when they fail the scenario ends as an error of its set-up. Words in the third person
(`tries`, `gets`, `stays_quiet`) and `expect` judge the rule.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

from harness.amqp0_9_1.client.link import Link
from harness.amqp0_9_1.client.outcomes import (
    EXCEPTION,
    Closed,
    Observation,
    Received,
    Silence,
    answered,
    message,
    signature,
)
from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.frames import BODY, HEADER, Frame, method_frame
from harness.amqp0_9_1.wire.vocabulary import CODEC, REPLY_SUCCESS, Basic, Channel, Confirm, Exchange, Queue
from harness.play.context import Context
from harness.play.expect import ControlFailed, Outcome
from harness.wire.transport import End

ASYNCHRONOUS = (Basic.Deliver, Basic.Return)
FENCE = Exchange.Declare("amq.direct", "direct", passive=True)
REFUSES = "the server may say that it could not take a message"
QUIET = replace(answered(Exchange.DeclareOk), says="nothing before exchange.declare-ok")
"""What is legal behind the fence where nothing was due before it."""


class Conversation:
    """What is said on the channel with this number, and what comes on it."""

    def __init__(self, link: Link, context: Context, number: int) -> None:
        self.number = number
        self.context = context
        self._link = link

    # -- sending and judging ---------------------------------------------------------------------------

    def send(self, *methods: Method) -> None:
        """Send methods without content, one after the other."""
        for method in methods:
            self._link.send(self.number, method)

    def publish(
        self, body: bytes | str, *, exchange: str = "", key: str = "", mandatory: bool = False,
        immediate: bool = False, **properties: Any,
    ) -> None:  # fmt: skip
        """Publish a message; `properties` are those of basic content."""
        octets = body.encode() if isinstance(body, str) else body
        method = Basic.Publish(exchange, key, mandatory, immediate)
        self._link.send(self.number, method, Basic.Properties(**properties), octets)

    def publish_octets(self, queue: str, header: bytes, *bodies: bytes) -> None:
        """Publish to a queue, in one piece, these octets as content header and body frames."""
        content = [Frame(HEADER, self.number, header), *(Frame(BODY, self.number, each) for each in bodies)]
        self._link.send_frames([method_frame(self.number, Basic.Publish("", queue)), *content])

    def expect(self, *outcomes: Outcome | type[Method]) -> Any:
        """Judge the next observation on this channel and return its method, if it is one. Raises Unmet."""
        seen = self.observe(*outcomes)
        return seen.method if isinstance(seen, Received) else seen

    def expect_each(self, *outcomes: Outcome | type[Method]) -> None:
        """Judge the next observations, each by one of the outcomes in this order. Raises Unmet."""
        for outcome in outcomes:
            self.expect(outcome)

    def tries(self, method: Method, *outcomes: Outcome | type[Method]) -> Any:
        """Send a method and judge what comes next, as `expect` does. Raises Unmet."""
        self.send(method)
        return self.expect(*outcomes)

    def refuses(self, method: Method, *outcomes: Outcome | type[Method]) -> None:
        """Send a method and judge its refusal; the channel, if closed, can be opened again. Raises Unmet."""
        if isinstance(self.tries(method, *outcomes), Channel.Close):
            self.tries(Channel.Open(), Channel.OpenOk)

    def takes(self, method: Method, answer: type[Method]) -> bool:
        """Send a method and say whether it is answered so; an exception is as legal. Raises Unmet."""
        return isinstance(self.tries(method, answered(answer) | EXCEPTION), answer)

    def gets(self, queue: str, *bodies: bytes) -> None:
        """Judge that Get, without acknowledgement, gives these messages in this order. Raises Unmet."""
        for body in bodies:
            self.tries(Basic.Get(queue, no_ack=True), message(Basic.GetOk, body))

    def consumes(self, queue: str, *bodies: bytes) -> None:
        """Judge that a new consumer, without acknowledgement, gets these messages first. Raises Unmet."""
        self.consume(queue, no_ack=True)
        for body in bodies:
            self.expect(message(Basic.Deliver, body))

    def holds(self, queue: str, *bodies: str, reading: str = "") -> None:
        """Judge that just these messages are ready in the queue, and take them; others by a reading alone."""
        seen = [body.decode("utf-8", "backslashreplace") for body in self.drain(queue)]
        wanted, found = (f"messages {', '.join(each) or 'none'} in the queue" for each in (bodies, seen))
        self._link.judged(wanted, found, seen == [*bodies], reading)

    def hears(self, body: bytes | str, *, exchange: str = "", key: str = "", **delivered: Any) -> None:
        """Publish a message and judge that it comes back, `delivered` as `message` has it. Raises Unmet."""
        self.publish(body, exchange=exchange, key=key)
        self.expect(message(Basic.Deliver, body.encode() if isinstance(body, str) else body, **delivered))

    def observe(self, *outcomes: Outcome | type[Method]) -> Observation:
        """Judge as `expect` does, and return the observation, a message with its content. Raises Unmet."""
        return self._link.expect(self.number, *outcomes)

    def expect_answer(self, *outcomes: Outcome | type[Method]) -> Any:
        """Judge as `expect` does, with deliveries and returns that come first put aside. Raises Unmet."""
        self._set_aside_content()
        return self.expect(*outcomes)

    def confirming(self) -> Self:
        """Judge that the channel is put into confirm mode, and give it. Raises Unmet."""
        self.tries(Confirm.Select(), Confirm.SelectOk)
        return self

    def confirmed(self, last: int, first: int = 1) -> list[int]:
        """Judge that the messages `first` to `last` are confirmed, each once; give the tags. Raises Unmet."""
        waiting, tags = set(range(first, last + 1)), list[int]()
        while waiting:
            told = self.expect(Basic.Ack, answered(Basic.Nack).under(REFUSES))
            tag, multiple = told.delivery_tag, told.multiple
            named = {each for each in waiting if each <= (tag or last)} if multiple else {tag} & waiting
            self._link.judged("messages that wait for it", f"a confirm of {tag}", bool(named) and tag <= last)
            waiting -= named
            tags.append(tag)
        return tags

    def stays_quiet(self) -> None:
        """Judge that nothing has come: the answer to a later method must be the first (4.7). Raises Unmet."""
        self.send(FENCE)
        self.expect(QUIET)

    def got_nothing(self) -> None:
        """Judge that nothing has come up to now, where no fence can be sent any more. Raises Unmet."""
        seen = self._link.next(self.number, 0.0)
        came = not isinstance(seen, Silence | Closed)
        self._link.judged("nothing more on the channel", signature(seen), not came)

    # -- controls --------------------------------------------------------------------------------------

    def ask(self, method: Method, *answers: type[Method]) -> Any:
        """Send a method and take its answer, past deliveries and returns. Raises ControlFailed."""
        names = [f"{method.spec.class_name}.{name}" for name in method.spec.responses]
        legal = answers or tuple(CODEC.methods[name] for name in names)
        self.send(method)
        self._set_aside_content(method.full_name)
        return self.control(method.full_name, *legal)

    def control(self, what: str, *methods: type[Method]) -> Any:
        """Take the next method, which must be one of these. Raises ControlFailed."""
        return self._control(what, methods).method

    def coming(self, *methods: type[Method]) -> Any:
        """Give the next method, one of these, left there for its content to come. Raises ControlFailed."""
        method = self._link.coming(self.number, self.context.patience.due)
        return method if isinstance(method, methods) else self.control("what came before", *methods)

    def _control(self, what: str, methods: Sequence[type[Method]]) -> Received:
        seen = self._link.next(self.number, self.context.due(what, self.context.patience.due))
        if isinstance(seen, Received) and isinstance(seen.method, tuple(methods)):
            return seen
        self._link.acknowledge_close(seen)
        raise self._link.failed(what, seen)

    def _set_aside_content(self, what: str = "") -> None:
        # Look for the first observation that is not content, then put what was skipped behind it.
        skipped: list[Observation] = []
        while True:
            seen = self._link.next(self.number, self.context.due(what, self.context.patience.answer))
            if isinstance(seen, Received) and isinstance(seen.method, ASYNCHRONOUS):
                skipped.append(seen)
                continue
            self._link.put_back(self.number, [seen, *skipped])
            return

    def fence(self) -> Self:
        """Wait until everything sent on this channel so far has been processed; give the channel."""
        self.ask(FENCE)
        return self

    def wait(self, seconds: float) -> None:
        """Let so many seconds pass; what comes meanwhile is there to be expected."""
        self._link.listen(seconds)

    def settle(self) -> None:
        """Leave the server a moment behind its answers. Raises ControlFailed when something comes."""
        seen = self._link.next(self.number, self.context.patience.quiet)
        if not isinstance(seen, Silence):
            raise ControlFailed("waiting", signature(seen), lost=seen == Closed(End.RST))

    def new_name(self, kind: str) -> str:
        """Give a name of its own for a "queue" or an "exchange"; it is removed when the scenario ends."""
        return self.context.name(kind, self._link.name, self._link.now())

    def remember(self, kind: str, name: str) -> None:
        """Keep a name that the server made: it too is removed when the scenario ends."""
        self.context.remember(kind, name, self._link.name, self._link.now())

    def declare_queue(self, name: str | None = None, **flags: Any) -> str:
        """Declare a queue under a name of its own and return the name."""
        queue = self.new_name("queue") if name is None else name
        self.ask(Queue.Declare(queue, **flags))
        return queue

    def queue_with(self, *bodies: bytes | str, **flags: Any) -> str:
        """Declare a queue, publish these messages to it in this order, and return its name."""
        queue = self.declare_queue(**flags)
        for body in bodies:
            self.publish(body, key=queue)
        return queue

    def declare_exchange(self, kind: str = "direct", **flags: Any) -> str:
        """Declare an exchange under a name of its own and return the name."""
        exchange = self.new_name("exchange")
        self.ask(Exchange.Declare(exchange, kind, **flags))
        return exchange

    def bind(self, queue: str, exchange: str, key: str = "") -> None:
        self.ask(Queue.Bind(queue, exchange, key))

    def consume(self, queue: str, **flags: Any) -> str:
        return str(self.ask(Basic.Consume(queue, **flags)).consumer_tag)

    def consuming(self, queue: str, **flags: Any) -> Self:
        """Start a consumer of the queue; give the channel."""
        self.consume(queue, **flags)
        return self

    def deliveries(self, count: int) -> list[Received]:
        """Take the next `count` deliveries. Raises ControlFailed when one is missing or other things come."""
        return [self._control(f"delivery {n + 1} of {count}", [Basic.Deliver]) for n in range(count)]

    def arrived(self) -> list[Received]:
        """Give the deliveries and returns that came and were put aside, or left; waits for nothing."""
        came: list[Received] = []
        while isinstance(seen := self._link.next(self.number, 0.0), Received):
            if not isinstance(seen.method, ASYNCHRONOUS):
                self._link.put_back(self.number, [seen])
                break
            came.append(seen)
        return came

    def drain(self, queue: str) -> list[bytes]:
        """Get all messages that are ready in the queue; returns their bodies."""
        bodies: list[bytes] = []
        while seen := self.get(queue):
            bodies.append(seen.body)
        return bodies

    def get(self, queue: str, *, no_ack: bool = True) -> Received | None:
        """Get one message; None when the queue is empty."""
        self.send(Basic.Get(queue, no_ack))
        self._set_aside_content()
        seen = self._control("basic.get", [Basic.GetOk, Basic.GetEmpty])
        return seen if isinstance(seen.method, Basic.GetOk) else None

    def depth(self, queue: str) -> int:
        return int(self.ask(Queue.Declare(queue, passive=True)).message_count)

    def close(self) -> None:
        self.ask(Channel.Close(REPLY_SUCCESS, "done"))
