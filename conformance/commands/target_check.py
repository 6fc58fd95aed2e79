"""`targets check`: what a target's description promises, tried on the target itself.

A promise is not a verdict: it says that the description fits the broker, so that checks which need a facility
get what they need. What a facility is for is known to the protocols (`harness.play.promises`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from textwrap import shorten

from rich.console import Console
from rich.table import Table
from rich.text import Text

from conformance.engine.options import Options
from conformance.engine.scope import apart_of, met
from conformance.evidence.printable import printable
from conformance.gate.gate import Exit
from harness.dialect import dialect, documents
from harness.play.hosting import Host
from harness.play.promises import Broken
from harness.targets.named import known_targets, target
from harness.targets.target import Target, TargetError
from harness.wire.tls import Security
from harness.wire.transport import NotSpoken, Unreachable
from scenarios.registry import Scenario, checks
from spec.applicability import protocol
from spec.catalogue import catalogue
from spec.rules import Role

SHOWN = 60
"""Characters that are shown of a value: one of them is a whole log."""
WITHIN = 30.0
"""Seconds for one handshake, or for one look at what a facility gave."""
RESTART = "restart"
PAIRS = {"memory-alarm": "lift-memory-alarm", "pause": "resume", "removable-address": "remove-address"}
"""Facilities after which another has to put things right, whatever was seen."""
SILENCING = "pause"
OF_FIXTURES = {"address", "keep-alive", "log", "priority-queue"}
AT_ONCE = 1.0
"""Seconds within which a target that is not paused serves a new client."""


class State(StrEnum):
    """What became of a promise."""

    KEPT = "kept"
    BROKEN = "broken"
    UNTRIED = "not tried"
    """The library has no way to do it, or to do all of it."""
    UNUSED = "unused"
    """Nobody asks for it: a misspelt name, or a facility for one's own scenarios."""


STYLES = {
    State.KEPT: "green",
    State.BROKEN: "bold red",
    State.UNTRIED: "yellow",
    State.UNUSED: "yellow",
}
COMMAND = {True: State.KEPT, False: State.BROKEN, None: State.UNTRIED}


@dataclass(frozen=True, slots=True)
class Promise:
    """One promise of a description: `what` it is about, and a sentence on what was seen."""

    what: str
    state: State
    sentence: str


def check_target(name: str, reached: Options, console: Console) -> int:
    """Try everything on a target `reached` so, print a line for each promise, leave nothing running.

    Raises TargetError for a name that no target has and for rules that do not exist, Unreachable when it does
    not start or nothing can be tried on it.
    """
    goal = _named(name, reached.security)
    apart_of(goal)
    with console.status(f"starting {printable(goal.name)} …"):
        try:
            goal.start()
        except TargetError as failure:
            raise Unreachable(str(failure)) from None
    found: list[Promise] = []
    try:
        if goal.unmet:
            met(goal, catalogue().rules, reached.first_answer)
        for promise in promises(goal):
            found.append(promise)
            console.print(_line(promise))
    finally:
        goal.stop()
    broken = [each for each in found if each.state is State.BROKEN]
    told = f"{len(broken)} of {len(found)} promises are broken" if broken else "the description fits"
    console.print(Text(f"\n{goal.name}: {told}", style=STYLES[State.BROKEN if broken else State.KEPT]))
    return int(Exit.NOT_MET if broken else Exit.MET)


def _named(name: str, security: Security) -> Target:
    """Give the target of that name; that of a description may be called by its bare name."""
    full = [known.name for known in known_targets() if known.name.partition(":")[2] == name]
    return target(full[0] if len(full) == 1 else name, security)


def promises(goal: Target) -> Iterator[Promise]:
    """Try what the description of a started target says, one promise after the other.

    Raises Unreachable when it speaks none of the protocols that are known here.
    """
    spoken = []
    for document in _protocols():
        promise, speaks = _protocol(goal, document)
        if speaks:
            spoken.append(document)
        yield promise
    if not spoken:
        raise Unreachable(f"{goal.name} opens no connection of any protocol known here")
    for document in spoken:
        yield from _commands(goal, document)
    undoing = {undo for facility, undo in PAIRS.items() if facility in goal.facilities}
    for facility in sorted(goal.facilities - undoing):
        yield from _facility(goal, facility, spoken)


