"""3.5.12 HANDLE PREPARE, 3.5.13 HANDLE READY: what servers prepare, and send when it is answered."""

from hashlib import sha1
from typing import Any

from harness.amqp_fast.broken.deviations import carries, hears, ignores, replaces, rewrites, withholds
from harness.amqp_fast.client.channel import FastHandle
from harness.amqp_fast.client.outcomes import Received, answered
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.wire.vocabulary import NOT_IMPLEMENTED, Connection, Handle, MessageHead
from scenarios.amqp_fast.channels.preparing import downloads
from scenarios.amqp_fast.channels.s3_3_2_2_prepared_by_servers import BODY, FREE, NEVER, consumer
from scenarios.registry import broken_by, scenario

HEAD: dict[str, Any] = {"priority": 4, "identifier": b"prepared", "mime_type": b"text/plain"}
HELD = 1000
"""Octets of a body that we say we have."""


def prepared(server: Server, handle: FastHandle) -> Received:
    """Judge that a message comes, and give HANDLE PREPARE with what it carries. Raises Inapplicable."""
    seen: Received = handle.observe(Handle.Prepare, answered(Handle.Notify).recorded(FREE))
    if not isinstance(seen.command, Handle.Prepare):
        server.inapplicable(NEVER)
    return seen


def comes_with(server: Server, held: int) -> None:
    """Judge that the body from there on comes behind HANDLE READY, told to be the rest."""
    handle = consumer(server, server.queue(BODY, **HEAD), restartable=True)
    seen = downloads(handle, Handle.Prepare, answered(Handle.Notify).recorded(FREE), has=held)
    first, *rest = seen.parts
    if not isinstance(first, Handle.Prepare):
        server.inapplicable(NEVER)
    octets = sum(each.fragment_size for each in rest)
    server.judge("just the rest", "more or less", octets == len(BODY) - held)
    same = all(getattr(seen.head, name, None) == value for name, value in HEAD.items())
    server.judge("the message", "another message", seen.body == BODY and same)
    server.judge("recovery set", "recovery not set", all(each.recovery for each in rest))


def with_header(octets: bytes) -> bytes:
    """Puts a header before the rest."""
    return MessageHead(len(BODY), **HEAD).encode() + octets


@scenario("fast/3.5.10.rest-after-ready")
@broken_by("sends everything again", hears(Handle.Ready, message_size=0))
@broken_by("skips an octet", hears(Handle.Ready, message_size=lambda size: size + 1))
@broken_by("does not say that it is the rest", rewrites(Handle.Notify, recovery=False))
@broken_by("sends nothing", ignores(Handle.Ready))
def what_is_missing_follows(server: Server) -> None:
    """When we have a thousand octets of a body HANDLE NOTIFY carries what is behind them."""
    comes_with(server, HELD)


@scenario("fast/3.5.10.header-in-prepare")
@scenario("fast/3.5.13.zero-is-borne")
@scenario("fast/3.5.16.ready-answered")
@broken_by("sends the header again", carries(Handle.Notify, with_header))
@broken_by("prepares no header", carries(Handle.Prepare, lambda octets: octets[40:]))
@broken_by("takes zero for all", hears(Handle.Ready, message_size=4000))
@broken_by("sends nothing", ignores(Handle.Ready))
@broken_by("answers by HANDLE SEND", replaces(Handle.Notify, lambda it: Handle.Send(it.handle_id)))
@broken_by("does not say that it is the rest", rewrites(Handle.Notify, recovery=False))
def whole_body_follows_where_nothing_is_held(server: Server) -> None:
    """When we have nothing HANDLE NOTIFY carries the whole body, and no header, which PREPARE had."""
    comes_with(server, 0)


@scenario("fast/3.5.12.server-may-prepare")
@broken_by("closes the connection", replaces(Handle.Prepare, Connection.Close(NOT_IMPLEMENTED)))
@broken_by("says nothing", withholds(Handle.Prepare))
@broken_by("sends nothing behind it", withholds(Handle.Notify))
def server_may_prepare(server: Server) -> None:
    """On a restartable channel a message of several fragments comes whole, prepared or not."""
    handle = consumer(server, server.queue(BODY), restartable=True)
    seen = downloads(handle, answered(Handle.Prepare, Handle.Notify))
    server.judge("the message", "another message", seen.body == BODY)
    first = isinstance(seen.parts[0], Handle.Prepare)
    server.note("the server prepares large messages" if first else "the server prepares no message")


@scenario("fast/3.5.12.server-prepares-with-header")
@broken_by("prepares no header", carries(Handle.Prepare, lambda octets: octets[40:]))
@broken_by("cuts the header", carries(Handle.Prepare, lambda octets: octets[:9]))
@broken_by("prepares nothing of it", carries(Handle.Prepare, lambda _: b""))
@broken_by("loses a field", carries(Handle.Prepare, lambda it: MessageHead(len(BODY)).encode() + it[40:]))
def server_prepares_with_a_header(server: Server) -> None:
    """HANDLE PREPARE of the server carries the header of the message, as it was sent."""
    seen = prepared(server, consumer(server, server.queue(BODY, **HEAD), restartable=True))
    told = {name: getattr(seen.head, name, None) for name in HEAD}
    server.judge("the header that was sent", "another one, or none", told == HEAD)


@scenario("fast/3.5.12.hash-is-of-the-message")
@broken_by("tells a hash of nothing", rewrites(Handle.Prepare, content_hash=sha1(b"").hexdigest()))
@broken_by("tells octets", rewrites(Handle.Prepare, content_hash=sha1(BODY).digest().replace(b"\0", b"1")))
@broken_by("tells half of it", rewrites(Handle.Prepare, content_hash=lambda told: told[:20]))
@broken_by("hashes all", rewrites(Handle.Prepare, content_hash=sha1(with_header(BODY)).hexdigest()))
def hash_is_that_of_the_body(server: Server) -> None:
    """content-hash of the server's HANDLE PREPARE is empty, or the SHA1 of the body."""
    told = prepared(server, consumer(server, server.queue(BODY), restartable=True)).command.content_hash
    right = told.lower() in (b"", sha1(BODY).hexdigest().encode())
    server.judge("no hash, or the SHA1 of the body", "another one", right)


def waits_for_an_answer(server: Server) -> None:
    """Judge that a server prepares one message, and another one only when we have answered. Raises Unmet."""
    handle = consumer(server, server.queue(BODY, BODY), restartable=True)
    for _ in range(2):
        if isinstance(handle.observe(answered(Handle.Prepare, Handle.Notify)).command, Handle.Prepare):
            handle.stays_quiet()
            handle.send(Handle.Ready(handle.id, 0))
            handle.expect(Handle.Notify)
