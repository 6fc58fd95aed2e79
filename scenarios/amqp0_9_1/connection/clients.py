"""What the rules of the class Connection ask of clients: mechanisms, limits, and what they report."""

from typing import Any

from harness.amqp0_9_1.broken.deviations import ends_with, forwards, rewrites, spoils
from harness.amqp0_9_1.broken.frame_faults import START
from harness.amqp0_9_1.broken.provocations import hangs_up
from harness.amqp0_9_1.client.outcomes import Observation, Received, closed_silently, connection_closed
from harness.amqp0_9_1.server.client import Client
from harness.amqp0_9_1.wire.frames import FRAME_MIN_SIZE, Frame, method_frame
from harness.amqp0_9_1.wire.vocabulary import Connection
from harness.play.expect import Outcome
from harness.play.reports import Reports
from harness.targets.client.ears import Ears, deaf_to_the_end
from scenarios.amqp0_9_1.provoked import connects, lost_in_use
from scenarios.registry import broken_by, scenario
from spec.rules import Role


@scenario("0-9-1/connection.start-ok.mechanism.security", role=Role.CLIENT)
@broken_by("does not care", forwards(Connection.StartOk, mechanism="ANONYMOUS"), Role.CLIENT)
def client_prefers_its_password_to_none(client: Client) -> None:
    """ANONYMOUS and PLAIN are offered, in both orders: a client that has a password logs in by it."""
    for offered in (b"ANONYMOUS PLAIN", b"PLAIN ANONYMOUS"):
        connection = client.connecting(rewrites(Connection.Start, mechanisms=offered))
        seen = connection.expect(Connection.StartOk)
        assert isinstance(seen, Received)
        client.judge("a log-in by name", "ANONYMOUS", seen.method.mechanism != "ANONYMOUS")


def filled_up(frame: Frame) -> Frame:
    """Give Start with a property more, so that it fills a frame of frame-min-size."""
    start: Any = frame.method()
    told = {**start.server_properties, "filler": ""}
    missing = FRAME_MIN_SIZE - len(method_frame(0, start.replace(server_properties=told)).encode())
    told["filler"] = missing * "x"
    return method_frame(0, start.replace(server_properties=told))


@scenario("0-9-1/connection.tune.frame-max.minimum", role=Role.CLIENT)
@broken_by("has no room", Ears(lambda octets: octets if len(octets) < FRAME_MIN_SIZE else b""), Role.CLIENT)
def client_takes_a_start_of_frame_min_size(client: Client) -> None:
    """Start fills a frame of 4096 octets: the client connects all the same."""
    client.connection()
    connects(client, spoils(START, filled_up))


def not_below(seen: Observation) -> bool:
    return (
        isinstance(seen, Received)
        and isinstance(seen.method, Connection.TuneOk)
        and (seen.method.frame_max == 0 or seen.method.frame_max >= FRAME_MIN_SIZE)
    )


AGREES_TO_NO_LESS = Outcome("connection.tune-ok with a frame-max of 0, or of 4096 and more", not_below)


@scenario("0-9-1/connection.tune-ok.frame-max.minimum", role=Role.CLIENT)
@broken_by(
    "agrees to less",
    rewrites(Connection.Tune, frame_max=FRAME_MIN_SIZE) + forwards(Connection.TuneOk, frame_max=1024),
    Role.CLIENT,
)
def client_agrees_to_no_less_than_frame_min_size(client: Client) -> None:
    """Tune proposes 4096 octets, and the client connects; it proposes 1024, which cannot be negotiated."""
    connects(client, rewrites(Connection.Tune, frame_max=FRAME_MIN_SIZE))
    connection = client.connecting(rewrites(Connection.Tune, frame_max=1024))
    connection.came(Connection.StartOk)
    raised = AGREES_TO_NO_LESS.under("the rule names no reaction: less is not negotiated")
    told = connection_closed().under("the rule names no reaction; 2.2.4 wants none to be said before Open")
    connection.expect(closed_silently(), raised, told)


# -- what is reported ----------------------------------------------------------------------------------


def reports_beside_a_close(client: Client) -> Reports:
    """Give what reports count, once the client has closed a connection by the hand-shake: that is usual."""
    reports = Reports(client, client.connection())
    orderly = client.connection()
    reports.usual(orderly, orderly.closes())
    return reports


@scenario("0-9-1/connection.close-ok.reporting", role=Role.CLIENT)
@broken_by("does not see that the socket has ended", deaf_to_the_end(), Role.CLIENT)
def client_reports_a_socket_lost_in_use(client: Client) -> None:
    """Of a socket that just ends more is told, or logged, than of a connection closed by the hand-shake."""
    reports = reports_beside_a_close(client)
    lost, told = lost_in_use(client)
    reports.gains("a socket in use that ended", lost, told)


@scenario("0-9-1/connection.close-ok.reporting", role=Role.CLIENT)
@broken_by("takes the end for Close-Ok", ends_with(Connection.CloseOk()), Role.CLIENT)
def client_reports_a_socket_lost_amid_close(client: Client) -> None:
    """The client's Close is answered; of a socket that ends instead more is told, or logged."""
    reports = reports_beside_a_close(client)
    lost = client.connection(hangs_up(Connection.CloseOk))
    reports.gains("a socket that ended in place of Close-Ok", lost, lost.closes())
