"""What an exchange used of a clean peer: rows, strategies and choices, and what could show in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from harness.amqp0_9_1.broken.deviations import ignores, rewrites, swaps
from harness.amqp0_9_1.peer import Policy
from harness.amqp0_9_1.wire.vocabulary import Channel, Connection, Queue
from harness.amqp1_0.broken import deviations as of_1_0
from harness.amqp1_0.peer import Policy as Policy1_0
from harness.amqp1_0.wire.performatives import Open
from harness.dialect import dialect
from harness.peers.footprint import differing, observed
from harness.play.context import Context
from harness.targets.embedded import EmbeddedTarget
from harness.wire.journal import Event


class Kept:
    """A journal that keeps its events."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def write(self, event: Event) -> None:
        self.events.append(event)


def footprint(document: str, play: Callable[[Any], object]) -> Any:
    """What a session with a clean peer used of it."""
    target, kept, spoken = EmbeddedTarget(), Kept(), dialect(document)
    with target, spoken.speaker.session(target, Context(kept, "test")) as fixture:
        play(fixture)
    return spoken.proof.footprint(target.peer(document), kept.events)


def channel_opened(broker: Any) -> None:
    broker.channel()


def body_of_a_message(broker: Any) -> None:
    channel = broker.channel()
    queue = channel.declare_queue()
    channel.publish(b"body", key=queue)
    channel.get(queue)


@dataclass(frozen=True)
class Some:
    one: int = 1
    other: int = 2


def test_only_what_was_looked_at_is_taken() -> None:
    taken: set[str] = set()
    some = observed(Some(), taken)
    assert taken == set()
    assert some.other == 2
    assert taken == {"other"}


def test_choices_differ_in_their_fields() -> None:
    assert differing(Some(), Some()) == set()
    assert differing(Some(), Some(other=3)) == {"other"}


@pytest.mark.parametrize(
    ("document", "play", "read", "unread"),
    [
        ("0-9-1", channel_opened, Policy(frame_max=4096), Policy(unroutable_code=404)),
        ("1-0", lambda container: container.connection(), Policy1_0(channel_max=1), Policy1_0(link_credit=1)),
    ],
)
def test_another_policy_shows_where_its_choice_was_read(
    document: str, play: Callable[[Any], object], read: object, unread: object
) -> None:
    used, touches = footprint(document, play), dialect(document).proof.touches
    assert touches(read, used)
    assert not touches(unread, used)


def test_another_strategy_shows_where_it_was_used() -> None:
    change, touches = swaps(cut=lambda body, _: [body]), dialect("0-9-1").proof.touches
    assert not touches(change, footprint("0-9-1", channel_opened))
    assert touches(change, footprint("0-9-1", body_of_a_message))


@pytest.mark.parametrize(
    ("document", "play", "same", "another"),
    [
        (
            "0-9-1",
            channel_opened,
            rewrites(Connection.Tune, heartbeat=lambda seconds: seconds),
            rewrites(Connection.Tune, heartbeat=lambda seconds: seconds + 1),
        ),
        (
            "0-9-1",
            channel_opened,
            rewrites(Channel.OpenOk, skip=1, reserved_1=b"!"),
            rewrites(Channel.OpenOk, reserved_1=b"!"),
        ),
        ("0-9-1", channel_opened, ignores(Queue.Declare), ignores(Channel.Open)),
        (
            "1-0",
            lambda container: container.connection(),
            of_1_0.rewrites(Open, container_id=lambda name: name),
            of_1_0.rewrites(Open, container_id="another"),
        ),
    ],
)
def test_what_is_as_it_was_does_not_show(
    document: str, play: Callable[[Any], object], same: object, another: object
) -> None:
    used, touches = footprint(document, play), dialect(document).proof.touches
    assert not touches(same, used)
    assert touches(another, used)


def test_what_breaks_the_peer_shows() -> None:
    change = rewrites(Connection.Tune, heartbeat=lambda seconds: seconds // 0)
    assert dialect("0-9-1").proof.touches(change, footprint("0-9-1", channel_opened))
