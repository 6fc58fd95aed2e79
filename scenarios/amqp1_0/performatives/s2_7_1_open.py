"""2.7.1 Open: form, names, locales, capabilities and properties; its limits are a module apart."""

from collections.abc import Callable
from typing import Any

from harness.amqp1_0.broken.deviations import (
    Interposer,
    answers,
    forwards,
    ignores,
    of_client,
    respells,
    rewrites,
)
from harness.amqp1_0.broken.faults import does, end_stream, take_open
from harness.amqp1_0.client.connection import AmqpConnection
from harness.amqp1_0.client.container import Container
from harness.amqp1_0.client.outcomes import Refusal, refused
from harness.amqp1_0.client.transcript import ILL_FORMED, UNREAD, Framed
from harness.amqp1_0.peer.events import InvalidOpen
from harness.amqp1_0.peer.tables.connection import BEFORE_OPEN
from harness.amqp1_0.wire.composites import Composite
from harness.amqp1_0.wire.definitions import departures, named_by
from harness.amqp1_0.wire.performatives import AmqpError, Close, Error, Open
from harness.amqp1_0.wire.types import Array, As, Described, Map, Symbol, Ulong
from harness.peers.rows import always
from harness.play.watching import Found, came, went
from scenarios.amqp1_0.talk import TALK
from scenarios.registry import broken_by, scenario, watch
from spec.rules import Role

UNHEARD_OF = "conformance:unheard-of"
"""A capability, and a property, that nobody knows."""
OURS_IS_WRONG = went(ILL_FORMED, UNREAD)
"""What we send that is not as defined: what a server repeats of it was ours, and its reaction no must."""
STR8 = 0xA1
"""The code of a short string."""
REFUSAL = Error(AmqpError.NOT_IMPLEMENTED, "no such opens")


# -- what the checks have in common --------------------------------------------------------------------


def is_taken(connection: AmqpConnection, opening: Open) -> None:
    """Judge that an open is answered by an open alone, and that the connection goes on."""
    connection.send(opening)
    # A server that takes offence may let some seconds pass before it ends the stream.
    connection.within(connection.context.patience.close, Open)
    connection.goes_on()


def takes(container: Container, **fields: object) -> AmqpConnection:
    """Judge that an open with these fields beside its container-id is answered by an open alone."""
    connection = container.negotiated()
    is_taken(connection, connection.the_open(**fields))
    return connection


def shuts_out(when: Callable[[Any], bool]) -> Interposer:
    """Give a peer that answers such an open by its own and a close with an error."""
    return answers(Open, Open("faulty"), Close(REFUSAL), when=when)


def carries(*names: str) -> Callable[[Composite], bool]:
    """Say whether one of these fields, by their Python names, is there."""
    return lambda said: any(said.carried(name) is not None for name in names)


def lacks(name: str) -> Callable[[Composite], bool]:
    return lambda said: said.carried(name) is None


def held_against(kind: type[Composite], each: Framed) -> Found:
    """Say of a frame with the descriptor of this kind whether it is one by definition."""
    if named_by(each.unit) is not kind:
        return None
    wrong = "; ".join(departures(each.unit))
    return not wrong or f"{kind.type_name} at {each.at:.4f} s: {wrong}"


# -- its form ------------------------------------------------------------------------------------------


@watch(
    "1-0/2.7.1.open-well-formed",
    during="1-0/2.7.1.optional-fields-optional",
    looks_at=came(Open, UNREAD),
    until=OURS_IS_WRONG,
    of_clients=TALK,
)
@broken_by("does not say who it is", of_client(rewrites(Open, container_id=None)), Role.CLIENT)
@broken_by("does not say who it is", rewrites(Open, container_id=None))
@broken_by("has a symbol for its name", rewrites(Open, container_id=Symbol("faulty")))
@broken_by("has a text for its channel-max", rewrites(Open, channel_max=As(STR8, "many")))
@broken_by("has a text for its max-frame-size", rewrites(Open, max_frame_size=As(STR8, "large")))
@broken_by("has a text for its idle-time-out", rewrites(Open, idle_time_out=As(STR8, "long")))
@broken_by("has a text for its properties", rewrites(Open, properties=As(STR8, "none")))
@broken_by("says more than an open holds", respells(Open, lambda said: said.sent_as(unknown=("more",))))
@broken_by("opens with a map", respells(Open, lambda _: Described(Ulong(Open.spec.code), Map())))
@broken_by(
    "counts a field too few",
    respells(Open, lambda _: Described(Ulong(Open.spec.code), As(0xC0, b"@@", None, 1))),
)
def every_open_is_as_defined(each: Framed) -> Found:
    """Every open of the run is a list of at most ten fields of their types, the first of them a string."""
    return held_against(Open, each)


def by_symbol(opening: Open) -> bool:
    return isinstance(opening.descriptor, Symbol)


@scenario("1-0/2.7.1.descriptor-forms")
@broken_by("knows the number only", shuts_out(by_symbol))
@broken_by("passes over the symbol", ignores(Open, when=by_symbol))
def open_can_be_named_by_its_symbol(container: Container) -> None:
    """An open with the descriptor amqp:open:list is answered like one with the number."""
    container.connection().fence()
    named = container.negotiated()
    is_taken(named, named.the_open().sent_as(descriptor=Symbol(Open.spec.descriptor)))


def is_empty_list(opening: Open) -> bool:
    return not opening.elements()


