"""AMQP 1.0 as a dialect: probes, targets that speak something else, fakes, and whose facilities are whose."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from harness.amqp1_0.broken.deviations import ends_stream, offers_header, precedes, rewrites, withholds
from harness.amqp1_0.client.container import Container
from harness.amqp1_0.client.outcomes import begun, closed, silence, stream_ended
from harness.amqp1_0.client.session import the_begin
from harness.amqp1_0.client.tests.test_container import DIALECT, container
from harness.amqp1_0.peer import Policy
from harness.amqp1_0.wire.performatives import Begin, Close, Open, SaslMechanisms, SaslOutcome
from harness.dialect import dialect
from harness.play.context import Context
from harness.play.expect import ControlFailed
from harness.targets.embedded import EmbeddedTarget
from harness.targets.target import Endpoint
from harness.wire.transport import End as StreamEnd
from harness.wire.transport import NotSpoken, Unreachable


def test_the_probe_tells_what_the_open_says() -> None:
    told = DIALECT.speaker.probe(EmbeddedTarget())
    assert (told.product, told.properties["container-id"]) == (
        "AMQP conformance reference peer", "amqp-conformance-peer",
    )  # fmt: skip
    assert told.properties["idle-time-out"] == 5000


def test_a_target_with_one_channel_is_probed_as_well() -> None:
    told = DIALECT.speaker.probe(EmbeddedTarget(rewrites(Open, channel_max=0)))
    assert told.properties["channel-max"] == 0
    assert told.round_trip >= 0


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (rewrites(SaslOutcome, code=1), "sasl-outcome auth; are user and password right?"),
        (
            rewrites(SaslMechanisms, sasl_server_mechanisms="X"),
            "does not offer the SASL mechanism PLAIN, only X",
        ),
        (ends_stream(Open), "open was answered by stream ended"),
    ],
)
def test_a_target_that_cannot_be_opened_gets_one_sentence(change: object, says: str) -> None:
    with pytest.raises(Unreachable, match=says) as refused_:
        DIALECT.speaker.probe(EmbeddedTarget(change))
    assert not isinstance(refused_.value, NotSpoken)


@pytest.mark.parametrize(
    ("change", "rule", "says"),
    [
        (withholds(Open), "1-0/2.4.1.open-answered", "open was answered by silence"),
        (withholds(Begin), "1-0/2.2.supported-version-proceeds", "begin was answered by silence"),
        (precedes(Open, Close()), "1-0/2.4.1.open-first", "a close before the open"),
    ],
)
def test_who_gets_no_further_is_judged_up_to_there(change: object, rule: str, says: str) -> None:
    barrier = DIALECT.speaker.probe(EmbeddedTarget(change)).barrier
    assert barrier is not None
    assert barrier.rule == rule
    assert says in barrier.what
    DIALECT.speaker.serves(EmbeddedTarget(change), barrier=barrier)


def test_who_lists_no_mechanism_is_spoken_to_all_the_same() -> None:
    assert (
        DIALECT.speaker.probe(EmbeddedTarget(rewrites(SaslMechanisms, sasl_server_mechanisms=()))).barrier
        is None
    )


def test_two_probes_never_go_by_one_name(monkeypatch: pytest.MonkeyPatch) -> None:
    names: list[str] = []

    def named(connect: Any, endpoint: Endpoint, context: Context, *more: Any) -> Container:
        names.append(context.prefix)
        return Container(connect, endpoint, context, *more)

    monkeypatch.setattr("harness.amqp1_0.dialect.Container", named)
    DIALECT.speaker.probe(EmbeddedTarget())
    DIALECT.speaker.probe(EmbeddedTarget())
    assert len(set(names)) == 2


@pytest.mark.parametrize("other", [b"AMQP\0\0\x09\x01", b"AMQP\1\1\0\x0a", b"AMQP\0\2\0\0"])
def test_a_target_of_another_protocol_is_told_from_a_broken_one(other: bytes) -> None:
    with pytest.raises(NotSpoken, match="protocol header AMQP"):
        DIALECT.speaker.probe(EmbeddedTarget(offers_header(other)))


def test_a_target_that_speaks_another_protocol_is_not_spoken_to_in_0_9_1_either() -> None:
    class Other(EmbeddedTarget):
        def connect(self, document: str) -> Any:
            return super().connect("1-0")

    with pytest.raises(NotSpoken, match="protocol header 1-0-0"):
        dialect("0-9-1").speaker.probe(Other())


def test_a_target_is_asked_for_sasl_once() -> None:
    target = EmbeddedTarget(policy=replace(Policy(), layers="bare"))
    DIALECT.speaker.probe(target)
    with container(target=target) as (fixture, _):
        assert fixture.layers.sasl is False
        assert fixture.connection().heard()[0] == "protocol header AMQP 0 1-0-0"


@pytest.mark.parametrize("name", sorted(DIALECT.proof.fakes))
def test_a_fake_knows_no_rule(name: str) -> None:
    with container(DIALECT.proof.fakes[name]) as (fixture, _):
        if name in ("echoes", "is silent"):
            with pytest.raises(ControlFailed):
                fixture.connection()
            return
        connection = fixture.connection()
        connection.send(the_begin(), channel=3)
        agrees = name == "agrees to everything"
        connection.expect(begun(3) if agrees else closed())
        connection.expect(silence() if agrees else stream_ended())
    assert connection.link.ended is (StreamEnd.FIN if not agrees else connection.link.ended)


def test_facilities_of_one_protocol_mean_nothing_to_the_other() -> None:
    target = EmbeddedTarget()
    assert target.use("second-vhost")
    assert set(target.use("restricted-user")) == {"user", "password"}
    target.use("restart")
