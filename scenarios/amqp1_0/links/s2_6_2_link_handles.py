"""2.6.2: the handles of links, each side its own, and what goes over them."""

from harness.amqp1_0.broken.deviations import (
    follows,
    forwards,
    ignores,
    of_client,
    rejects,
    rewrites,
    withholds,
)
from harness.amqp1_0.client.container import Container
from harness.amqp1_0.client.outcomes import (
    fields,
)
from harness.amqp1_0.client.transcript import OF_AMQP, Framed
from harness.amqp1_0.wire.performatives import (
    AmqpError,
    Attach,
    Begin,
    Detach,
    End,
    Role,
    Source,
    Target,
    Transfer,
)
from harness.play.watching import Found, Gaps, State, came
from scenarios.amqp1_0.talk import CLIENT, TALK
from scenarios.registry import broken_by, scenario, watch

HIGH = 7
"""A handle that nobody takes who takes the lowest."""


def is_high(said: Attach | Transfer) -> bool:
    return bool(said.handle == HIGH)


@scenario("1-0/2.6.2.handles-differ", needs={"address"})
@broken_by("wants the lowest", rejects(Attach, AmqpError.INVALID_FIELD, when=is_high))
@broken_by("finds no link there", ignores(Transfer, when=is_high))
def each_endpoint_has_a_handle_of_its_own(container: Container) -> None:
    """A message on a link that we attach on a high handle is settled like one on handle 0."""
    address, session = container.address(), container.session()
    session.sender(address).delivers(b"control")
    highest = int(session.partner.handle_max)
    with session.works("a message on a link with a high handle"):
        session.sender(address, handle=min(HIGH, highest)).delivers(b"x")


@scenario("1-0/2.6.2.half-attached", needs={"address"})
@broken_by("does not answer", withholds(Detach, skip=1))
@broken_by("refuses it", rejects(Detach, AmqpError.ILLEGAL_STATE, skip=1))
def a_link_is_closed_before_it_is_answered(container: Container) -> None:
    """An attach and its closing detach in a single write: both are answered."""
    address, session = container.address(), container.session()
    session.fence(address)
    ours = session.the_attach(Role.RECEIVER, source=Source(address), target=Target())
    session.send(ours, Detach(ours.handle, True))
    answer = session.expect(Attach)
    session.expect(fields(Detach, handle=answer.handle, error=None))


class Attached(State):
    """The role in which the server has attached each of its handles, by channel."""

    def __init__(self) -> None:
        self.roles: dict[tuple[int, int], bool] = {}

    def learn(self, each: Framed) -> bool | None:
        """Learn what comes; of an attach say whether its handle was free."""
        channel, said = each.unit.channel, each.said
        if said is None or not said.is_as_defined():
            return None
        if isinstance(said, (Begin, End)):
            self.roles = {place: role for place, role in self.roles.items() if place[0] != channel}
        elif isinstance(said, Detach):
            self.roles.pop((channel, said.handle), None)
        elif isinstance(said, Attach):
            free = (channel, said.handle) not in self.roles
            self.roles[channel, said.handle] = said.role
            return free
        return None


@watch(
    "1-0/2.1.1.one-direction",
    during="1-0/2.6.7.credit-is-used-up",
    looks_at=came(OF_AMQP),
    start=Attached,
    gap=Gaps.STOPS,
    of_clients=TALK,
)
@broken_by(
    "sends where it receives",
    of_client(follows(Attach, Transfer(1, 9, b"t", 0), when=lambda said: said.role)),
    CLIENT,
)
@broken_by("sends where it receives", follows(Attach, Transfer(0, 9, b"t", 0), when=lambda said: said.role))
def transfers_come_from_a_sender_alone(attached: Attached, each: Framed) -> Found:
    """No transfer of the run comes on a link on which the server receives."""
    attached.learn(each)
    said = each.said
    if not isinstance(said, Transfer) or not said.is_as_defined():
        return None
    role = attached.roles.get((each.unit.channel, said.handle))
    if role is None:
        return None
    return role is Role.SENDER or f"a transfer on a link to the server at {each.at:.4f} s"


@watch(
    "1-0/2.7.3.handle-not-reused",
    during="1-0/2.7.3.lowest-handle",
    looks_at=came(OF_AMQP),
    start=Attached,
    gap=Gaps.STOPS,
    of_clients="1-0/2.7.3.lowest-handle",
)
@broken_by("has one handle for all", forwards(Attach, handle=0), CLIENT)
@broken_by("has one handle for all", rewrites(Attach, handle=0))
def no_handle_of_the_server_has_two_links(attached: Attached, each: Framed) -> Found:
    """Every attach of the server is on a handle that none of its links has."""
    free = attached.learn(each)
    if free is None:
        return None
    return free or f"an attach on handle {each.said.handle}, which has a link, at {each.at:.4f} s"