@scenario("1-0/2.7.1.container-id-mandatory", slow=True)
@broken_by("takes an open without", does(BEFORE_OPEN, InvalidOpen, always, take_open))
@broken_by("names who has no name", forwards(Open, when=lacks("container_id"), container_id="anonymous"))
@broken_by("refuses null, and takes nothing", forwards(Open, when=is_empty_list, container_id="anonymous"))
@broken_by("gives no reason", rewrites(Close, error=None))
@broken_by("ends the stream in place of its open", does(BEFORE_OPEN, InvalidOpen, always, end_stream))
def open_without_container_id_is_refused(container: Container) -> None:
    """An open whose container-id is null, and one of an empty list, are refused."""
    container.connection().fence()
    for elements in (1, 0):
        container.negotiated().turns_down(Open().sent_as(width=elements), *refused(Refusal.OPENING))


@scenario("1-0/2.7.1.optional-fields-optional")
@broken_by("wants more than a name", shuts_out(lambda opening: len(opening.elements()) == 1))
@broken_by("does not answer the close", ignores(Close))
def open_of_a_name_alone_is_taken(container: Container) -> None:
    """An open that is a list of one string is answered by an open alone, and a close then by a close."""
    bare = container.negotiated()
    is_taken(bare, bare.the_open())
    bare.tries(Close(), Close)


# -- the hostname --------------------------------------------------------------------------------------


@scenario("1-0/2.7.1.hostname-default")
@broken_by("serves nobody who names no host", shuts_out(lacks("hostname")))
def open_without_hostname_is_taken(container: Container) -> None:
    """An open without hostname, where the layer below named none either, is answered by an open alone."""
    takes(container)


@scenario("1-0/2.7.1.hostname-after-sasl-accepted")
@broken_by("wants it said once", shuts_out(carries("hostname")))
def hostname_of_sasl_may_be_said_again(container: Container) -> None:
    """A hostname given in sasl-init may stand in the open as well, or be left out there."""
    container.offered()
    container.connection().fence()
    for again in (True, False):
        connection, _ = container.offered()
        host = connection.endpoint.host
        connection.authenticate(connection.init(hostname=host))
        connection.exchange_headers()
        is_taken(connection, connection.the_open(hostname=host if again else None))


# -- locales -------------------------------------------------------------------------------------------


@scenario("1-0/2.7.1.en-us-supported")
@broken_by("permits nobody to want it", shuts_out(carries("incoming_locales")))
@broken_by("permits nobody to send it", shuts_out(carries("outgoing_locales")))
def en_us_is_taken(container: Container) -> None:
    """An open with en-US as incoming, and one with it as outgoing locale, is answered by an open alone."""
    container.connection().fence()
    takes(container, incoming_locales=("en-US",))
    takes(container, outgoing_locales=("en-US",))


@scenario("1-0/2.7.1.unknown-locale-falls-back")
@broken_by("serves no Klingons", shuts_out(carries("incoming_locales")))
def unknown_locale_is_no_reason_to_refuse(container: Container) -> None:
    """An open that permits i-klingon alone is answered by an open alone."""
    container.connection().fence()
    takes(container, incoming_locales=("i-klingon",))


@scenario("1-0/2.7.1.empty-locales")
@broken_by("wants locales where an array is", shuts_out(carries("incoming_locales")))
def empty_lists_of_locales_are_taken(container: Container) -> None:
    """An open whose lists of locales are arrays without elements is answered like one without lists."""
    container.connection().fence()
    takes(container, outgoing_locales=(), incoming_locales=())


# -- capabilities and properties -----------------------------------------------------------------------


@scenario("1-0/2.7.1.unknown-capabilities-harmless")
@broken_by("refuses what it does not know", shuts_out(carries("offered_capabilities")))
@broken_by("offers whatever is desired", rewrites(Open, offered_capabilities=(UNHEARD_OF,)))
def unknown_capabilities_do_no_harm(container: Container) -> None:
    """Unknown capabilities are answered by an open alone, which does not offer the one desired."""
    container.connection().fence()
    curious = takes(container, offered_capabilities=(UNHEARD_OF,), desired_capabilities=(UNHEARD_OF,))
    offered = curious.partner.offered_capabilities
    container.judge("no offer of what is unknown", "an offer of it", UNHEARD_OF not in offered)


def desires(kind: type[Any]) -> Callable[[Open], bool]:
    return lambda opening: isinstance(opening.carried("desired_capabilities"), kind)


def offers(kind: type[Any]) -> Callable[[Open], bool]:
    return lambda opening: isinstance(opening.carried("offered_capabilities"), kind)


@scenario("1-0/2.7.1.capability-single-or-array")
@broken_by("wants an array", shuts_out(desires(Symbol)))
@broken_by("wants a single symbol", shuts_out(desires(Array)))
@broken_by("wants an array of offers", shuts_out(offers(Symbol)))
@broken_by("wants a single offer", shuts_out(offers(Array)))
def single_capability_stands_alone_or_in_an_array(container: Container) -> None:
    """A capability, desired or offered, is taken as a symbol, and as an array of one symbol."""
    container.connection().fence()
    for single in (Symbol(UNHEARD_OF), (UNHEARD_OF,)):
        takes(container, desired_capabilities=single)
        takes(container, offered_capabilities=single)


@scenario("1-0/2.7.1.unknown-properties-ignored")
@broken_by("refuses what it does not know", shuts_out(carries("properties")))
def unknown_property_does_no_harm(container: Container) -> None:
    """An open with a property that nobody knows is answered by an open alone."""
    container.connection().fence()
    takes(container, properties={UNHEARD_OF: "nothing"})
