"""2.7.3 Attach: its form, its handle, its settlement modes."""

from harness.amqp1_0.broken.deviations import forwards, of_client, rejects, replaces, respells, rewrites
from harness.amqp1_0.broken.faults import replies
from harness.amqp1_0.client.container import Container
from harness.amqp1_0.client.outcomes import closed, detached, ended_or_closed, fields, session_ended
from harness.amqp1_0.client.transcript import UNREAD, Framed, Passage
from harness.amqp1_0.wire.performatives import (
    AmqpError,
    Attach,
    End,
    Error,
    ReceiverSettleMode,
    Role,
    SenderSettleMode,
    SessionError,
    Source,
    Target,
)
from harness.amqp1_0.wire.types import As, Described, Map, Symbol, Ulong
from harness.play.watching import Found, came
from scenarios.amqp1_0.performatives.s2_7_1_open import OURS_IS_WRONG, STR8, UNHEARD_OF, carries, held_against
from scenarios.amqp1_0.talk import CLIENT, TALK
from scenarios.registry import broken_by, scenario, watch

HANDLE_IN_USE = "attach: refuses a handle in use"


@watch(
    "1-0/2.7.3.attach-well-formed",
    during="1-0/2.6.3.attach-answered",
    looks_at=came(Attach, UNREAD),
    until=OURS_IS_WRONG,
    of_clients=TALK,
)
@broken_by("has no name", forwards(Attach, name=None), CLIENT)
@broken_by(
    "says more than an attach holds",
    of_client(respells(Attach, lambda said: said.sent_as(unknown=("more",)))),
    CLIENT,
)
@broken_by("has no name", rewrites(Attach, name=None))
@broken_by("has a text for a role", rewrites(Attach, role=As(STR8, "sender")))
@broken_by("says more than an attach holds", respells(Attach, lambda said: said.sent_as(unknown=("more",))))
@broken_by("attaches with a map", respells(Attach, lambda _: Described(Ulong(Attach.spec.code), Map())))
def every_attach_is_as_defined(each: Framed) -> Found:
    """Every attach of the run is a list of at most fourteen fields of their types."""
    return held_against(Attach, each)


@watch(
    "1-0/2.7.3.initial-delivery-count-stated",
    during="1-0/2.6.3.attach-answered",
    looks_at=came(Attach),
    of_clients=TALK,
)
@broken_by("does not say it", forwards(Attach, initial_delivery_count=None), CLIENT)
@broken_by("does not say it", rewrites(Attach, initial_delivery_count=None))
def a_sender_says_where_its_count_begins(each: Passage) -> Found:
    """Every attach of the server as sender has an initial-delivery-count."""
    if each.said.role is not Role.SENDER:
        return None
    return each.said.initial_delivery_count is not None or f"an attach without it at {each.at:.4f} s"


@scenario("1-0/2.7.3.attach-optional-fields", needs={"address"})
@broken_by(
    "knows no capabilities", rejects(Attach, AmqpError.NOT_IMPLEMENTED, when=carries("desired_capabilities"))
)
@broken_by("knows no properties", rejects(Attach, AmqpError.NOT_IMPLEMENTED, when=carries("properties")))
@broken_by("attaches nowhere then", rewrites(Attach, skip=1, source=None))
def what_nobody_has_heard_of_does_a_link_no_harm(container: Container) -> None:
    """Attaches with capabilities, and with properties, that nobody knows are answered with their source."""
    address, session = container.address(), container.session()
    session.fence(address)
    unknown = [Symbol(UNHEARD_OF)]
    for extra in (
        {"offered_capabilities": unknown, "desired_capabilities": unknown},
        {"properties": {Symbol(UNHEARD_OF): "x"}},
    ):
        ours = session.the_attach(Role.RECEIVER, source=Source(address), target=Target(), **extra)
        answer = session.tries(ours, Attach)
        session.judge("an attach with a source", "an attach without a source", answer.source is not None)


