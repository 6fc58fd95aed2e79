"""What an assert demands of a field: the server refuses a method that breaks it, and keeps it itself."""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from operator import attrgetter
from typing import Any

from harness.amqp0_9_1.broken.deviations import Interposer, answers, forwards, ignores, rejects, rewrites
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.outcomes import (
    EXCEPTION,
    answered,
    channel_closed,
    closed_silently,
    connection_closed,
)
from harness.amqp0_9_1.client.transcript import Passage
from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.fields import attribute
from harness.amqp0_9_1.wire.vocabulary import (
    ACCESS_REFUSED,
    CODEC,
    INTERNAL_ERROR,
    INVALID_PATH,
    NOT_ALLOWED,
    NOT_FOUND,
    PRECONDITION_FAILED,
    SYNTAX_ERROR,
    Channel,
    Connection,
)
from harness.play.watching import Found, Gaps, Repeats, came, went
from harness.wire.journal import SENT
from scenarios.amqp0_9_1.connection.tune_ok import one_less, refuses_more_than_proposed
from scenarios.amqp0_9_1.grammar.calls import AT_ONCE, Call, again, answers_to, given, kind, of
from scenarios.registry import broken_by, scenarios_for, watches_for
from spec.grammar.amqp0_9_1.members import Subject
from spec.rules import Role

LONGEST = 127
NULL: Mapping[str, Any] = {"shortstr": "", "longstr": b"", "short": 0}
"""What is null in a field, by its type: the document does not say; nothing is as empty."""

ANOTHER_CODE = (EXCEPTION | AT_ONCE).under("refused, in a way that fits less")
REFUSED = channel_closed(ACCESS_REFUSED, NOT_FOUND, PRECONDITION_FAILED) | connection_closed(
    SYNTAX_ERROR, NOT_FOUND, PRECONDITION_FAILED
)
"""How a name that breaks its form is refused: illegal, or a name that nothing can have."""
ENDED = closed_silently() | connection_closed(SYNTAX_ERROR, INVALID_PATH, NOT_ALLOWED)
"""How negotiation ends: without a word (2.2.4), or, for a virtual host, with what the constants say."""


# -- what breaks an assert -----------------------------------------------------------------------------


def name(about: Subject) -> str:
    return attribute(given(about.field).name)


def breaks(about: Subject) -> Callable[[Any], bool]:
    """Match methods whose field breaks the assert."""
    limit = given(about.check).value or ""
    longest = int(limit) if limit.isdecimal() else 0
    fits = lru_cache(1000)(re.compile(limit).match)  # the same few names come again and again
    field = attrgetter(name(about))
    broken: Mapping[str, Callable[[Any], bool]] = {
        "notnull": lambda method: not field(method),
        "length": lambda method: len(field(method)) > longest,
        "regexp": lambda method: fits(field(method)) is None,
    }
    return broken[given(about.check).check]


def breach(about: Subject, good: Any) -> Any:
    """Give a value that breaks the assert, made of a good one."""
    null = NULL.get(given(about.field).type)
    made: Mapping[str, Callable[[Any], Any]] = {
        "notnull": lambda _: null,
        "length": lambda value: value.ljust(LONGEST, "x") + "x",
        "regexp": lambda value: f"{value}/",
    }
    return made[given(about.check).check](good)


def cuts_it_off(about: Subject) -> Interposer:
    """Takes a value that is too long for one as long as may be."""
    shortened: dict[str, Any] = {name(about): lambda value: value[:LONGEST]}
    return forwards(kind(about), when=breaks(about), **shortened)


def takes_it(about: Subject) -> Interposer:
    """Does as if the field were good."""
    said = answers_to(kind(about).spec)[-1] if answers_to(kind(about).spec) else Connection.Tune
    if kind(about).spec.content:
        return ignores(kind(about), when=breaks(about))
    return answers(kind(about), said(), when=breaks(about))


def blames_itself(about: Subject) -> Interposer:
    return rejects(kind(about), INTERNAL_ERROR, when=breaks(about))


def asserted(
    fits: Callable[[Subject], bool], *checks: str, role: Role = Role.SERVER
) -> Iterator[tuple[str, Subject]]:
    """Give the asserts of these kinds that are enforced, of methods that fit."""
    for rule, about in of("assert", role=role):
        if about.check is not None and about.check.check in checks and fits(about):
            yield rule, about


