"""2.2 and 2.4 Connections, of clients: who speaks first, closing, and being redirected."""

from dataclasses import replace
from typing import Final

from harness.amqp1_0.broken.deviations import (
    ends_stream,
    follows,
    ignores,
    of_client,
    offers_header,
    withholds,
)
from harness.amqp1_0.client.outcomes import (
    HeaderReceived,
    closed,
    closed_without_error,
    signature,
    stream_ended,
)
from harness.amqp1_0.server.client import Client
from harness.amqp1_0.server.leniency import LENIENT
from harness.amqp1_0.wire.frames import PROTOCOL_HEADER
from harness.amqp1_0.wire.performatives import AmqpError, Close, ConnectionError_, Error, Open
from harness.play.link import EVERYWHERE
from scenarios.amqp1_0.connections.s2_2_version_negotiation import EMPTY_FIRST
from scenarios.amqp1_0.talk import TALK, talk
from scenarios.registry import broken_by, scenario
from spec.rules import Role

OURS = Error(AmqpError.INTERNAL_ERROR, "the client closes because of an error")
AN_ERROR = "the answer may have an error of its own"
LEFT_OPEN: Final = replace(LENIENT, socket_close="left to the client")
"""A server that leaves its socket open behind the closes."""


@scenario("1-0/2.2.client-header-at-once", role=Role.CLIENT)
@broken_by("waits for the server's", of_client(offers_header(b"")), Role.CLIENT)
@broken_by("sends a frame before it", of_client(offers_header(EMPTY_FIRST)), Role.CLIENT)
def a_client_sends_its_header_unasked(client: Client) -> None:
    """To a server that says nothing before it has a header, the client's comes, and nothing before it."""
    served = client.server()
    refused, on = client.tries_to_connect(served)
    first = client.at(served, on, refused).link.next(EVERYWHERE, client.context.patience.answer)
    client.judge("the client's header", signature(first), isinstance(first, HeaderReceived))


@scenario(TALK, role=Role.CLIENT)
@broken_by("ends the stream without a close", of_client(ends_stream(Close)), Role.CLIENT)
def a_client_closes_before_it_ends_the_stream(client: Client) -> None:
    """A client that has talked and is told to close sends a close, and ends the stream behind it."""
    connection = talk(client)
    connection.closes()
    connection.expect(closed_without_error(), closed().recorded("2.7.9 lets every close carry an error"))
    connection.expect(stream_ended())


@scenario("1-0/2.4.3.close-answered", role=Role.CLIENT)
@broken_by("does not answer", ignores(Close), Role.CLIENT)
@broken_by("ends the stream without a close", of_client(ends_stream(Close)), Role.CLIENT)
def a_client_answers_a_close(client: Client) -> None:
    """A close of the server's, without and with an error, is answered by a close."""
    for condition in ("", AmqpError.INTERNAL_ERROR):
        connection = client.connection()
        connection.session().sender()
        connection.hear_out()
        connection.server_closes(condition)
        connection.expect(closed_without_error(), closed().recorded(AN_ERROR))


@scenario("1-0/2.4.3.socket-not-reused", role=Role.CLIENT)
@broken_by("begins anew", of_client(follows(Close, PROTOCOL_HEADER)), Role.CLIENT)
@broken_by("opens it again", of_client(follows(Close, Open("again"))), Role.CLIENT)
def a_client_begins_nothing_behind_the_closes(client: Client) -> None:
    """On a socket that the server leaves open nothing begins behind the closes, whoever closes first."""
    for who in ("client", "server"):
        served = client.server(policy=LEFT_OPEN)
        refused, on = client.tries_to_connect(served)
        connection = client.at(served, on, refused)
        if who == "client":
            connection.closes()
        else:
            connection.server_closes()
        connection.came(Close)
        client.tries_to_connect(served)
        connection.sends_no(HeaderReceived, Open)


@scenario("1-0/2.8.16.redirect-followed", role=Role.CLIENT)
@broken_by("is not told", withholds(Close), Role.CLIENT)
def a_client_follows_a_redirect(client: Client) -> None:
    """A close with a redirect is followed to where it leads, or its condition is told to the application."""
    elsewhere = client.server()
    host, port = elsewhere.place
    info = {"hostname": "elsewhere", "network-host": host, "port": port}
    redirect = Close(Error(ConnectionError_.REDIRECT, "go there", info))
    connection = client.connecting(follows(Open, redirect))
    followed = client.came_to(elsewhere)
    if followed:
        client.judge("the redirect is followed", "", followed)
    else:
        connection.tells_end("connection", ConnectionError_.REDIRECT, connection.refused)
