"""3.5.14 HANDLE REPLY Command, seen in all that servers send; with 3.5.15, what closes of handles tell."""

from __future__ import annotations

from typing import Any

from harness.amqp_fast.broken.deviations import adds, repeats, rewrites
from harness.amqp_fast.client.outcomes import is_text
from harness.amqp_fast.client.transcript import Passage
from harness.amqp_fast.wire.vocabulary import COMMANDS, MESSAGE_NOT_FOUND, OK, Channel, Handle
from harness.play.watching import Found, Gaps, State, came, went
from scenarios.amqp_fast.talk import DIALOGUE
from scenarios.registry import broken_by, watch

TAGGED = [
    kind
    for kind in COMMANDS.values()
    if {"handle_id", "confirm_tag"} <= {*kind.names} and kind is not Handle.Reply
]
ASKED = went(*TAGGED, Channel.Ack) + came(Handle.Reply)


class Asked(State):
    """The commands with a tag that wait for a reply, as handle and tag; and all tags there were.

    CHANNEL ACK names no handle: it stands for each of its channel.
    """

    def __init__(self) -> None:
        self.channels: dict[int, int] = {}
        self.begun: dict[int, int] = {}
        self.waiting: list[tuple[int | None, int]] = []
        self.ever: set[tuple[int | None, int]] = set()
        self.acks: dict[int, int] = {}

    def see(self, said: Any) -> Handle.Reply | None:
        """Take note of what is asked for; give HANDLE REPLY."""
        match said:
            case Handle.Reply():
                return said
            case Channel.Ack(channel_id=channel, confirm_tag=tag):
                self.acks[tag] = channel
                self._ask(None, tag)
            case Handle.Send(handle_id=number, confirm_tag=tag, partial=partial):
                # A message in several fragments is confirmed once.
                if self.begun.pop(number, None) != tag:
                    self._ask(number, tag)
                if partial:
                    self.begun[number] = tag
            case _:
                if isinstance(said, Handle.Open):
                    self.channels[said.handle_id] = said.channel_id
                self._ask(said.handle_id, said.confirm_tag)
        return None

    def _ask(self, number: int | None, tag: int) -> None:
        if tag:
            self.waiting.append((number, tag))
            self.ever.add((number, tag))

    def tags(self) -> set[int]:
        """Give all tags that we have sent."""
        return {tag for _, tag in self.ever}

    def is_of(self, reply: Handle.Reply) -> bool:
        """Say whether a command with its tag was sent by its handle, or for its channel."""
        if (reply.handle_id, reply.confirm_tag) in self.ever:
            return True
        channel = self.acks.get(reply.confirm_tag)
        return channel is not None and self.channels.get(reply.handle_id) == channel

    def confirmed(self, reply: Handle.Reply) -> bool:
        """Take what it confirms from what waits; say whether there was something."""
        of_it = [each for each in self.waiting if each[1] == reply.confirm_tag]
        mine = [each for each in of_it if each[0] == reply.handle_id]
        for each in (mine or of_it)[:1]:
            self.waiting.remove(each)
        return bool(of_it)


def unasked(reply: Any) -> Handle.Reply:
    """Confirms what nobody wanted to have confirmed."""
    return Handle.Reply(reply.handle_id, 0, OK)


@watch("fast/3.5.14.only-on-request", during=DIALOGUE, looks_at=ASKED, start=Asked, gap=Gaps.STOPS)
@broken_by("confirms all", adds(Handle.Reply, unasked))
@broken_by("loses the tag", rewrites(Handle.Reply, confirm_tag=0))
@broken_by("confirms messages", adds(Handle.Notify, unasked))
def replies_where_a_confirmation_was_asked_for(asked: Asked, each: Passage) -> Found:
    """HANDLE REPLY has a tag that we have sent, but where it tells that a message is not found."""
    reply = asked.see(each.said)
    if reply is None or reply.reply_code == MESSAGE_NOT_FOUND:
        return None
    return reply.confirm_tag in asked.tags() or f"a reply that nobody asked for, at {each.at:.4f} s"


@watch("fast/3.5.14.of-the-handle", during=DIALOGUE, looks_at=ASKED, start=Asked, gap=Gaps.STOPS)
@broken_by("names a handle of its own", rewrites(Handle.Reply, handle_id=999))
@broken_by("names no handle", rewrites(Handle.Reply, handle_id=0))
@broken_by("names the next handle", rewrites(Handle.Reply, handle_id=lambda number: number + 1))
def reply_names_the_handle_of_the_command(asked: Asked, each: Passage) -> Found:
    """HANDLE REPLY is for the handle by which a command with its tag was sent."""
    reply = asked.see(each.said)
    if reply is None or reply.confirm_tag not in asked.tags():
        return None
    return asked.is_of(reply) or f"a reply for handle {reply.handle_id}, at {each.at:.4f} s"


@watch("fast/3.5.14.tag-of-a-command", during=DIALOGUE, looks_at=ASKED, start=Asked, gap=Gaps.STOPS)
@broken_by("confirms twice", repeats(Handle.Reply))
@broken_by("makes tags up", rewrites(Handle.Reply, confirm_tag=lambda tag: tag + 1000))
@broken_by("loses the tag", rewrites(Handle.Reply, confirm_tag=0))
@broken_by("counts from the first", rewrites(Handle.Reply, confirm_tag=1))
def each_tag_is_confirmed_once(asked: Asked, each: Passage) -> Found:
    """The tag of HANDLE REPLY is that of a command that was not confirmed yet."""
    reply = asked.see(each.said)
    if reply is None or (not reply.confirm_tag and reply.reply_code == MESSAGE_NOT_FOUND):
        return None
    return asked.confirmed(reply) or f"the tag {reply.confirm_tag}, which waits for nothing"


@watch("fast/3.5.14.code-of-three-digits", during=DIALOGUE, looks_at=came(Handle.Reply, Handle.Close))
@broken_by("replies with 0", rewrites(Handle.Reply, reply_code=0))
@broken_by("replies with 2000", rewrites(Handle.Reply, reply_code=2000))
@broken_by("closes with 20", rewrites(Handle.Close, reply_code=20))
def code_has_three_digits(each: Passage) -> Found:
    """The reply-code of HANDLE REPLY and HANDLE CLOSE is from 200 to 599."""
    code = each.said.reply_code
    return 200 <= code < 600 or f"{each.said.full_name} with the code {code}, at {each.at:.4f} s"


@watch("fast/3.5.14.text-is-text", during=DIALOGUE, looks_at=came(Handle.Reply, Handle.Close))
@broken_by("writes it in Latin-1", rewrites(Handle.Reply, reply_text="fäts".encode("latin-1")))
@broken_by("ends it with a zero octet", rewrites(Handle.Reply, reply_text=lambda text: text + b"\0"))
@broken_by("closes with octets", rewrites(Handle.Close, reply_text=b"\xff\xfe"))
def text_is_utf8(each: Passage) -> Found:
    """The reply-text of HANDLE REPLY and HANDLE CLOSE is UTF-8 without a zero octet."""
    return is_text(each.said.reply_text) or f"a text that cannot be read, at {each.at:.4f} s"
