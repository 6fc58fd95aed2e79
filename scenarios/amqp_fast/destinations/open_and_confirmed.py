"""What is the same for each command of a handle: that the handle must be open, and that it is confirmed.

3.5.2 to 3.5.8, and the table in 3.5.16.
"""

from typing import Any

from harness.amqp_fast.broken.deviations import Fault, Interposer, adds, answers, rewrites, withholds
from harness.amqp_fast.client.outcomes import replied
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.wire.commands import Command
from harness.amqp_fast.wire.vocabulary import OK, Channel, Connection, Handle
from scenarios.amqp_fast.destinations.common import (
    BROWSE,
    CONSUME,
    FLOW,
    QUERY,
    REFUSED,
    SEND,
    UNGET,
    Use,
    done,
    prepared,
    tagged,
)
from scenarios.registry import broken_by, scenario, scenarios_for

ELSEWHERE = {"3.5.3": SEND, "3.5.4": CONSUME, "3.5.5": FLOW, "3.5.6": UNGET, "3.5.7": QUERY, "3.5.8": BROWSE}
CONFIRMED = {
    "3.5.3.confirmed": SEND,
    "3.5.4.confirmed": CONSUME,
    "3.5.5.confirmed": FLOW,
    "3.5.6.confirmed": UNGET,
    "3.5.16.send-confirmed": SEND,
    "3.5.16.consume-confirmed": CONSUME,
    "3.5.16.flow-confirmed": FLOW,
    "3.5.16.unget-confirmed": UNGET,
}


ROWS: dict[type[Command], str] = {
    Handle.Send: "handle send: is done",
    Handle.Consume: "handle consume: is done",
    Handle.Flow: "handle flow: is obeyed",
    Handle.Unget: "handle unget: is done",
}
"""The row that confirms a command, in the reference peer."""
TAG = 7001


def _is_it(reply: Any) -> bool:
    return bool(reply.confirm_tag == TAG)


def _taken(use: Use) -> Interposer:
    """Answer a command of a handle that nobody has opened as if it were open."""
    by = use.answer or Handle.Reply
    return answers(
        use.kind,
        lambda it: (
            by(it.handle_id, getattr(it, "confirm_tag", 0), OK) if by is Handle.Reply else by(it.handle_id)
        ),
        when=lambda it: it.handle_id > 100,
    )


def _always(turn: Any) -> Any:
    return (Handle.Reply(turn.handle.id, turn.event.confirm_tag, OK),)


@scenarios_for((f"fast/{section}.handle-must-be-open", use) for section, use in ELSEWHERE.items())
@broken_by("says nothing", Fault.drops("handle: is not open"))
@broken_by("takes it", _taken)
def handle_must_be_open(server: Server, use: Use) -> None:
    """The command works by an open handle; by one that nobody opened it is refused, and others live on."""
    handle, queue, number = prepared(server, use)
    done(handle, use.made(handle, queue, number), use)
    stranger = handle.connection.channel().unopened(200)
    stranger.send(use.made(stranger, queue, number))
    if not isinstance(stranger.expect(*REFUSED), Connection.Close):
        handle.connection.lives()


@scenarios_for((f"fast/{name}", use) for name, use in CONFIRMED.items())
@broken_by("confirms nothing", withholds(Handle.Reply, _is_it))
@broken_by("tells another tag", rewrites(Handle.Reply, _is_it, confirm_tag=7))
@broken_by("tells another code", rewrites(Handle.Reply, _is_it, reply_code=299))
def command_is_confirmed(server: Server, use: Use) -> None:
    """With a tag the command is confirmed by HANDLE REPLY for its handle, with the tag and 200."""
    handle, queue, number = prepared(server, use)
    handle.send(tagged(use.made(handle, queue, number), TAG))
    seen = handle.expect(replied(Handle.Reply, TAG), Handle.Notify)
    told = handle.expect(replied(Handle.Reply, TAG)) if isinstance(seen, Handle.Notify) else seen
    server.judge("for its handle", "for another handle", told.handle_id == handle.id)


@scenarios_for((f"fast/{section}.confirmed", use) for section, use in ELSEWHERE.items() if use.answer is None)
@broken_by("confirms without a tag", lambda use: Fault.changes(ROWS[use.kind], answer=_always))
def command_is_not_confirmed_unasked(server: Server, use: Use) -> None:
    """Without a tag no confirmation comes before that of a later command."""
    handle, queue, number = prepared(server, use)
    handle.send(use.made(handle, queue, number), Handle.Flow(handle.id, 7002))
    while isinstance(seen := handle.expect(replied(Handle.Reply, 7002), Handle.Notify), Handle.Notify):
        pass
    server.judge("the confirmation of the later command", "another", seen.confirm_tag == 7002)


@scenario("fast/3.5.2.confirmed")
@scenario("fast/3.5.16.open-confirmed")
@broken_by("confirms nothing", withholds(Handle.Reply))
@broken_by(
    "confirms by the channel",
    Fault.changes(
        "handle open: is accepted",
        answer=lambda turn: (Channel.Reply(turn.channel.id, turn.event.confirm_tag, OK),),
    ),
)
@broken_by("confirms without a tag", adds(Channel.Reply, Handle.Reply(9, 0, OK), skip=1))
def opening_is_confirmed(server: Server) -> None:
    """On each of two channels HANDLE OPEN with a tag is confirmed, and one without is not."""
    for channel in (server.channel(), server.channel()):
        opened, quiet = channel.unopened(), channel.unopened()
        opened.confirms(opened.opening())
        quiet.send(quiet.opening(confirm_tag=0))
        channel.stays_quiet()
