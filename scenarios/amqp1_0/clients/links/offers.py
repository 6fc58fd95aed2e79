"""What checks of links that the server attaches to a client begin with."""

from typing import Any

from harness.amqp1_0.broken.deviations import Interposer, ignores
from harness.amqp1_0.client.outcomes import answered, ended_or_closed, silence
from harness.amqp1_0.server.client import Client
from harness.amqp1_0.server.session import JudgedSession
from harness.amqp1_0.wire.composites import Composite
from harness.amqp1_0.wire.performatives import Attach, Detach, Flow, Role, Source, Target
from harness.play.expect import Inapplicable

OFFERED = "offered"
"""The name of the link; our server knows nothing of it."""
HANDLE = 9
"""One that our server gives to no link of its own meanwhile."""
DEAF = ignores(Attach, when=lambda it: it.name.startswith(OFFERED)) + ignores(Detach) + ignores(Flow)
"""Our server takes no notice of what the client says of such links."""
NOT_ANSWERED = "the client answers no attach of the server's by one, as 1-0/2.6.3.attach-answered asks"
TAKES_NONE = "the client takes no link that the server attaches"


def an_offer(role: bool, **fields: Any) -> Attach:
    """Give an attach of the server's in this role, altered as given."""
    count = 0 if role is Role.SENDER else None
    said = Attach(OFFERED, HANDLE, role, source=Source("x"), target=Target("y"), initial_delivery_count=count)
    return said.replace(**fields)


def offers(client: Client, *said: Composite, meets: Interposer = DEAF) -> JudgedSession:
    """Have our server attach a link of its own to a client, in one write with what is said behind it."""
    session = client.session(meets)
    session.connection.hear_out()
    session.says(*said)
    return session


def own_terminus(said: Attach) -> Any:
    """Give the terminus of who says an attach."""
    return said.source if said.role is Role.SENDER else said.target


def is_answered(client: Client) -> None:
    """See that a client answers an attach of the server's by one. Raises Inapplicable."""
    refusals = (answered(Detach) | ended_or_closed() | silence()).recorded()
    if not isinstance(offers(client, an_offer(Role.SENDER)).expect(answered(Attach), refusals), Attach):
        raise Inapplicable(NOT_ANSWERED)


def is_taken(client: Client, role: bool) -> None:
    """See that a client takes a link that the server attaches in this role. Raises Inapplicable."""
    session = offers(client, an_offer(role))
    seen = session.expect(answered(Attach), (answered(Detach) | ended_or_closed() | silence()).recorded())
    if not isinstance(seen, Attach) or own_terminus(seen) is None:
        raise Inapplicable(TAKES_NONE)
