"""What a whole server does wrong, seen by a client: wherever it closes, and nowhere else."""

from __future__ import annotations

import pytest

from harness.amqp0_9_1.broken.end_faults import BROAD
from harness.amqp0_9_1.peer import Peer
from harness.amqp0_9_1.peer.tests.dialogue import Client
from harness.amqp0_9_1.wire.vocabulary import CHANNEL_ERROR, INTERNAL_ERROR, NOT_FOUND, Channel, Queue
from harness.dialect import dialect

MISSING = Queue.Declare("missing", passive=True)
TWICE = Channel.Open()


def client(says: str) -> Client:
    peer = dialect("0-9-1").proof.peer(BROAD[says])
    assert isinstance(peer, Peer)
    return Client(peer)


@pytest.mark.parametrize("says", list(BROAD))
def test_what_is_no_error_is_served_as_ever(says: str) -> None:
    assert client(says).ask(Queue.Declare("q")) == Queue.DeclareOk("q", 0, 0)


def test_it_ends_the_socket_in_place_of_its_close() -> None:
    says = "ends the socket in place of its Close"
    assert client(says).is_silently_closed(TWICE)
    assert client(says).is_refused(MISSING) == (NOT_FOUND, "channel")


def test_it_closes_the_connection_in_place_of_the_channel() -> None:
    says = "closes the connection in place of the channel"
    assert client(says).is_refused(MISSING) == (NOT_FOUND, "connection")
    assert client(says).is_refused(TWICE) == (CHANNEL_ERROR, "connection")


def test_it_has_one_code_for_all() -> None:
    says = "closes by internal-error, whatever it is"
    assert client(says).is_refused(MISSING) == (INTERNAL_ERROR, "channel")
    assert client(says).is_refused(TWICE) == (INTERNAL_ERROR, "connection")
