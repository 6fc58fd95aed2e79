"""Clients and the definitions: what they send is as defined, what comes is read in every form, or refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final

from harness.amqp1_0.broken.deviations import (
    Interposer,
    ignores,
    of_client,
    respells,
    rewrites,
    withholds,
    withholds_frames,
)
from harness.amqp1_0.client.outcomes import answered, detached, ended_or_closed, silence, stream_ended
from harness.amqp1_0.client.transcript import Passage
from harness.amqp1_0.peer.policy import Policy
from harness.amqp1_0.server.client import Client, JudgedConnection
from harness.amqp1_0.server.leniency import LENIENT
from harness.amqp1_0.wire.composites import Composite
from harness.amqp1_0.wire.encoding import encode, typed
from harness.amqp1_0.wire.generated import GRAMMAR, attribute, code_of
from harness.amqp1_0.wire.performatives import (
    AmqpError,
    Close,
    Detach,
    Disposition,
    End,
    Error,
    ReceiverSettleMode,
    Transfer,
)
from harness.amqp1_0.wire.performatives import Role as LinkRole
from harness.amqp1_0.wire.types import As, Described, Map, Symbol
from harness.play.expect import ControlFailed, Inapplicable
from harness.play.watching import Found
from harness.shims.contract import Refused
from harness.targets.client.target import BeforeServer
from scenarios.amqp1_0.grammar.refused import name, none_of_the_choices, of_another_type
from scenarios.amqp1_0.grammar.sent import until, what_is_there, where, writes
from scenarios.amqp1_0.grammar.uses import NARROW, Change, frame_of, kind, of, within
from scenarios.amqp1_0.grammar.written import (
    VALUES,
    default,
    holds,
    in_an_array,
    is_default,
    is_written_otherwise,
)
from scenarios.amqp1_0.performatives.s2_7_1_open import carries
from scenarios.amqp1_0.talk import TALK
from scenarios.registry import broken_by, scenarios_for, watches_for
from spec.grammar.amqp1_0.members import Subject, encodings
from spec.rules import Role

FILLED: Final[Mapping[str, str]] = {
    "open.hostname": "1-0/2.8.16.redirect-hostname",
    "open.idle-time-out": "1-0/2.4.5.idle-closes-gracefully",
    "end.error": "1-0/2.8.17.unattached-handle-detach",
    "detach.error": "1-0/2.8.15.not-allowed",
    "close.error": "1-0/2.8.15.decode-error",
    "error.condition": "1-0/2.8.15.decode-error",
    "error.description": "1-0/2.8.15.decode-error",
    "error.info": "1-0/2.8.15.decode-error",
}
"""Rules whose scenarios have a client fill a field that is rarely there."""


# -- what a client sends -------------------------------------------------------------------------------


def occasion(about: Subject) -> str:
    return FILLED.get(about.full_name, TALK)


def never(about: Subject) -> str:
    """Say what it means that no occasion came: that a field was never filled."""
    return f"the client never says {about.given.name} of {about.composite.name}"


def leaves_out(about: Subject) -> Interposer | None:
    """Sends nothing in a field that is mandatory."""
    return of_client(writes(about, None)) if about.given.mandatory else None


@watches_for(of("sent"), during=occasion, looks_at=where, until=until, never=never, role=Role.CLIENT)
@broken_by(
    "has another type there", lambda about: of_client(writes(about, of_another_type(about))), Role.CLIENT
)
@broken_by("has nothing there", leaves_out, Role.CLIENT)
def a_field_of_a_client_is_as_defined(each: Passage, about: Subject) -> Found:
    """The field is of its type in every such composite of a client, and there where it is mandatory."""
    return what_is_there(each, about)


# -- what a client is told otherwise -------------------------------------------------------------------


def lives(client: Client, *meets: BeforeServer, policy: Policy = LENIENT) -> JudgedConnection:
    """Have the client open all there is, send a message, receive it, and take down its links and session."""
    connection = client.connection(*meets, policy=policy)
    session = connection.session()
    address = client.name("node")
    sender = session.sender(address)
    sender.send()
    receiver = session.receiver(address, credit=1)
    message = next(iter(receiver.messages()), None)
    if message is None:
        raise ControlFailed("receiving", "nothing")
    receiver.settle(message)
    sender.close()
    receiver.close()
    session.end()
    return connection


def is_closed(client: Client, *meets: Interposer) -> None:
    """Have the server close a connection because of an error, and the client answer."""
    connection = client.connection(*meets)
    connection.session()
    connection.server_closes(AmqpError.INTERNAL_ERROR, "a reason")
    answer = connection.came(Close).performative
    client.judge(
        "a close without error",
        "a close with an error",
        answer.error is None,
        "2.7.9 lets every close have one",
    )


def lives_alike(client: Client, about: Subject, *changes: Change) -> None:
    """Judge that all goes as ever where the server writes each composite so; as usual goes first."""

    def once(change: Change) -> None:
        meets = [respells(each, change, when=is_told(about)) for each in frame_of(about)]
        if kind(about) is Error:
            is_closed(client, *meets)
        else:
            lives(client, *meets).close()

    usual: list[Any] = []

    def noted(said: Any) -> Any:
        usual.append(said)
        return said

    once(noted)
    spelled = [within(about, change) for change in changes]
    otherwise = [each for each in spelled if any(encode(each(said)) != encode(said) for said in usual)]
    for change in otherwise or spelled[:1]:  # others would say the same octets once more
        with client.works(f"{about.composite.name} means the same"):
            once(change)


def is_told(about: Subject) -> Callable[[Composite], bool]:
    """Match performatives that have the composite a rule is about."""
    return carries("error") if kind(about) is Error else lambda _: True


def knows_one_form(about: Subject) -> Interposer:
    """Does not hear what is not in its shortest form."""
    return withholds_frames(is_written_otherwise(about))


@scenarios_for(of("by-symbol"), role=Role.CLIENT)
@broken_by("knows its number only", knows_one_form, Role.CLIENT)
def a_client_knows_the_symbol(client: Client, about: Subject) -> None:
    """With the symbol for a descriptor the server's performative is what it is with the number."""
    lives_alike(client, about, lambda it: it.sent_as(descriptor=Symbol(it.spec.descriptor)))


