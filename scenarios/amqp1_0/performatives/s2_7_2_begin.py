"""2.7.2 Begin: its form, its channel, its handles."""

from harness.amqp1_0.broken.deviations import drops, forwards, of_client, rejects, respells, rewrites
from harness.amqp1_0.broken.faults import replies
from harness.amqp1_0.client.container import Container
from harness.amqp1_0.client.outcomes import (
    Refusal,
    answered,
    begun,
    closed,
    detached,
    ended_or_closed,
    refused,
    silence,
)
from harness.amqp1_0.client.session import the_begin
from harness.amqp1_0.client.transcript import UNREAD, Framed
from harness.amqp1_0.wire.performatives import (
    AmqpError,
    Attach,
    Begin,
    Close,
    ConnectionError_,
    End,
    Error,
    Role,
    SessionError,
    Source,
    Target,
)
from harness.amqp1_0.wire.serial import SIZE
from harness.amqp1_0.wire.types import As, Described, Map, Symbol, Ulong
from harness.play.watching import Found, came
from scenarios.amqp1_0.performatives.s2_7_1_open import OURS_IS_WRONG, STR8, UNHEARD_OF, carries, held_against
from scenarios.amqp1_0.talk import CLIENT, TALK
from scenarios.registry import broken_by, scenario, watch

HIGHEST = SIZE - 1
"""The handle-max of a begin that states none."""
ANSWERS_NONE = "begin: refuses an answer to none of ours"
ABOVE_OURS = "attach: refuses a handle above ours"


@watch(
    "1-0/2.7.2.begin-well-formed",
    during="1-0/2.5.1.begin-answered",
    looks_at=came(Begin, UNREAD),
    until=OURS_IS_WRONG,
    of_clients=TALK,
)
@broken_by("states no window", forwards(Begin, incoming_window=None), CLIENT)
@broken_by(
    "says more than a begin holds",
    of_client(respells(Begin, lambda said: said.sent_as(unknown=("more",)))),
    CLIENT,
)
@broken_by("states no window", rewrites(Begin, incoming_window=None))
@broken_by("states no first id", rewrites(Begin, next_outgoing_id=None))
@broken_by("has a text for a window", rewrites(Begin, outgoing_window=As(STR8, "large")))
@broken_by("says more than a begin holds", respells(Begin, lambda said: said.sent_as(unknown=("more",))))
@broken_by("begins with a map", respells(Begin, lambda _: Described(Ulong(Begin.spec.code), Map())))
def every_begin_is_as_defined(each: Framed) -> Found:
    """Every begin of the run is a list of at most eight fields of their types, with both windows."""
    return held_against(Begin, each)


@scenario("1-0/2.7.2.begin-optional-fields")
@broken_by(
    "knows no capabilities",
    rejects(Begin, AmqpError.NOT_IMPLEMENTED, when=carries("offered_capabilities", "desired_capabilities")),
)
@broken_by("knows no properties", rejects(Begin, AmqpError.NOT_IMPLEMENTED, when=carries("properties")))
def what_nobody_has_heard_of_does_no_harm(container: Container) -> None:
    """Begins with capabilities, and with properties, that nobody knows are answered like one without."""
    connection = container.alive().fence()
    unknown = [Symbol(UNHEARD_OF)]
    for fields in (
        {"offered_capabilities": unknown, "desired_capabilities": unknown},
        {"properties": {Symbol(UNHEARD_OF): "x"}},
    ):
        connection.tries(the_begin(**fields), begun(0), channel=0)
        connection.ask(End(), End)


@scenario("1-0/2.7.2.remote-channel-of-none-refused")
@broken_by("takes it for a new session", forwards(Begin, remote_channel=None))
@broken_by("passes over it", replies(ANSWERS_NONE))
def a_begin_that_answers_none_is_refused(container: Container) -> None:
    """A begin with a remote-channel, though the server has begun no session, is refused."""
    for remote in (0, 5):
        connection = container.alive().fence()
        seen = connection.tries(
            the_begin(remote_channel=remote), *refused(Refusal.ON_SESSION), answered(Begin)
        )
        if isinstance(seen, Begin):
            connection.expect(ended_or_closed())


def higher(said: Attach) -> bool:
    return said.handle > 0


@scenario("1-0/2.7.2.handle-max-kept", needs={"address"})
@broken_by("takes the next handle", forwards(Begin, handle_max=HIGHEST))
@broken_by("begins with handle 1", rewrites(Attach, handle=1))
def no_handle_above_our_handle_max_is_used(container: Container) -> None:
    """With a handle-max of 0 a link is answered on handle 0, and a second one is not answered."""
    address = container.address()
    session = container.session(handle_max=0)
    handle = session.sender(address).partner.handle
    session.judge("handle 0", "a handle above 0", handle == 0)
    session.tries(
        session.the_attach(Role.SENDER, source=Source(), target=Target(address)),
        ended_or_closed() | detached(),
        silence().under("only the handle is forbidden: what becomes of the attach is not said"),
    )


@scenario("1-0/2.7.2.handle-beyond-max-refused", needs={"address"})
@broken_by("attaches all the same", drops(ABOVE_OURS))
@broken_by("ends the session alone", replies(ABOVE_OURS, End(Error(ConnectionError_.FRAMING_ERROR))))
@broken_by("has another condition", replies(ABOVE_OURS, Close(Error(SessionError.HANDLE_IN_USE))))
def a_handle_above_the_servers_handle_max_closes(container: Container) -> None:
    """An attach on the handle one above the handle-max of the server's begin is a framing-error."""
    address = container.address()
    session = container.session()
    session.fence(address)
    highest = session.partner.handle_max
    if highest >= HIGHEST:
        container.inapplicable("the target's begin states no handle-max: every handle is within its range")
    attach = session.the_attach(Role.RECEIVER, handle=highest + 1, source=Source(address), target=Target())
    session.tries(attach, closed(ConnectionError_.FRAMING_ERROR))


@scenario("1-0/2.7.2.highest-handle-usable", needs={"address"})
@broken_by("refuses its own handle-max", rejects(Attach, ConnectionError_.FRAMING_ERROR, when=higher))
@broken_by("states more than it takes", rewrites(Begin, handle_max=lambda number: min(number + 1, HIGHEST)))
def the_highest_handle_can_be_used(container: Container) -> None:
    """An attach on the handle that is the handle-max of the server's begin is answered."""
    address = container.address()
    session = container.session()
    session.fence(address)
    highest = session.partner.handle_max
    attach = session.the_attach(Role.RECEIVER, handle=highest, source=Source(address), target=Target())
    session.tries(attach, Attach)
