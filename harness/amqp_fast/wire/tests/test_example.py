"""The table of the document's example (3.2.4.1), octet for octet."""

from __future__ import annotations

from harness.amqp_fast.wire.tables import encode_table, read_table

EXAMPLE = b"\x00\x1c\x05LOGINS\x00\x05Johan\x08PASSWORDS\x00\x02Ok"


def test_the_table_of_the_example_is_written_as_it_stands() -> None:
    fields = {"LOGIN": b"Johan", "PASSWORD": b"Ok"}
    assert encode_table(fields) == EXAMPLE
    assert read_table(EXAMPLE, 0) == (fields, len(EXAMPLE))


def test_of_a_field_that_stands_twice_the_first_counts() -> None:
    table, _ = read_table(encode_table([("A", 1), ("A", 2)]), 0)
    assert table == {"A": 1}
    assert table.pairs == (("A", 1), ("A", 2))
