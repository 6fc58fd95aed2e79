"""2.8.15 Amqp Error: the conditions that fit what is not there, not permitted, used wrongly, or too long."""

from harness.amqp1_0.broken.deviations import changes, drops, rewrites, withholds
from harness.amqp1_0.client.container import Container
from harness.amqp1_0.client.endpoints import message
from harness.amqp1_0.client.outcomes import detached, ended_or_closed, fields, silence, stream_ended
from harness.amqp1_0.client.session import Session
from harness.amqp1_0.peer.policy import Level
from harness.amqp1_0.peer.refusals import refuse
from harness.amqp1_0.peer.tables.attach import refuse_link
from harness.amqp1_0.wire.frames import AMQP, Frame
from harness.amqp1_0.wire.performatives import (
    AmqpError,
    Attach,
    Detach,
    LinkError,
    Role,
    Source,
    Target,
    Transfer,
)
from harness.play.expect import Outcome
from harness.play.link import Closed, Silence
from scenarios.amqp1_0.links.s2_6_5_link_errors import KEEPS, REMOVAL, REMOVED, remove
from scenarios.registry import broken_by, scenario

NOT_THERE = "attach: refuses an address that is not there"
POWERLESS = "attach: refuses a user without rights"
WRONG_WAY = "transfer: refuses one on a link to the client"
NO_ROOM = "attach: refuses what it has no room to answer"
LONG = 600
"""Characters of a name that leave no room for it in a frame of 512 octets."""


def called(*conditions: str) -> tuple[Outcome, Outcome]:
    """Allow what ends link, session or connection with one of these conditions; with another as a miss."""
    other = (detached() | ended_or_closed()).under(
        "the condition is the server's choice: another may fit too"
    )
    return detached(*conditions) | ended_or_closed(*conditions), other


def is_turned_down(session: Session, address: str, condition: str) -> None:
    """Judge that a receiver is refused with this condition, behind an attach without source or at once."""
    session.send(session.the_attach(Role.RECEIVER, source=Source(address), target=Target()))
    fitting, other = called(condition)
    if isinstance(session.expect(fitting | fields(Attach, source=None), other), Attach):
        session.expect(fitting, other)


@scenario("1-0/2.8.15.not-found", needs={"no-address", "address"})
@broken_by("gives another condition", changes(NOT_THERE, answer=refuse_link(AmqpError.NOT_ALLOWED)))
@broken_by("gives no reason", rewrites(Detach, error=None))
@broken_by("attaches it all the same", drops(NOT_THERE))
def what_is_not_there_is_not_found(container: Container) -> None:
    """A receiver from an address that is not there is refused with not-found."""
    session = container.session()
    session.fence(container.address())
    is_turned_down(session, container.facility("no-address")["source"], AmqpError.NOT_FOUND)


@scenario("1-0/2.8.15.unauthorized-access", needs={"powerless-user", "address"})
@broken_by("gives another condition", changes(POWERLESS, answer=refuse_link(AmqpError.NOT_FOUND)))
@broken_by("gives no reason", rewrites(Detach, when=lambda said: said.error is not None, error=None))
@broken_by("lets everybody in", drops(POWERLESS))
def who_may_not_is_told_so(container: Container) -> None:
    """A receiver of a user who may use no address is refused with unauthorized-access."""
    address = container.stocked(b"control")
    connection = container.negotiated(**container.facility("powerless-user"))
    connection.open()
    connection.beats()
    is_turned_down(connection.begin(), address, AmqpError.UNAUTHORIZED_ACCESS)


@scenario("1-0/2.8.15.not-allowed", needs={"address"})
@broken_by("gives another condition", changes(WRONG_WAY, answer=refuse(AmqpError.NOT_FOUND, Level.LINK)))
@broken_by("gives no reason", rewrites(Detach, error=None))
@broken_by("passes over it", withholds(Detach))
def a_transfer_against_the_direction_of_its_link_is_not_allowed(container: Container) -> None:
    """A transfer of ours on a link on which we receive is refused with not-allowed."""
    address, session = container.address(), container.session()
    session.sender(address).delivers(b"control")
    receiver = session.receiver(address)
    said = Transfer(receiver.handle, session.next_delivery_id, b"t", 0)
    session.tries(Frame(AMQP, session.channel, said.encode() + message()), *called(AmqpError.NOT_ALLOWED))


@scenario("1-0/2.8.15.frame-size-too-small", needs={"address"})
@broken_by("gives another condition", changes(NO_ROOM, answer=refuse(AmqpError.NOT_FOUND, Level.SESSION)))
@broken_by("answers in a large frame", drops(NO_ROOM))
def an_answer_that_fits_into_no_frame_is_refused(container: Container) -> None:
    """With frames of 512 octets to us an attach of a name of 600 is refused by frame-size-too-small."""
    address = container.address()
    connection = container.alive(max_frame_size=512)
    if connection.partner.max_frame_size < 2 * LONG:
        container.inapplicable("the target takes no frame that large itself")
    session = connection.begin()
    session.fence(address)
    ours = session.the_attach(Role.RECEIVER, name="x" * LONG, source=Source(address), target=Target())
    session.tries(ours, *called(AmqpError.FRAME_SIZE_TOO_SMALL))


@scenario("1-0/2.8.15.resource-deleted", needs=REMOVAL, slow=True, alone=True)
@broken_by("gives another condition", changes(REMOVED, answer=refuse(AmqpError.NOT_FOUND, Level.LINK)))
@broken_by("gives no reason", rewrites(Detach, error=None))
def what_is_removed_is_called_so(container: Container) -> None:
    """A receiver whose address is removed is detached with resource-deleted, or detach-forced."""
    session = container.session()
    remove(container, session)
    fitting = (AmqpError.RESOURCE_DELETED, LinkError.DETACH_FORCED)
    other = (detached() | ended_or_closed()).under(
        "the condition is the server's choice: another may fit too"
    )
    named = detached(*fitting) | ended_or_closed(*fitting)
    seen = session.expect(named, other, (silence() | stream_ended()).recorded())
    if isinstance(seen, (Silence, Closed)):
        container.inapplicable(KEEPS)
