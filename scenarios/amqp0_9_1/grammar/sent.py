"""What a server fills the fields of its methods with: those of the connection and of channels."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from harness.amqp0_9_1.broken.deviations import Fault, Interposer, objects, rewrites, serves
from harness.amqp0_9_1.broken.faults import PAUSES_PUBLISHERS
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.channel import FENCE
from harness.amqp0_9_1.client.connection import AmqpChannel
from harness.amqp0_9_1.client.outcomes import EXCEPTION, answered, channel_closed, connection_closed, fields
from harness.amqp0_9_1.peer.policy import Policy
from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.field_tables import Table
from harness.amqp0_9_1.wire.frames import METHOD, OVERHEAD, Frame
from harness.amqp0_9_1.wire.vocabulary import (
    FRAME_ERROR,
    GRAMMAR,
    NOT_ALLOWED,
    NOT_IMPLEMENTED,
    REPLY_SUCCESS,
    Basic,
    Channel,
    Connection,
    Exchange,
    Queue,
)
from scenarios.amqp0_9_1.channel.flow import flood
from scenarios.amqp0_9_1.connection.start import REQUIRED_FIELDS, en_us_is_among_the_locales
from scenarios.amqp0_9_1.connection.tune_ok import OPENED
from scenarios.amqp0_9_1.grammar.calls import answers_to, given, kind, of
from scenarios.amqp0_9_1.grammar.fields import name
from scenarios.registry import broken_by, scenario, scenarios_for
from spec.grammar.amqp0_9_1.members import Subject


def carrying(*sought: str) -> Iterator[tuple[str, Subject]]:
    """Give the rules of fields called so, everywhere or in one method (`basic.deliver.exchange`)."""
    for rule, about in of("carries"):
        if {given(about.field).name, f"{kind(about).full_name}.{given(about.field).name}"} & set(sought):
            yield rule, about


def fills(value: Any) -> Callable[[Subject], Interposer]:
    """Fills the field with another value, which may be a function of the one it should have."""
    return lambda about: rewrites(kind(about), **{name(about): value})


def one_more(value: int) -> int:
    return value + 1


# -- connection.start ----------------------------------------------------------------------------------


@scenarios_for(carrying("version-major", "version-minor"))
@broken_by("proposes a version above", fills(one_more))
def version_that_was_asked_for_is_proposed(broker: Broker, about: Subject) -> None:
    """Start answers our protocol header with the version that stands in it."""
    proposed = getattr(broker.started().start, name(about))
    asked = {"version_major": GRAMMAR.major, "version_minor": GRAMMAR.minor}[name(about)]
    lower = "connection.start.server-support: a version may be lower" if proposed < asked else ""
    broker.judge(str(asked), str(proposed), proposed == asked, lower)


def numbered(properties: Table) -> Table:
    return {each: at for at, each in enumerate(properties)}


def emptied(properties: Table) -> Table:
    return dict.fromkeys(properties, "")


@scenario("0-9-1/grammar/connection.start.server-properties.carries")
@broken_by("tells nothing of itself", rewrites(Connection.Start, server_properties={}))
@broken_by("leaves them empty", rewrites(Connection.Start, server_properties=emptied))
@broken_by("numbers them", rewrites(Connection.Start, server_properties=numbered))
def server_properties_are_texts_that_tell_something(broker: Broker) -> None:
    """Of the properties that the document names those that are there are texts, none of them empty."""
    told = broker.started().start.server_properties
    named = [told[each] for each in REQUIRED_FIELDS if each in told]
    good = bool(named) and all(isinstance(each, str | bytes) and each for each in named)
    broker.judge("properties that are texts", "none, an empty one or another value", good)


@scenario("0-9-1/grammar/connection.start.mechanisms.carries")
@broken_by("does not list what it takes", rewrites(Connection.Start, mechanisms=b"EXTERNAL ANONYMOUS"))
@broken_by("delimits by commas", rewrites(Connection.Start, mechanisms=b"AMQPLAIN,PLAIN,EXTERNAL"))
def mechanism_that_is_taken_is_listed(broker: Broker) -> None:
    """Whoever logs in with a mechanism finds it in the list of Start, delimited by spaces."""
    connection = broker.tuned()
    listed = connection.start.mechanisms.split(b" ")
    taken = connection.endpoint.mechanism
    broker.judge(f"a list with {taken}", f"a list without {taken}", taken.encode() in listed)


@scenario("0-9-1/grammar/connection.start.locales.carries")
@broken_by("names no locale", rewrites(Connection.Start, locales=b""))
@broken_by("delimits by commas", rewrites(Connection.Start, locales=b"de_DE,en_US"))
@broken_by("names a language only", rewrites(Connection.Start, locales=b"en"))
def locale_that_must_be_supported_is_listed(broker: Broker) -> None:
    """The list of locales, delimited by spaces, has the one that every server must support."""
    en_us_is_among_the_locales(broker)


# -- connection.tune -----------------------------------------------------------------------------------

HIGHEST = 0xFFFF
MEBI = 1 << 20


def takes_what_it_proposes(broker: Broker) -> Connection.Tune:
    """Judge that a Tune-Ok which repeats Tune leads to an open connection; returns Tune."""
    connection = broker.tuned()
    connection.opens(connection.tune_ok(), OPENED)
    return connection.tune


def is_on_the_highest_channel(frame: Frame) -> bool:
    """Match a method on the highest channel that the reference peer proposes."""
    return frame.type == METHOD and frame.channel == Policy().channel_max


@scenario("0-9-1/grammar/connection.tune.channel-max.carries")
@broken_by("proposes more than it permits", rewrites(Connection.Tune, channel_max=one_more))
@broken_by("refuses the highest", serves(is_on_the_highest_channel, Channel.Close(NOT_ALLOWED, "too many")))
@broken_by("ends for the highest", objects(is_on_the_highest_channel, NOT_ALLOWED))
def channel_with_the_highest_number_is_opened(broker: Broker) -> None:
    """What Tune proposes is agreed upon, and a channel with the highest number then opened."""
    limit = takes_what_it_proposes(broker).channel_max
    highest = broker.connection().unopened(limit or HIGHEST)
    highest.send(Channel.Open())
    refused = EXCEPTION.under("no limit is specified, but there may be one")
    highest.expect(Channel.OpenOk, *(() if limit else (refused,)))


def is_of_the_largest_size(frame: Frame) -> bool:
    """Match a frame as large as the reference peer proposes."""
    return len(frame.payload) + OVERHEAD == Policy().frame_max


@scenario("0-9-1/grammar/connection.tune.frame-max.carries")
@broken_by("leaves header and end out", rewrites(Connection.Tune, frame_max=lambda size: size + OVERHEAD))
@broken_by("takes no frame of that size", objects(is_of_the_largest_size, FRAME_ERROR))
def frame_of_the_largest_size_is_taken(broker: Broker) -> None:
    """What Tune proposes is agreed upon, and a message in a frame of just that size comes back whole."""
    limit = takes_what_it_proposes(broker).frame_max
    body = bytes(min(limit or Policy().frame_max, MEBI) - OVERHEAD)
    channel, queue = broker.queue(body)
    channel.gets(queue, body)


# -- reserved ------------------------------------------------------------------------------------------


def said_on_opening(broker: Broker) -> Method:
    """Give the Open-Ok of a connection."""
    connection = broker.tuned()
    connection.send(connection.tune_ok(), Connection.Open(connection.endpoint.virtual_host))
    opened: Method = connection.control("connection.open", Connection.OpenOk)
    return opened


def said_of_an_empty_queue(broker: Broker) -> Method:
    """Give the Get-Empty of an empty queue."""
    channel = broker.channel()
    empty: Method = channel.ask(Basic.Get(channel.declare_queue()), Basic.GetEmpty)
    return empty


SAID: Mapping[str, Callable[[Broker], Method]] = {
    "connection.open-ok": said_on_opening,
    "channel.open-ok": lambda broker: broker.connection().unopened().ask(Channel.Open()),
    "basic.get-empty": said_of_an_empty_queue,
}
"""What brings about each method with a reserved field."""


def left_over(value: str | bytes) -> str | bytes:
    """Give what stood in such a field in former versions."""
    return b"left over" if isinstance(value, bytes) else "left over"


@scenarios_for(carrying("reserved-1"))
@broken_by("fills it as a former version did", fills(left_over))
def reserved_field_is_null(broker: Broker, about: Subject) -> None:
    """A field that is reserved has nothing in it."""
    broker.judge("nothing", "something", not getattr(SAID[kind(about).full_name](broker), name(about)))


# -- what Close says -----------------------------------------------------------------------------------


def opened_twice(_: AmqpChannel) -> Method:
    return Channel.Open()


def of_no_type(channel: AmqpChannel) -> Method:
    return Exchange.Declare(channel.new_name("exchange"), "no-such-type")


def tagged_twice(channel: AmqpChannel) -> Method:
    queue = channel.declare_queue()
    return Basic.Consume(queue, channel.consume(queue))


def missing_queue(channel: AmqpChannel) -> Method:
    return Queue.Declare(channel.new_name("queue"), passive=True)


def missing_source(channel: AmqpChannel) -> Method:
    return Basic.Consume(channel.new_name("queue"))


FAULTS: Mapping[str, tuple[Callable[[AmqpChannel], Method], ...]] = {
    "connection.close": (opened_twice, of_no_type, tagged_twice),
    "channel.close": (missing_queue, missing_source),
}
"""Methods that are errors, of the class of errors that each Close is for."""


def closes(broker: Broker, about: Subject) -> Iterator[tuple[Method, Any]]:
    """Give each method that was refused by a Close as the rule is about, and that Close.

    The level is not what is judged: an error that ended the other thing is left out.
    """
    seen = 0
    for fault in FAULTS[kind(about).full_name]:
        channel = broker.channel(new_connection=True)
        wrong = fault(channel)
        answer = channel.tries(wrong, answered(Channel.Close, Connection.Close, *answers_to(wrong.spec)))
        if isinstance(answer, kind(about)):
            seen += 1
            yield wrong, answer
    if not seen:
        broker.inapplicable(f"no error that was tried is answered by {kind(about).full_name}")


@scenarios_for(carrying("class-id", "method-id"))
@broken_by("blames nobody", fills(0))
@broken_by("blames the same always", fills(Basic.Get.spec.index))
@broken_by("blames another", fills(one_more))
def method_at_fault_is_blamed(broker: Broker, about: Subject) -> None:
    """Methods of several classes are refused; each Close has class and method of what it was for."""
    for wrong, close in closes(broker, about):
        due = {"class_id": wrong.spec.class_index, "method_id": wrong.spec.index}[name(about)]
        said = getattr(close, name(about))
        broker.judge(f"{due}, for {wrong.full_name}", f"{said}, for {wrong.full_name}", said == due)


ERRORS = {each.value for each in GRAMMAR.constants if each.error_class is not None}
UNDEFINED = 999


@scenarios_for(carrying("connection.close.reply-code", "channel.close.reply-code"))
@broken_by("reports success", fills(REPLY_SUCCESS))
@broken_by("gives a code that nobody knows", fills(UNDEFINED))
def code_of_an_error_is_a_constant(broker: Broker, about: Subject) -> None:
    """Methods are refused; each Close has the code of an error that the document defines."""
    for wrong, close in closes(broker, about):
        says = f"{close.reply_code}, for {wrong.full_name}"
        broker.judge("the constant of an error", says, close.reply_code in ERRORS)


# -- channel.flow --------------------------------------------------------------------------------------

PAUSES_BY_ONE = Fault(
    lambda tables: PAUSES_PUBLISHERS.change(tables).replacing(
        "overflow: asks the publisher to pause", answer=lambda _: Channel.Flow(active=True)
    )
)


@scenario("0-9-1/grammar/channel.flow.active.carries")
@broken_by("says go where it means stop", PAUSES_BY_ONE)
def publisher_of_too_much_is_told_to_stop(broker: Broker) -> None:
    """The first Flow that comes to a publisher whose messages nobody consumes has active=0."""
    publisher = broker.channel()
    flood(publisher, publisher.declare_queue())
    publisher.send(FENCE)
    if not isinstance(publisher.coming(Channel.Flow, Exchange.DeclareOk), Channel.Flow):
        broker.inapplicable("the server did not ask a publisher to pause")
    publisher.expect(fields(Channel.Flow, active=False))
    publisher.send(Channel.FlowOk(active=False))


@scenario("0-9-1/grammar/channel.flow-ok.active.carries")
@broken_by("always confirms one", rewrites(Channel.FlowOk, active=True))
@broken_by("always confirms zero", rewrites(Channel.FlowOk, active=False))
def flow_is_confirmed_as_it_was_set(broker: Broker) -> None:
    """Flow-Ok repeats what Flow has set: 1, then 0, then 1 again.

    A server that does not implement 0 is judged by what it does: see 0-9-1/grammar/channel.flow.answers.
    """
    channel = broker.channel()
    refused = connection_closed(NOT_IMPLEMENTED) | channel_closed(NOT_IMPLEMENTED)
    for active in (True, False, True):
        channel.send(Channel.Flow(active=active))
        confirmed = fields(Channel.FlowOk, active=active)
        if not isinstance(channel.expect(confirmed if active else confirmed | refused), Channel.FlowOk):
            broker.note("Flow with active=0 is not implemented: only 1 was confirmed")
            return