@scenarios_for(of("wide-number"), role=Role.CLIENT)
@broken_by("knows a number of one octet only", knows_one_form, Role.CLIENT)
def a_client_knows_the_wide_number(client: Client, about: Subject) -> None:
    """With an ulong of eight octets for a descriptor the server's performative is what it is otherwise."""
    wide = code_of("ulong", 8)
    lives_alike(client, about, lambda it: it.sent_as(descriptor=As(wide, it.spec.code)))


@scenarios_for(of("list32"), role=Role.CLIENT)
@broken_by("knows no list32", knows_one_form, Role.CLIENT)
def a_client_knows_the_wide_list(client: Client, about: Subject) -> None:
    """With its fields in a list32 the server's performative is what it is otherwise."""
    wide = code_of("list", 4)
    lives_alike(client, about, lambda it: Described(it.descriptor, As(wide, it.elements())))


@scenarios_for(of("nulls"), role=Role.CLIENT)
@broken_by("takes no null for what has no value", knows_one_form, Role.CLIENT)
def a_client_takes_nulls_at_the_end(client: Client, about: Subject) -> None:
    """With a null for each field at its end that has no value the performative is what it is otherwise."""
    lives_alike(client, about, lambda it: it.sent_as(width=len(it.spec.fields)))


SMALL: Final = {
    "incoming-window": NARROW,
    "outgoing-window": NARROW,
    "channel-max": NARROW,
    "link-credit": NARROW,
}
"""What fields say here that are usually too large for one octet."""


def in_form(about: Subject, form: Callable[[Any], Any], fits: Callable[[Any], bool]) -> Change:
    """Write the field in this form where its value fits, with a value where it usually has none."""
    field, elementary = attribute(about.given.name), GRAMMAR.elementary(about.given.type)

    def change(said: Any) -> Any:
        value = SMALL.get(about.given.name, said.carried(field))
        if value is None:
            value = False if elementary == "boolean" else VALUES.get(about.given.name)
        if value is None or not fits(value):
            return said
        return said.replace(**{field: form(typed(elementary, value))})

    return change


def forms(about: Subject) -> Iterator[Change]:
    """Give every form of the field: each encoding of its type and, where it may be one, of an array."""
    field = about.given
    elementary = GRAMMAR.elementary(field.type)
    for each in encodings(GRAMMAR, field):
        yield in_form(about, partial(As, each.code), partial(holds, each))
    if field.multiple:
        codes = (code_of("array", width) for width in (1, 4))
        for code in codes:
            yield in_form(about, partial(in_an_array, code, elementary), bool)


@scenarios_for(of("encoded"), role=Role.CLIENT)
@broken_by("knows its shortest form only", knows_one_form, Role.CLIENT)
def a_client_knows_every_encoding_of_a_field(client: Client, about: Subject) -> None:
    """With the field in each encoding that can hold its value the performative is what it is otherwise."""
    lives_alike(client, about, *forms(about))


STATED: Final = ("open.max-frame-size", "open.channel-max", "begin.handle-max")
"""Limits of the server's, which may as well be the default: a client need not come near."""
ALWAYS: Final = ("attach.rcv-settle-mode",)
"""What our server always says of links on which clients send: that it is written out is nothing new."""
SECOND: Final = ("disposition.settled",)
"""What our server means by the default only where it settles second."""


def has_default(about: Subject, said: Any) -> bool:
    """Say whether the field means its default, or may as well."""
    field = attribute(about.given.name)
    return about.full_name in STATED or getattr(said, field) == default(about, said)


