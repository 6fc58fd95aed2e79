"""What the reference peer does while a connection is opened, and how its policies change that."""

from __future__ import annotations

import pytest

from harness.amqp_fast.client.transcript import command_of
from harness.amqp_fast.peer import Peer
from harness.amqp_fast.peer.driver import Connection as Driver
from harness.amqp_fast.peer.policy import Policy
from harness.amqp_fast.wire.commands import Command
from harness.amqp_fast.wire.frames import FrameReader, Initiation, frame
from harness.amqp_fast.wire.vocabulary import NOT_IMPLEMENTED, OK, Connection

GOOD = Connection.Response("PLAIN", {"LOGIN": "guest", "PASSWORD": "guest"})


def said(connection: Driver, *what: Command) -> list[Command | None]:
    """Say this to the peer; give what it answers."""
    for each in what:
        connection.receive(frame(each).encode())
    return [command_of(unit) for _, unit in FrameReader().feed(connection.take())]


def begun(policy: Policy | None = None, peer: Peer | None = None) -> Driver:
    connection = (peer or Peer(policy)).connect(0.0)
    connection.receive(Initiation().encode())
    assert said(connection) == [Connection.Challenge(1, b"PLAIN")]
    return connection


def tuned(policy: Policy | None = None, peer: Peer | None = None) -> Driver:
    connection = begun(policy, peer)
    (tune,) = said(connection, GOOD)
    assert isinstance(tune, Connection.Tune)
    return connection


def test_what_is_lacking_is_asked_for_a_few_times() -> None:
    connection = begun()
    alone = GOOD.replace(responses={"LOGIN": "guest"})
    answers = [type(each) for _ in range(4) for each in said(connection, alone)]
    assert answers == [Connection.Challenge] * 3 + [Connection.Close]
    assert isinstance(said(begun(Policy(lacking="ends")), alone)[0], Connection.Close)


@pytest.mark.parametrize(
    ("policy", "number", "answer"),
    [
        (Policy(), b"G", b""),
        (Policy(foreign="closes"), b"G", b"\x13"),
        (Policy(foreign="speaks"), b"G", b"HTTP"),
        (Policy(foreign="speaks"), b"\x81", b""),
        (Policy(foreign="speaks"), b"\xa1", b"HTTP"),
    ],
)
def test_another_protocol_is_answered_by_policy(policy: Policy, number: bytes, answer: bytes) -> None:
    connection = Peer(policy).connect(0.0)
    connection.receive(number + b"\x01")
    octets = connection.take()
    assert answer in octets if answer else octets == b""
    assert connection.closed == "fin"


def test_limits_are_told_to_some_and_not_to_others() -> None:
    peer = Peer()
    told = [peer.use(each) for each in ("unlimited-user", "idle-timeout")]
    tunes = []
    for each in told:
        connection = begun(peer=peer)
        good = GOOD.replace(responses={"LOGIN": each["user"], "PASSWORD": each["password"]})
        (tune,) = said(connection, good)
        assert isinstance(tune, Connection.Tune)
        tunes.append(tune.options)
    assert tunes[0]["CHANNEL_MAX"] == tunes[0]["HANDLE_MAX"] == 0
    assert "TXN_LIMIT" not in tunes[0]
    assert tunes[1]["HEARTBEAT"] > 0


def test_an_oversized_tune_is_refused() -> None:
    large = Connection.Tune({}, {"FILL": bytes(4096)})
    (close,) = said(tuned(), large)
    assert isinstance(close, Connection.Close)


@pytest.mark.parametrize(
    ("policy", "opening", "answer"),
    [
        (Policy(), Connection.Open(1, "/", "a", [("1st", 1)]), Connection.Close),
        (Policy(field_names="ignored"), Connection.Open(1, "/", "a", [("1st", 1)]), Connection.Reply),
        (Policy(), Connection.Open(1, "/", "a", {"NEW": 1}), Connection.Reply),
        (Policy(options="refused"), Connection.Open(1, "/", "a", {"NEW": 1}), Connection.Close),
        (Policy(), Connection.Open(1, "/nowhere", "a"), Connection.Close),
        (Policy(unknown_path="replies"), Connection.Open(1, "/nowhere", "a"), Connection.Reply),
        (Policy(unknown_path="serves"), Connection.Open(1, "/nowhere", "a"), Connection.Reply),
    ],
)
def test_open_is_answered_by_policy(policy: Policy, opening: Connection.Open, answer: type[Command]) -> None:
    assert isinstance(said(tuned(policy), opening)[0], answer)


def test_what_is_refused_as_not_implemented_says_so() -> None:
    (close,) = said(tuned(Policy(options="refused")), Connection.Open(1, "/", "a", {"NEW": 1}))
    assert isinstance(close, Connection.Close)
    assert close.reply_code == NOT_IMPLEMENTED


@pytest.mark.parametrize("active", ["refuses the new", "drops the old"])
def test_a_client_is_there_once(active: str) -> None:
    peer = Peer(Policy(active_client=active))  # type: ignore[arg-type]
    first, second = tuned(peer=peer), tuned(peer=peer)
    assert said(first, Connection.Open(1, "/", "a")) == [Connection.Reply(1, OK, b"Ok")]
    answer = said(second, Connection.Open(1, "/", "a"))[0]
    dropped = said(first)
    assert isinstance(answer, Connection.Close) is (active == "refuses the new")
    assert bool(dropped) is (active == "drops the old")
    first.hang_up()
    second.hang_up()
    assert peer.active == {}


@pytest.mark.parametrize(("silence", "says"), [("waits", 0), ("asks", 1), ("closes", 1)])
def test_silence_is_met_by_policy(silence: str, says: int) -> None:
    peer = Peer(Policy(silence=silence, heartbeat=2))  # type: ignore[arg-type]
    connection = tuned(peer=peer)
    said(connection, Connection.Open(1, "/", "a"))
    connection.tick(0.0)
    connection.tick(5.0)
    assert len(said(connection)) == says
