"""An interposer cuts what goes a way where it has a rule for that way: the rest is as it was without one."""

from __future__ import annotations

from harness.peers.interposer import Rule
from harness.targets.tests.test_slow import Echo
from harness.tests.toy.broken import Interposer, says
from harness.tests.toy.wire.frames import Frame

ONE, TWO = Frame(b"one").encode(), Frame(b"two").encode()


class Pieces(Echo):
    """Keeps how what it hears comes."""

    def __init__(self) -> None:
        super().__init__()
        self.came: list[bytes] = []

    def receive(self, octets: bytes) -> None:
        super().receive(octets)
        if octets:
            self.came.append(octets)


def test_what_the_client_says_comes_at_once_where_rules_are_for_the_server() -> None:
    server = Pieces()
    passed = says(b"other").connected(server)
    passed.receive(ONE + TWO)
    assert server.came == [ONE + TWO]
    assert passed.take() == Frame(b"other").encode() * 2


def test_where_a_rule_is_for_the_client_it_meets_unit_by_unit() -> None:
    server = Pieces()
    passed = Interposer((Rule(Frame, False, lambda _, unit: ([unit], [])),)).connected(server)
    passed.receive(ONE + TWO[:2])
    passed.receive(TWO[2:])
    assert server.came == [ONE, TWO]
    assert passed.take() == ONE + TWO
