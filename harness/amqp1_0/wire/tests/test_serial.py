"""Serial numbers count, compare and wrap as RFC 1982 has it."""

from hypothesis import given
from hypothesis import strategies as st

from harness.amqp1_0.wire.encoding import encode
from harness.amqp1_0.wire.serial import HALF, SIZE, Serial
from harness.amqp1_0.wire.types import Uint

numbers = st.integers(0, SIZE - 1).map(Serial)
near = st.integers(1, HALF - 1)


def test_a_serial_number_wraps_around() -> None:
    assert Serial(SIZE - 1) + 1 == 0
    assert Serial(SIZE + 3) == 3
    assert type(Serial(1) + 1) is Serial
    assert Serial(SIZE - 1) < 0 < Serial(1)
    assert Serial(0) > SIZE - 1
    assert Serial(2) - (SIZE - 2) == 4
    assert Serial(SIZE - 2) - 2 == -4


@given(numbers, near)
def test_what_is_added_comes_behind_and_is_the_difference(number: Serial, steps: int) -> None:
    later = number + steps
    assert later > number
    assert later >= number
    assert number < later
    assert number <= later
    assert not later <= number
    assert later - number == steps
    assert number - later == -steps


@given(numbers)
def test_a_number_is_its_own_and_half_the_circle_away_is_before(number: Serial) -> None:
    assert number <= number
    assert number >= number
    assert not number < number
    assert (number + HALF) - number == -HALF


@given(numbers)
def test_it_is_written_and_looked_up_as_the_uint_it_is(number: Serial) -> None:
    assert encode(number) == encode(Uint(number))
    assert {int(number): "found"}[number] == "found"
