"""What checks of clients that resume links begin with: links that are detached with deliveries unsettled."""

from collections.abc import Mapping
from typing import Any, TypeVar

from harness.amqp1_0.broken.deviations import Interposer, rewrites, withholds
from harness.amqp1_0.client.endpoints import message
from harness.amqp1_0.server.client import Client
from harness.amqp1_0.server.session import JudgedLink, JudgedReceiver, JudgedSender
from harness.amqp1_0.wire.performatives import Attach, Disposition, Role, Source, Target, Transfer
from harness.amqp1_0.wire.types import Map
from harness.play.expect import ControlFailed, Inapplicable
from harness.shims.contract import Refused

AnyLink = TypeVar("AnyLink", bound=JudgedLink)
TAG, OTHER, NOBODYS = b"one", b"two", b"nobody's"
"""Delivery-tags that our server gives to messages, and one that neither side gives."""
CREDIT = 10
NOT_RESUMED = "the client resumes no link: what it attaches again has no unsettled map"


def has_map(said: Attach) -> bool:
    return bool(said.unsettled)


def says_map(said: Attach) -> bool:
    return said.unsettled is not None


def is_incomplete(said: Attach) -> bool:
    return bool(said.incomplete_unsettled)


def is_resumed(said: Transfer) -> bool:
    return bool(said.resume)


def is_nobodys(said: Transfer) -> bool:
    return said.delivery_tag == NOBODYS


class Held:
    """What our server says that it has unsettled, and whether that is all, where a client resumes a link."""

    def __init__(self, *tags: bytes) -> None:
        self.unsettled: Mapping[bytes, Any] = dict.fromkeys(tags)
        self.incomplete = False

    @property
    def told(self) -> Interposer:
        """Says it in the attach; one that does not resume has no map."""
        return rewrites(
            Attach,
            when=says_map,
            unsettled=lambda _: Map(self.unsettled),
            incomplete_unsettled=lambda _: self.incomplete or None,
        )


# -- links that the client detaches --------------------------------------------------------------------


def suspended_receiver(
    client: Client, *meets: Interposer, tags: tuple[bytes, ...] = (TAG,), **how: Any
) -> JudgedReceiver:
    """Give a link on which the client has got messages, which are unsettled, and that it has detached."""
    name, address = client.name("link"), client.name("node")
    receiver = client.session(*meets).receiver(address, credit=len(tags), name=name, **how)
    for tag in tags:
        receiver.server_transfers(message(tag), delivery_tag=tag)
    if len(receiver.messages(len(tags))) < len(tags):
        raise ControlFailed("receiving", "fewer messages")
    receiver.detach()
    return receiver


def suspended_sender(
    client: Client, *meets: Interposer, count: int = 1, body: Any = "x", **how: Any
) -> tuple[JudgedSender, list[bytes]]:
    """Give a link on which the client has sent messages, which are unsettled, and that it has detached.

    With it come their delivery-tags. Our server says nothing of them. Raises Inapplicable where they are
    settled.
    """
    session = client.session(withholds(Disposition), *meets)
    sender = session.sender(client.name("node"), name=client.name("link"), **how)
    for _ in range(count):
        sender.hands_over(body)
        while session.connection.came(Transfer).performative.more:
            pass
    if any(part.settled for each in sender.deliveries() for part in each.transfers):
        raise Inapplicable("the client settles what it sends")
    sender.detach()
    return sender, [bytes(each.first.delivery_tag or b"") for each in sender.deliveries()]


# -- and attaches again --------------------------------------------------------------------------------


def address_of(link: JudgedLink) -> str:
    """Give the address that a link of the client's is attached to."""
    far: Source | Target = link.attach.target if link.role is Role.SENDER else link.attach.source
    return str(far.address)


def tries_again(link: JudgedLink, **how: Any) -> tuple[Attach, JudgedLink | Refused]:
    """Have the client attach a link again under its name; give its attach, and what became of it.

    Raises Inapplicable where it does not resume the link.
    """
    session = link.session
    before = len(session.sent(Attach))
    tries = session.tries_sender if link.role is Role.SENDER else session.tries_receiver
    found = tries(address_of(link), name=link.attach.name, **how)
    said = session.sent(Attach)[before:]
    if not said:
        raise Inapplicable("the client does not attach such a link again")
    if said[0].unsettled is None:
        raise Inapplicable(NOT_RESUMED)
    return said[0], found


def resumed(link: AnyLink, **how: Any) -> AnyLink:
    """Have the client resume a link, and judge that it gets it. Raises Inapplicable where it does not."""
    _, found = tries_again(link, **how)
    link.client.judge("a link that is resumed", getattr(found, "told", ""), isinstance(found, type(link)))
    assert isinstance(found, type(link))
    return found


def stated(said: Attach) -> Mapping[bytes, Any]:
    """Give the unsettled map of an attach; without one there is nothing in it."""
    return said.unsettled or {}


def tags_of(sender: JudgedSender, resume: bool) -> list[bytes]:
    """Give the tags of the deliveries that a client has begun on a link: those resumed, or new ones."""
    return [
        bytes(said.delivery_tag)
        for said, _ in sender.transfers()
        if said.delivery_tag is not None and bool(said.resume) is resume
    ]
