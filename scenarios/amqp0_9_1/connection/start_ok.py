"""connection.start-ok: the client selects mechanism and locale."""

from harness.amqp0_9_1.broken.deviations import answers, changes, ends_with, forwards
from harness.amqp0_9_1.broken.entity_faults import mechanism_is_unknown
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.connection import AmqpConnection
from harness.amqp0_9_1.client.outcomes import closed_silently
from harness.amqp0_9_1.client.transcript import Passage
from harness.amqp0_9_1.wire.vocabulary import ACCESS_REFUSED, Connection
from harness.play.watching import Found, came
from harness.wire.sasl import MECHANISMS, PLAIN
from scenarios.amqp0_9_1.talk import TALK
from scenarios.registry import broken_by, scenario, watch
from spec.rules import Role

NOT_OFFERED = "connection.start-ok: a mechanism or locale not offered ends in silence"
ASKED = ("product", "version", "platform", "information")
"""What a client should say of itself in any case."""
OTHERS = ("CRAM-MD5", "DIGEST-MD5", "SCRAM-SHA-1", "SCRAM-SHA-256", "GSSAPI", "NO-SUCH-MECHANISM", "plain")
"""Names that servers may know besides those spoken here, one that nobody does, and one in other letters."""


def start_ok_by(connection: AmqpConnection, name: str) -> Connection.StartOk:
    """Give a Start-Ok by this mechanism, as good as we can make it: one we do not speak has a password."""
    speaks = MECHANISMS.get(name, MECHANISMS[PLAIN])
    response = speaks.response(connection.endpoint.user, connection.endpoint.password)
    return connection.start_ok(mechanism=name, response=response)


@watch(
    "0-9-1/connection.start-ok.client-properties.required-fields",
    during=TALK,
    looks_at=came(Connection.StartOk),
    role=Role.CLIENT,
)
@broken_by("says nothing of itself", forwards(Connection.StartOk, client_properties={}), Role.CLIENT)
@broken_by(
    "keeps its version to itself",
    forwards(Connection.StartOk, client_properties=lambda told: {**told, "version": ""}),
    Role.CLIENT,
)
def client_says_what_it_is(each: Passage) -> Found:
    """The properties of the client have its product, version, platform and other information, none empty.

    Copyright is asked for "if appropriate".
    """
    missing = [name for name in ASKED if not each.said.client_properties.get(name)]
    return not missing or f"no {', '.join(missing)} at {each.at:.4f} s"


@scenario("0-9-1/connection.start-ok.mechanism.validity", slow=True)
@broken_by("says Close before it closes", ends_with(Connection.Close(ACCESS_REFUSED, "no such mechanism")))
@broken_by("takes any mechanism for PLAIN", forwards(Connection.StartOk, mechanism=PLAIN))
@broken_by("takes all that it knows, offered or not", changes(NOT_OFFERED, condition=mechanism_is_unknown))
@broken_by(
    "challenges for what it did not offer",
    answers(Connection.StartOk, Connection.Secure(b"?"), when=lambda it: it.mechanism in OTHERS[:2]),
)
@broken_by("takes names in any letters", forwards(Connection.StartOk, mechanism=lambda it: it.upper()))
def mechanism_that_was_not_offered_ends_in_silence(broker: Broker) -> None:
    """Mechanisms that Start did not offer, each tried by a client: the socket is closed, and nothing said."""
    offered = bytes(broker.tuned().start.mechanisms).decode(errors="replace").split(" ")
    strangers = []
    for name in (*MECHANISMS, *OTHERS):
        if name not in offered:
            stranger = broker.started()
            stranger.send(start_ok_by(stranger, name))
            strangers.append(stranger)
    for stranger in strangers:
        stranger.expect(closed_silently())