def _protocols() -> list[str]:
    """Give the protocols that this suite speaks, by their documents."""
    return list(dict.fromkeys(protocol(document) for document in documents()))


def _protocol(goal: Target, document: str) -> tuple[Promise, bool]:
    """Say whether a protocol is spoken as described, and whether it is spoken at all."""
    title = next(each.title for each in catalogue().documents if each.prefix == document)
    what = f"protocol {document}"
    described = goal.protocols is None or document in goal.protocols
    try:
        banner = dialect(document).towards(goal.role).probe(goal, WITHIN)
    except NotSpoken as failure:
        return Promise(what, State.KEPT if not described else State.BROKEN, f"not spoken: {failure}"), False
    except Unreachable as failure:
        state = State.BROKEN if described else State.KEPT
        return Promise(what, state, str(failure) if described else f"not spoken: {failure}"), False
    build = f"{banner.product} {banner.version}".strip() or "a product that does not name itself"
    if not described:
        told = f"{build} speaks {title}, but the description does not say so"
        return Promise(what, State.BROKEN, told), True
    return Promise(what, State.KEPT, f"{build} opens a connection"), True


def _commands(goal: Target, document: str) -> Iterator[Promise]:
    """Try what the shim of a client must be able to do."""
    if isinstance(host := dialect(document).towards(goal.role), Host):
        for what, seen, kept in host.tries(goal):
            yield Promise(what, COMMAND[kept], seen)


def _facility(goal: Target, facility: str, spoken: list[str]) -> list[Promise]:
    """Use a facility once, and look at what it was for; then use what undoes it."""
    undo = PAIRS.get(facility)
    if undo is None:
        return [_tried(goal, facility, spoken)]
    if undo not in goal.facilities:
        return [Promise(facility, State.BROKEN, f"there is no {undo} to undo it, so it was not tried")]
    return [_tried(goal, each, spoken) for each in (facility, undo)]


def _tried(goal: Target, facility: str, spoken: list[str]) -> Promise:
    try:
        given, told = _looked(goal, facility, spoken)
        if facility == SILENCING:
            told += [_is_silent(goal, document) for document in spoken]
        if facility not in PAIRS:
            for document in spoken:
                dialect(document).towards(goal.role).serves(goal, WITHIN)
    except (TargetError, Broken, Unreachable) as failure:
        return Promise(facility, State.BROKEN, str(failure))
    if facility not in _asked_for():
        return Promise(
            facility, State.UNUSED, "it can be used, but no check asks for a facility of that name"
        )
    gave = ", ".join(f"{key} {shorten(value, SHOWN)}" for key, value in given.items() if key != "password")
    told = told or ["used, and new clients are served" if facility not in PAIRS else "applied"]
    return Promise(facility, State.KEPT, "; ".join([*told, *([f"gave {gave}"] if gave else [])]))


def _looked(goal: Target, facility: str, spoken: list[str]) -> tuple[dict[str, str], list[str]]:
    """Use a facility as each protocol does that can look at what it was for; else once."""
    looks = {document: dialect(document).towards(goal.role).promises().get(facility) for document in spoken}
    given, told = {}, []
    for document, look in looks.items():
        if look is not None:
            given = dict(goal.used_by(document)(facility))
            told.append(look(goal, given, WITHIN))
    return (given, told) if told else (dict(goal.use(facility)), told)


def _is_silent(goal: Target, document: str) -> str:
    """Say that nobody is served any more in a protocol. Raises Broken when somebody is."""
    try:
        dialect(document).towards(goal.role).serves(goal, AT_ONCE)
    except Unreachable:
        return f"{document}: nobody is served"
    raise Broken("a new client is served all the same")


def _asked_for() -> frozenset[str]:
    """Give the facilities that some scenario needs, a fixture asks for, or the runner itself uses."""
    scenarios = [each for rule in catalogue().rules for each in checks().of(rule.id, Role.SERVER)]
    needed = {name for each in scenarios if isinstance(each, Scenario) for name in each.needs}
    return frozenset(needed | {RESTART} | OF_FIXTURES | set(PAIRS) | set(PAIRS.values()))


def _line(promise: Promise) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    for width in (18, 7, None):
        table.add_column(width=width, overflow="fold")
    table.add_row(
        Text(printable(promise.what)),
        Text(promise.state, style=STYLES[promise.state]),
        Text(printable(promise.sentence)),
    )
    return table
