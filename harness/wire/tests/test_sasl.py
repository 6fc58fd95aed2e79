"""SASL: what each mechanism says, to servers that want it at once and to those that ask first."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import pytest

from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.peer import Peer, Policy
from harness.amqp0_9_1.peer.tests.dialogue import Client, peer
from harness.amqp0_9_1.wire.field_tables import encode_table
from harness.amqp0_9_1.wire.frames import PROTOCOL_HEADER
from harness.amqp0_9_1.wire.vocabulary import Connection
from harness.dialect import dialect
from harness.play.context import Context
from harness.targets.embedded import EmbeddedTarget
from harness.targets.named import target
from harness.targets.target import Endpoint, TargetError
from harness.wire.journal import Event, Octets
from harness.wire.sasl import MECHANISMS, UnknownMechanism, mechanism
from harness.wire.tls import Security
from harness.wire.transport import MemoryTransport, Unreachable, VirtualClock

ALL = tuple(MECHANISMS)
Dialect = Literal["initial response", "secure"]
DIALECTS: tuple[Dialect, ...] = ("initial response", "secure")
both_dialects = pytest.mark.parametrize("sasl", DIALECTS)
every_mechanism = pytest.mark.parametrize("name", ALL)


def offering(sasl: Dialect = "initial response") -> Policy:
    return replace(Policy(), mechanisms=ALL, sasl=sasl)


class Kept:
    """A journal that keeps everything."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def write(self, event: Event) -> None:
        self.events.append(event)


def broker(server: Peer, endpoint: Endpoint, journal: Kept) -> Broker:
    clock = VirtualClock()
    return Broker(lambda: MemoryTransport(server, clock), endpoint, Context(journal, "sasl"), "0-9-1")


# -- what is said --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "response"),
    [
        ("PLAIN", b"\0ann\0w\xc3\xb6rd"),
        ("AMQPLAIN", b"\x05LOGINS\0\0\0\x03ann\x08PASSWORDS\0\0\0\x05w\xc3\xb6rd"),
        ("ANONYMOUS", b"amqp-conformance"),
        ("EXTERNAL", b""),
        ("RABBIT-CR-DEMO", b"ann"),
    ],
)
def test_every_mechanism_says_its_piece(name: str, response: bytes) -> None:
    assert mechanism(name).response("ann", "wörd") == response


def test_amqplain_is_a_field_table_without_its_length() -> None:
    said = mechanism("AMQPLAIN").response("ann", "word")
    assert len(said).to_bytes(4) + said == encode_table({"LOGIN": "ann", "PASSWORD": "word"})


def test_an_unknown_mechanism_gets_a_sentence() -> None:
    sentence = (
        "no SASL mechanism 'plain' here; known are PLAIN, AMQPLAIN, ANONYMOUS, EXTERNAL, RABBIT-CR-DEMO"
    )
    with pytest.raises(UnknownMechanism, match=sentence):
        mechanism("plain")
    with pytest.raises(TargetError, match=sentence):
        target("embedded", Security(mechanism="plain"))


# -- to a server ---------------------------------------------------------------------------------------


@every_mechanism
@both_dialects
def test_every_mechanism_logs_in(name: str, sasl: Dialect) -> None:
    one = EmbeddedTarget(policy=offering(sasl))
    one.secure(Security(mechanism=name))
    assert dialect("0-9-1").speaker.probe(one).product


@pytest.mark.parametrize("name", ["PLAIN", "AMQPLAIN", "RABBIT-CR-DEMO"])
@both_dialects
def test_a_wrong_password_does_not(name: str, sasl: Dialect) -> None:
    class Mistaken(EmbeddedTarget):
        def endpoint(self) -> Endpoint:
            return replace(super().endpoint(), password="wrong")

    one = Mistaken(policy=offering(sasl))
    one.secure(Security(mechanism=name))
    with pytest.raises(Unreachable, match="socket closed"):
        dialect("0-9-1").speaker.probe(one)


def test_what_is_not_offered_is_not_tried() -> None:
    one = EmbeddedTarget()
    one.secure(Security(mechanism="EXTERNAL"))
    with pytest.raises(Unreachable, match="embedded does not offer the SASL mechanism EXTERNAL, only PLAIN"):
        dialect("0-9-1").speaker.probe(one)


@pytest.mark.parametrize(
    ("name", "user"),
    [("PLAIN", "ann"), ("AMQPLAIN", "ann"), ("ANONYMOUS", "anonymous"), ("EXTERNAL", "guest")],
)
@both_dialects
def test_the_peer_knows_who_has_logged_in(name: str, user: str, sasl: Dialect) -> None:
    server = Peer(offering(sasl), users={"ann": "word"})
    client = broker(server, Endpoint("memory", 0, "ann", "word", mechanism=name), Kept())
    client.connection()
    (connection,) = server._connections
    assert connection.user == user


@pytest.mark.parametrize(
    ("name", "response"),
    [
        ("AMQPLAIN", b"\x05LOGIN"),
        ("AMQPLAIN", b"\x05LOGINS\0\0\0\x05guest"),
        ("AMQPLAIN", b"\x05LOGINI\0\0\0\x05\x08PASSWORDS\0\0\0\x05guest"),
        ("AMQPLAIN", b"\0guest\0guest"),
        ("PLAIN", b"guest"),
        ("PLAIN", b"\0nobody\0guest"),
        ("EXTERNAL", b"ann"),
    ],
)
def test_the_peer_refuses_what_names_nobody(name: str, response: bytes) -> None:
    given = Connection.StartOk({}, name, response, "en_US")
    client = Client(peer(mechanisms=ALL), opened=False)
    client.send(PROTOCOL_HEADER, given)
    assert client.peer.closed == "fin"


def test_another_user_of_a_scenario_logs_in_by_password() -> None:
    server = Peer(offering(), users={"ann": "word"})
    one = broker(server, Endpoint("memory", 0, mechanism="EXTERNAL"), Kept())
    assert one.socket().endpoint.mechanism == "EXTERNAL"
    assert one.connection(user="ann", password="word").endpoint.mechanism == "PLAIN"
    by_password = broker(server, Endpoint("memory", 0, mechanism="AMQPLAIN"), Kept())
    assert by_password.connection(user="ann", password="word").endpoint.mechanism == "AMQPLAIN"


# -- in the evidence -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["PLAIN", "AMQPLAIN", "RABBIT-CR-DEMO"])
@both_dialects
def test_credentials_stay_out_of_the_evidence(name: str, sasl: Dialect) -> None:
    journal = Kept()
    server = Peer(offering(sasl), users={"annabel": "se-cret"})
    broker(server, Endpoint("memory", 0, "annabel", "se-cret", mechanism=name), journal).connection()
    said = [event for event in journal.events if isinstance(event, Octets)]
    response = mechanism(name).response("annabel", "se-cret")
    assert any(b"*" * len(response) in event.octets for event in said)
    for event in said:
        assert b"se-cret" not in event.octets
        assert b"annabel" not in event.octets
        assert "se-cret" not in event.says
