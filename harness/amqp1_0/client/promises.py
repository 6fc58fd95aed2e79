"""What facilities of a target promise in AMQP 1.0: each look uses what a facility gave, as scenarios do.

A look raises Stop where the promise is not kept, KeyError where the facility did not give what is needed.
"""

from collections.abc import Mapping

from harness.amqp1_0.client.container import Container
from harness.amqp1_0.wire.performatives import Attach, Close, Detach, End, Role, Source, Target
from harness.play.expect import ControlFailed
from harness.play.promises import Look, keep_alive


def address(container: Container, given: Mapping[str, str]) -> str:
    """Check that a message to the address waits there for who comes later."""
    where = given["address"]
    connection = container.connection()
    connection.beats()
    sender = connection.begin().sender(where)
    sender.delivers(b"kept")
    sender.detach()
    receiver = connection.begin().receiver(where)
    receiver.settles(*receiver.takes(1))
    receiver.detach()
    return f"a message to {where} waits there for a receiver"


def removable_address(container: Container, given: Mapping[str, str]) -> str:
    """Check that links to and from the address attach."""
    where, connection = given["address"], container.connection()
    connection.beats()
    connection.begin().sender(where).detach()
    connection.begin().receiver(where).detach()
    return f"links to and from {where} attach"


def idle_timeout(container: Container, given: Mapping[str, str]) -> str:
    """Check that the server's open states an idle-time-out, the one the description gives if it does."""
    stated = container.connection().partner.idle_time_out
    told = "none" if stated is None else str(int(stated))
    promised = given.get("idle-time-out", told)
    if stated is None or told != promised:
        raise ControlFailed(f"the idle-time-out of {promised} ms", f"an open that states {told}")
    return f"its open states an idle-time-out of {told} ms"


def secure_port(container: Container, given: Mapping[str, str]) -> str:
    """Check that a TLS handshake is completed on the port, whoever the certificate is for."""
    del given  # who needs a port to get there looks for it; a peer in memory has none
    container.behind_tls()
    return "a TLS handshake is completed"


def no_address(container: Container, given: Mapping[str, str]) -> str:
    """Check that a link from the source and a link to the target are refused."""
    session = container.session()
    ends = {"source": (Role.RECEIVER, Target(), "target"), "target": (Role.SENDER, Source(), "source")}
    for end, (role, ours, our_end) in ends.items():
        node = (Source if end == "source" else Target)(given[end])
        session.send(session.the_attach(role, **{end: node, our_end: ours}))
        answer = session.control("attach", Attach, Detach, End, Close)
        if isinstance(answer, Attach) and answer.carried(end) is None:
            session.control("attach", Detach)
        elif isinstance(answer, Attach):
            raise ControlFailed(f"a link without {end}", "an attach with one")
        if not isinstance(answer, (Attach, Detach)):
            session = container.session()
    return f"links from {given['source']} and to {given['target']} are refused"


def powerless_user(container: Container, given: Mapping[str, str]) -> str:
    """Check that the user can open a connection and begin a session."""
    connection = container.negotiated(user=given["user"], password=given["password"])
    connection.open()
    connection.begin()
    return f"{given['user']} opens and begins"


LOOKS: Mapping[str, Look[Container]] = {
    "address": address,
    "removable-address": removable_address,
    "no-address": no_address,
    "powerless-user": powerless_user,
    "idle-timeout": idle_timeout,
    "keep-alive": keep_alive,
    "secure-port": secure_port,
}
"""By facility."""
