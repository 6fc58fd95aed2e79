"""Frames of an exact size, which the rules about limits are tried with."""

from __future__ import annotations

import pytest

from harness.amqp1_0.client.session import the_begin
from harness.amqp1_0.wire.composites import Composite
from harness.amqp1_0.wire.frames import amqp_frame
from harness.amqp1_0.wire.performatives import Open
from scenarios.amqp1_0.performatives.s2_7_1_limits import MOST, filled


@pytest.mark.parametrize("performative", [Open("a"), Open("a" * 150), the_begin()], ids=str)
@pytest.mark.parametrize("octets", [512, 513, 65536, 65537, MOST])
def test_a_filled_performative_takes_a_frame_of_that_size(performative: Composite, octets: int) -> None:
    assert len(amqp_frame(0, filled(performative, octets)).encode()) == octets
