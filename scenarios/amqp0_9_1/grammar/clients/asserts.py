"""What an assert demands of a field that a client fills: it keeps it, or refuses what would break it."""

from collections.abc import Callable, Mapping
from typing import Any

from harness.amqp0_9_1.broken.deviations import Interposer, forwards
from harness.amqp0_9_1.client.outcomes import Observation, Received
from harness.amqp0_9_1.client.transcript import Passage
from harness.amqp0_9_1.server.client import Client, JudgedChannel, JudgedConnection
from harness.amqp0_9_1.wire.vocabulary import Connection
from harness.play.expect import Outcome
from harness.play.watching import Found, Gaps, State, came, went
from harness.shims.contract import Kind, Refused
from harness.wire.journal import SENT, Direction
from scenarios.amqp0_9_1.grammar.calls import kind, of_clients
from scenarios.amqp0_9_1.grammar.clients.sent import NEVER, occasion
from scenarios.amqp0_9_1.grammar.fields import asserted, breach, breaks, name
from scenarios.amqp0_9_1.talk import TALK
from scenarios.registry import broken_by, scenarios_for, watches_for
from spec.grammar.amqp0_9_1.members import Subject
from spec.rules import Role

PASSED_ON = "1.4.3: an assertion is what has to be true; which side of a client sees to it is not said"


def is_any(_: Subject) -> bool:
    return True


def leaves_it_empty(about: Subject) -> Interposer:
    """Says nothing in the field."""
    empty: dict[str, Any] = {name(about): lambda value: breach(about, value)}
    return forwards(kind(about), **empty)


@watches_for(
    asserted(is_any, "notnull", role=Role.CLIENT),
    during=occasion,
    looks_at=lambda about: came(kind(about)),
    never=NEVER,
    role=Role.CLIENT,
)
@broken_by("leaves it empty", leaves_it_empty, Role.CLIENT)
def client_keeps_the_assert(each: Passage, about: Subject) -> Found:
    """In every such method of the run the client says something in the field."""
    return not breaks(about)(each.said) or f"{each.said.full_name} without {name(about)} at {each.at:.4f} s"


class Proposed(State):
    """What the server has proposed in Tune."""

    def __init__(self) -> None:
        self.channels: int | None = None

    def missed(self, way: Direction) -> None:
        """Forget it: there may have been another."""
        if way is SENT:
            self.channels = None


@watches_for(
    asserted(is_any, "le", role=Role.CLIENT),
    during=lambda _: TALK,
    looks_at=lambda about: came(kind(about)) + went(Connection.Tune),
    start=lambda _: Proposed,
    gap=Gaps.TOLD,
    role=Role.CLIENT,
)
@broken_by("asks for more", forwards(Connection.TuneOk, channel_max=65535), Role.CLIENT)
def client_asks_for_no_more_than_proposed(proposed: Proposed, each: Passage, _: Subject) -> Found:
    """The client agrees to at most the channels that the server proposes."""
    if isinstance(each.said, Connection.Tune):
        proposed.channels = each.said.channel_max
        return None
    if not proposed.channels:
        return None
    asked = each.said.channel_max
    return asked <= proposed.channels or f"{asked} channels of {proposed.channels} at {each.at:.4f} s"


# -- names that break their form -----------------------------------------------------------------------

Ask = Callable[[JudgedChannel, str, str], object]


def calls(**given: object) -> Ask:
    """Have the client call the method of the rule with a value in its field."""

    def ask(channel: JudgedChannel, method: str, field: str, value: str) -> object:
        return channel.tries(method, **(given | {field: value}))

    return ask  # type: ignore[return-value]