@scenario("1-0/2.7.3.handle-in-use", needs={"address"})
@broken_by("attaches another", forwards(Attach, skip=1, handle=lambda handle: handle + 1))
@broken_by("has another condition", replies(HANDLE_IN_USE, End(Error(AmqpError.NOT_ALLOWED))))
@broken_by("says nothing", replies(HANDLE_IN_USE))
def an_attach_on_a_handle_in_use_is_refused(container: Container) -> None:
    """A second attach on one handle is refused with handle-in-use."""
    address, session = container.address(), container.session()
    held = session.receiver(address)
    session.tries(
        session.the_attach(Role.RECEIVER, handle=held.handle, source=Source(address), target=Target()),
        session_ended(SessionError.HANDLE_IN_USE) | closed(SessionError.HANDLE_IN_USE),
    )


@scenario("1-0/2.7.3.lowest-handle", needs={"address"})
@broken_by("takes ours", rewrites(Attach, handle=lambda handle: handle + 2))
def the_lowest_free_handle_is_taken(container: Container) -> None:
    """Three receivers are answered on handles 0, 1 and 2; behind the detach of the second, another on 1."""
    address, session = container.address(), container.session()
    first, second, third = (session.receiver(address, handle=each) for each in (2, 0, 1))
    second.detach()
    fourth = session.receiver(address, handle=3)
    taken = [each.partner.handle for each in (first, second, third, fourth)]
    container.judge(
        "handles 0, 1, 2, and 1 again",
        f"handles {', '.join(map(str, taken))}",
        taken == [0, 1, 2, 1],
        "any handle that is free is legal; the lowest is recommended",
    )


@scenario("1-0/2.7.3.sender-mode-respected", needs={"address"})
@broken_by("sends as it likes", rewrites(Attach, snd_settle_mode=SenderSettleMode.MIXED))
def a_sender_takes_the_mode_that_the_receiver_wants(container: Container) -> None:
    """Receivers that want settled, and unsettled, deliveries are answered so."""
    address, session = container.address(), container.session()
    session.fence(address)
    for mode in (SenderSettleMode.SETTLED, SenderSettleMode.UNSETTLED):
        ours = session.the_attach(
            Role.RECEIVER, source=Source(address), target=Target(), snd_settle_mode=mode
        )
        session.tries(ours, fields(Attach, snd_settle_mode=mode))


@scenario("1-0/2.7.3.receiver-mode-respected", needs={"address"})
@broken_by("settles second always", rewrites(Attach, rcv_settle_mode=ReceiverSettleMode.SECOND))
@broken_by("says nothing", replaces(Attach, skip=2))
def a_receiver_takes_the_mode_that_the_sender_wants(container: Container) -> None:
    """Senders that want to be settled first, and second, are answered so."""
    address, session = container.address(), container.session()
    session.fence(address)
    first, second = ReceiverSettleMode.FIRST, ReceiverSettleMode.SECOND
    attach = {"source": Source(), "target": Target(address)}
    session.tries(
        session.the_attach(Role.SENDER, rcv_settle_mode=first, **attach),
        fields(Attach, rcv_settle_mode=first),
    )
    session.tries(
        session.the_attach(Role.SENDER, rcv_settle_mode=second, **attach),
        fields(Attach, rcv_settle_mode=second),
        (fields(Attach, rcv_settle_mode=first) | detached() | ended_or_closed()).under(
            "second need not be supported"
        ),
    )


@watch(
    "1-0/2.7.3.unsettled-keys",
    during="1-0/grammar/attach.unsettled.encoded",
    looks_at=came(Attach),
    until=OURS_IS_WRONG,
    never="the target sends no unsettled map",
    of_clients="1-0/2.6.3.target-states-unsettled",
)
@broken_by("has null for a tag", forwards(Attach, unsettled=Map([(None, None)])), CLIENT)
@broken_by("has null for a tag", rewrites(Attach, unsettled=Map([(None, None)])))
def no_key_of_an_unsettled_map_is_null(each: Passage) -> Found:
    """No unsettled map of an attach of the server has null for a key."""
    unsettled = each.said.unsettled
    if not isinstance(unsettled, Map):
        return None
    return all(tag is not None for tag, _ in unsettled.pairs) or f"null for a tag at {each.at:.4f} s"