def without_default(about: Subject) -> Change:
    """Leave the field out where it has its default."""
    field = attribute(about.given.name)
    return lambda it: it.replace(**{field: None}) if has_default(about, it) else it


def with_default(about: Subject) -> Change:
    """Write the default out where the field has it."""
    field = attribute(about.given.name)
    return lambda it: it.replace(**{field: default(about, it)}) if has_default(about, it) else it


def unheard(about: Subject) -> Interposer:
    """Does not hear what is written out, or left out where our server always says it."""
    if about.full_name not in ALWAYS:
        return withholds(kind(about), when=is_default(about))
    field = attribute(about.given.name)
    return withholds(kind(about), when=lambda it: it.role is LinkRole.RECEIVER and it.carried(field) is None)


@scenarios_for((each for each in of("default") if each[1].full_name not in SECOND), role=Role.CLIENT)
@broken_by("does not hear it in one of both forms", unheard, Role.CLIENT)
def a_client_knows_the_default(client: Client, about: Subject) -> None:
    """Without the field, and with its default written out, the server's performative means the same."""
    lives_alike(client, about, without_default(about), with_default(about))


def settles_behind(client: Client, change: Change) -> str:
    """Have the client send a message that the server settles second; give what it makes of the outcome."""
    sender = client.session(respells(Disposition, change)).sender(rcv="second")
    if sender.server.receiver_mode != ReceiverSettleMode.SECOND:
        raise Inapplicable("the client asks for no link of which the server settles second")
    outcome = sender.tries_to_send()
    sender.connection.came(Transfer)
    if isinstance(outcome, Refused):
        return outcome.told  # some libraries give up where nobody has settled
    said = sender.expect(Disposition, silence().recorded("the client leaves the delivery unsettled"))
    settled = isinstance(said, Disposition) and said.settled
    return f"{outcome}, {'settled' if settled else 'not settled'} by the client"


@scenarios_for((each for each in of("default") if each[1].full_name in SECOND), role=Role.CLIENT)
@broken_by(
    "takes what is left out for settled",
    rewrites(Disposition, when=lambda it: it.carried("settled") is None, settled=True),
    Role.CLIENT,
)
def a_client_knows_what_is_not_settled(client: Client, about: Subject) -> None:
    """An outcome without settled does to a client what one with false does: it settles, or leaves that."""
    usual = settles_behind(client, with_default(about))
    seen = settles_behind(client, without_default(about))
    client.judge(usual, seen, seen == usual)


# -- what a client has to refuse -----------------------------------------------------------------------

NO_REASON = "that it says why is judged by 1-0/2.4.3.close-carries-reason"
NO_CLOSE = "that a close comes before the end of the stream is judged by 1-0/2.4.3.close-before-closing"
SAYS_NOTHING: Final = (
    ignores(Close, when=carries("error"))
    + ignores(End, when=carries("error"))
    + ignores(Detach, when=carries("error"))
)


def is_refused(client: Client, about: Subject, change: Change) -> None:
    """Judge that a client refuses a performative with this change, where all goes as ever without it."""
    lives(client)
    failed = client.fails(lambda: lives(client, respells(kind(about), change)))
    client.judge("it is refused", "all goes on as ever", failed)
    client.last.expect_ending(
        detached() | ended_or_closed(), answered(Close, End).under(NO_REASON), stream_ended().under(NO_CLOSE)
    )


@scenarios_for(of("list"), slow=True, role=Role.CLIENT)
@broken_by("says nothing of it", SAYS_NOTHING, Role.CLIENT)
def a_client_takes_no_map_for_a_performative(client: Client, about: Subject) -> None:
    """A map with the descriptor of the server's performative is refused."""
    is_refused(client, about, lambda it: Described(it.descriptor, Map()))


@scenarios_for(of("mandatory"), slow=True, role=Role.CLIENT)
@broken_by("says nothing of it", SAYS_NOTHING, Role.CLIENT)
def a_client_misses_a_field_that_has_to_be_there(client: Client, about: Subject) -> None:
    """The server's performative with null for a mandatory field is refused."""
    is_refused(client, about, lambda it: it.replace(**{name(about): None}))


@scenarios_for(of("typed"), slow=True, role=Role.CLIENT)
@broken_by("says nothing of it", SAYS_NOTHING, Role.CLIENT)
def a_client_refuses_a_field_of_another_type(client: Client, about: Subject) -> None:
    """The server's performative with a value of another type for the field is refused."""
    is_refused(client, about, lambda it: it.replace(**{name(about): of_another_type(about)}))


@scenarios_for(of("choice"), role=Role.CLIENT)
@broken_by("says nothing of it", SAYS_NOTHING, Role.CLIENT)
def a_client_refuses_a_value_that_is_no_choice(client: Client, about: Subject) -> None:
    """The server's performative with the number behind the last of the choices for the field is refused."""
    is_refused(client, about, lambda it: it.replace(**{name(about): none_of_the_choices(about)}))
