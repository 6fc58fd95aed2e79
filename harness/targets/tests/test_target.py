"""Targets by name: URLs read strictly, the known ones listed, errors of one sentence without a password."""

import pickle
from dataclasses import replace
from typing import cast

import pytest

from harness.targets import brokers_required
from harness.targets.brokers_required import REQUIRED, absence, pytest_runtest_setup
from harness.targets.client.described import clients
from harness.targets.named import known_targets, target
from harness.targets.target import Endpoint, Known, TargetError, endpoint_of


@pytest.mark.parametrize(
    ("url", "endpoint"),
    [
        ("amqp://localhost", Endpoint("localhost", 5672, "guest", "guest", "/")),
        ("amqp://localhost/", Endpoint("localhost", 5672, "guest", "guest", "/")),
        ("amqp://localhost/%2F", Endpoint("localhost", 5672, "guest", "guest", "/")),
        ("amqps://localhost", Endpoint("localhost", 5671, "guest", "guest", "/", tls=True)),
        ("amqp://ann:word@broker:1234/test", Endpoint("broker", 1234, "ann", "word", "test")),
        ("amqp://ann:@broker", Endpoint("broker", 5672, "ann", "", "/")),
        ("amqp://a%40n:w%3A%2Fd@broker/v%2Fh", Endpoint("broker", 5672, "a@n", "w:/d", "v/h")),
        ("amqp://broker/caf%C3%A9", Endpoint("broker", 5672, "guest", "guest", "café")),
        ("amqp://[::1]:99/x", Endpoint("::1", 99, "guest", "guest", "x")),
    ],
)
def test_a_url_is_read_and_written_back(url: str, endpoint: Endpoint) -> None:
    assert endpoint_of(url) == endpoint
    assert endpoint_of(endpoint.url(with_password=True)) == endpoint


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://broker", "scheme 'http'"),
        ("amqp://", "names no host"),
        ("amqp:///vhost", "names no host"),
        ("amqp://[::1", "malformed host"),
        ("amqp://broker:port", "port"),
        ("amqp://broker:", "port"),
        ("amqp://broker:0", "port"),
        ("amqp://broker:65536", "port"),
        ("amqp://broker/one/two", "more than one path segment"),
        ("amqp://broker//", "more than one path segment"),
        ("amqp://broker/x?heartbeat=1", "query or fragment"),
        ("amqp://broker/x#y", "query or fragment"),
        ("amqp://bro ker", "white space"),
        ("amqp://broker/x\n", "white space"),
        ("amqp://broker/100%", "two hexadecimal digits"),
        ("amqp://broker/%FF", "not UTF-8"),
    ],
)
def test_a_malformed_url_gets_a_sentence(url: str, reason: str) -> None:
    with pytest.raises(TargetError, match=reason) as raised:
        target(url)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "url", ["amqp://ann:sec/ret@broker", "amqp://ann:secret@broker:port", "x://a:secret@b"]
)
def test_no_error_quotes_a_password(url: str) -> None:
    with pytest.raises(TargetError) as raised:
        target(url)
    assert "sec" not in str(raised.value)


def test_the_password_is_not_shown() -> None:
    one = target("amqp://ann:secret@broker/test")
    shown = f"{one.name} {one.describe()} {one.endpoint()!r} {one.endpoint().url()}"
    assert "secret" not in shown
    assert "secret" in one.endpoint().url(with_password=True)


def test_an_endpoint_travels_to_another_process() -> None:
    endpoint = Endpoint("broker", 1, "ann", "secret", "/")
    assert pickle.loads(pickle.dumps(endpoint)) == endpoint


def test_a_broker_given_by_url_is_shared_and_offers_nothing() -> None:
    one = target("amqp://broker")
    assert one.shared
    assert not one.facilities
    with pytest.raises(TargetError, match="no facility 'restart'"):
        one.use("restart")


@pytest.mark.parametrize("name", ["nonsense", "nonsense:x", "", "amqp"])
def test_an_unknown_target_is_answered_with_the_known_ones(name: str) -> None:
    with pytest.raises(TargetError, match="process:rabbitmq"):
        target(name)


def test_an_unknown_process_is_answered_with_the_described_ones() -> None:
    with pytest.raises(TargetError, match="described are activemq, artemis, broker-j, garagemq, garagemq-0"):
        target("process:nonsense")


def test_the_described_brokers_are_known() -> None:
    known = {each.name: each for each in known_targets()}
    assert {"process:rabbitmq", "process:garagemq"} <= known.keys()
    assert all(each.about and each.starts_here == (not each.why) for each in known.values())


class MarkedItem:
    """As much of a test item as the hook looks at."""

    def iter_markers(self, name: str) -> list[pytest.Mark]:
        assert name == "broker"
        return [pytest.Mark("broker", ("absent",), {}, _ispytest=True)]


@pytest.fixture
def absent_broker(monkeypatch: pytest.MonkeyPatch) -> MarkedItem:
    missing = Known("process:absent", False, "nothing there", "about")
    monkeypatch.setattr(brokers_required, "known_targets", lambda: (missing,))
    monkeypatch.delenv(REQUIRED, raising=False)
    return MarkedItem()


def test_a_missing_broker_skips(absent_broker: MarkedItem) -> None:
    with pytest.raises(pytest.skip.Exception, match="nothing there"):
        pytest_runtest_setup(cast("pytest.Item", absent_broker))


def test_a_missing_broker_fails_where_brokers_are_required(
    absent_broker: MarkedItem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(REQUIRED, "1")
    with pytest.raises(pytest.fail.Exception, match="nothing there"):
        pytest_runtest_setup(cast("pytest.Item", absent_broker))


def test_a_marker_with_an_unknown_name_never_skips(absent_broker: MarkedItem) -> None:
    with pytest.raises(LookupError, match="broker\\('nonsense'\\)"):
        absence("nonsense")


def test_a_library_that_is_not_there_is_to_be_installed_beside_the_suite() -> None:
    told = replace(clients()["pika"], modules=("no_such_library",))
    assert told.missing() == (
        "no_such_library is not installed beside the suite (pipx inject amqp-conformance no_such_library)"
    )