def is_handshake(about: Subject) -> bool:
    """Say whether it is a method before the connection is open, of which more than a limit is asked."""
    return kind(about).full_name in ("connection.start-ok", "connection.secure-ok", "connection.open")


def is_farewell(about: Subject) -> bool:
    return kind(about).spec.name == "close"


def is_tuning(about: Subject) -> bool:
    return kind(about).spec.name == "tune-ok"


def declares(about: Subject) -> bool:
    return kind(about).spec.name == "declare"


def uses(about: Subject) -> bool:
    """Say whether the method names something on an open channel."""
    return not any(fits(about) for fits in (is_handshake, is_farewell, is_tuning, declares))


# -- enforced ------------------------------------------------------------------------------------------


def broken_call(broker: Broker, about: Subject, names: str = "{}") -> Call:
    """Carry the method out, then prepare it again and send it with a field that breaks the assert."""
    call = again(broker, about, names)
    wrong = breach(about, getattr(call.method, name(about)))
    call.send(call.method.replace(**{name(about): wrong}))
    return call


@scenarios_for(asserted(is_handshake, "notnull", "length"), slow=True)
@broken_by("takes it", takes_it)
@broken_by("takes it for an error of its own", blames_itself)
def breach_in_the_handshake_ends_it(broker: Broker, about: Subject) -> None:
    """The step of the handshake succeeds; with a value that breaks the assert it ends the connection.

    An empty response may also mean that there is none yet: then Secure asks for it.
    """
    call = broken_call(broker, about)
    asked = answered(Connection.Secure).recorded("an empty response counts as none")
    also = (asked,) if name(about) == "response" and kind(about) is Connection.StartOk else ()
    call.expect(ENDED, *also, ANOTHER_CODE)


@scenarios_for(asserted(is_tuning, "notnull"), slow=True)
@broken_by("takes it for an error of its own", blames_itself)
def channel_max_of_zero_is_recorded(broker: Broker, about: Subject) -> None:
    """Tune-Ok with channel-max zero: no limit on the client's side, or a value that must not be null."""
    call = broken_call(broker, about)
    call.send(Connection.Open(call.connection.endpoint.virtual_host))
    taken = answered(Connection.OpenOk).recorded("connection.tune: zero stands for no limit")
    call.expect(ENDED, taken, ANOTHER_CODE)


@scenarios_for(asserted(is_tuning, "le"), slow=True)
@broken_by("does not see it", forwards(Connection.TuneOk, channel_max=one_less))
def more_than_proposed_ends_the_handshake(broker: Broker, about: Subject) -> None:
    """Tune-Ok with more than Tune proposed is the end; with as much, the connection opens."""
    refuses_more_than_proposed(broker, name(about))


@scenarios_for(asserted(is_farewell, "notnull"))
@broken_by("takes it for an error of its own", blames_itself)
def close_that_says_nothing_is_recorded(broker: Broker, about: Subject) -> None:
    """A Close with an empty field: refused, or answered all the same, for the end is what both want."""
    call = broken_call(broker, about)
    let_go = answered(*answers_to(call.method.spec)).recorded(
        "what is being closed need not be judged any more"
    )
    call.expect(connection_closed(SYNTAX_ERROR), let_go, ANOTHER_CODE)


@scenarios_for(asserted(uses, "notnull", "regexp"))
@broken_by("takes it", takes_it)
@broken_by("takes it for an error of its own", blames_itself)
def name_of_no_good_form_is_refused(broker: Broker, about: Subject) -> None:
    """The method is carried out with a good name, and refused with one that breaks the assert."""
    broken_call(broker, about).expect(REFUSED, ANOTHER_CODE)


@scenarios_for(asserted(uses, "length"))
@broken_by("takes it", takes_it)
@broken_by("cuts it off", cuts_it_off)
def name_too_long_is_not_cut_off(broker: Broker, about: Subject) -> None:
    """The method is carried out with a name of 127 octets; with one octet more the same is not found."""
    broken_call(broker, about, names=f"{{:x<{LONGEST}}}").expect(REFUSED, ANOTHER_CODE)


