"""2.7.3, of clients: links without a source, and messages larger than an attach of theirs says."""

from harness.amqp1_0.broken.deviations import forwards, of_client, replaces
from harness.amqp1_0.client.endpoints import message
from harness.amqp1_0.client.outcomes import detached
from harness.amqp1_0.client.transcript import Framed
from harness.amqp1_0.server.client import Client
from harness.amqp1_0.wire.performatives import (
    AmqpError,
    Attach,
    Detach,
    Disposition,
    Error,
    LinkError,
    Rejected,
    Role,
    Transfer,
)
from harness.play.expect import Inapplicable
from harness.play.watching import Found, Gaps, State, came
from scenarios.amqp1_0.performatives.s2_7_3_limits import LARGEST
from scenarios.amqp1_0.talk import CLIENT, TALK, arrives
from scenarios.registry import broken_by, scenario, watch

FRAME, ROOM = 65536, 100
"""Octets of a frame, beyond which none is sent; and of all in it that is not payload."""


class Sourceless(State):
    """Whether the client's attach says a source, by the channel and handle of links on which it sends."""

    def __init__(self) -> None:
        self.has: dict[tuple[int, int], bool] = {}


@watch(
    "1-0/2.7.3.no-source-no-messages",
    during=TALK,
    looks_at=came(Attach, Transfer),
    start=Sourceless,
    gap=Gaps.STOPS,
    role=CLIENT,
)
@broken_by("says no source", forwards(Attach, when=lambda it: it.role is Role.SENDER, source=None), CLIENT)
def a_client_sends_where_it_has_a_source(sourceless: Sourceless, each: Framed) -> Found:
    """Every transfer of the client is on a link whose attach, its own, has a source."""
    said = each.said
    if not said.is_as_defined():
        return None
    place = each.unit.channel, said.handle
    if isinstance(said, Attach):
        sourceless.has[place] = said.source is not None
        return None
    return sourceless.has.get(place, True) or f"a transfer on a link without source at {each.at:.4f} s"


@scenario("1-0/2.7.3.larger-message-refused", role=CLIENT)
@broken_by("takes it", forwards(Attach, max_message_size=1000), CLIENT)
@broken_by(
    "rejects the message alone",
    of_client(replaces(Detach, Disposition(Role.RECEIVER, 1, 1, True, Rejected()))),
    CLIENT,
)
@broken_by("has another condition", forwards(Detach, error=Error(AmqpError.NOT_ALLOWED)), CLIENT)
def a_message_larger_than_a_client_takes_is_refused(client: Client) -> None:
    """A message of more octets than the client's attach says: it detaches the link for that."""
    receiver = client.session().receiver(credit=2)
    most = receiver.attach.max_message_size
    if not most or most > LARGEST:
        raise Inapplicable(f"the client states no max-message-size of {LARGEST} octets or less")
    receiver.server_transfers(message(b"control"))
    arrives(receiver, "control")
    octets = message(bytes(int(most)))
    room = min(int(receiver.connection.opened.max_frame_size), FRAME) - ROOM
    for start in range(0, len(octets), room):
        receiver.server_transfers(octets[start : start + room], more=start + room < len(octets))
    receiver.expect(detached(LinkError.MESSAGE_SIZE_EXCEEDED))