def new_name(broker: Broker, about: Subject) -> str:
    """Give a name that breaks the assert, kept so that it can be removed where a server takes it."""
    pattern = f"{{:x<{LONGEST + 1}}}" if given(about.check).check == "length" else "{}/"
    return broker.name(kind(about).spec.class_name, pattern)


def declared_with(broker: Broker, about: Subject, wrong: str) -> Call:
    """Declare with a good name, then with this one."""
    call = again(broker, about)
    call.send(call.method.replace(**{name(about): wrong}))
    return call


@scenarios_for(asserted(declares, "regexp"))
@broken_by("takes it", takes_it)
@broken_by("takes it for an error of its own", blames_itself)
def nothing_is_declared_under_an_illegal_name(broker: Broker, about: Subject) -> None:
    """A declaration with a good name succeeds; with an illegal character in it, it is refused."""
    declared_with(broker, about, new_name(broker, about)).expect(REFUSED, ANOTHER_CODE)


@scenarios_for(asserted(declares, "notnull"))
@broken_by("takes it", takes_it)
@broken_by("takes it for an error of its own", blames_itself)
def nothing_is_declared_without_a_name(broker: Broker, about: Subject) -> None:
    """A declaration with a name succeeds; without one it is refused."""
    declared_with(broker, about, "").expect(REFUSED, ANOTHER_CODE)


@scenarios_for(asserted(declares, "length"))
@broken_by("takes it for an error of its own", blames_itself)
@broken_by("cuts it off", cuts_it_off)
def name_too_long_is_refused_or_kept_whole(broker: Broker, about: Subject) -> None:
    """A declaration with 128 octets is refused, or taken as a short string of up to 255 octets: whole.

    Under the name without its last octet nothing is found then.
    """
    long = new_name(broker, about)
    call = declared_with(broker, about, long)
    whole = answered(*answers_to(call.method.spec)).recorded("4.2.1: a short string holds 255 octets")
    if not isinstance(call.expect(REFUSED, whole, ANOTHER_CODE), Channel.Close | Connection.Close):
        short = call.method.replace(**{name(about): long[:LONGEST]}, passive=True)
        call.send(short)
        call.expect(channel_closed(NOT_FOUND))


# -- kept ----------------------------------------------------------------------------------------------

OCCASIONS: Mapping[str, str] = {
    "connection.start": "0-9-1/grammar/connection.open.answers",
    "connection.close": "0-9-1/grammar/connection.close-ok.implemented",
    "channel.close": "0-9-1/grammar/channel.close-ok.implemented",
    "queue.declare-ok": "0-9-1/grammar/queue.declare.answers",
    "basic.return": "0-9-1/basic.publish.mandatory.01",
    "basic.deliver": "0-9-1/grammar/basic.consume.no-wait",
    "basic.get-ok": "0-9-1/grammar/basic.get.answers",
}
"""A rule whose scenarios make the server send each of its methods that have an assert."""


def says_it_wrongly(about: Subject) -> Interposer:
    broken: dict[str, Any] = {name(about): lambda value: breach(about, value)}
    return rewrites(kind(about), **broken)


class Kept(Repeats):
    """What the client has said itself in a field of a name, and what is wrong if it has not."""

    def __init__(self, about: Subject) -> None:
        super().__init__()
        self.field, self.broken = name(about), breaks(about)


def have_the_field(about: Subject) -> Iterator[type[Method]]:
    return (method for method in CODEC.methods.values() if name(about) in method.names)


@watches_for(
    of("keeps"),
    during=lambda about: OCCASIONS[kind(about).full_name],
    looks_at=lambda about: came(kind(about)) + went(*have_the_field(about)),
    needs=lambda about: came(kind(about)),
    start=lambda about: partial(Kept, about),
    gap=Gaps.TOLD,
)
@broken_by("breaks it", says_it_wrongly)
def server_keeps_the_assert(kept: Kept, each: Passage, _: Subject) -> Found:
    """In every such method of the run the field is as the assert demands.

    A name that only repeats the client's own, which may break the assert on purpose, is left out.
    """
    if each.direction is SENT:
        kept.ours.append(getattr(each.said, kept.field))
        return None
    if not kept.broken(each.said):
        return True
    told = f"{each.said.full_name} with {kept.field} at {each.at:.4f} s"
    kept.wrong.append((getattr(each.said, kept.field), told))
    return None
