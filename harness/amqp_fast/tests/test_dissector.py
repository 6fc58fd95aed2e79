"""The dissector for Wireshark is that of the grammar."""

from __future__ import annotations

import re

from harness.amqp_fast.dissector import WRITTEN, ambiguous, dissector
from spec.readers.amqp_fast import grammar


def test_it_is_written_from_the_grammar() -> None:
    again = "python -m harness.amqp_fast.dissector"
    assert WRITTEN.read_text(encoding="utf-8") == dissector(grammar()), f"it is stale: {again}"


def test_it_has_every_command_with_its_fields_in_order() -> None:
    lines = re.findall(r'\[(\d+)\] = \{ name = "([A-Z ]+)",.*\n *fields = (.*) \},', dissector(grammar()))
    found = {
        (int(code), name): re.findall(r'"([a-z-]+)", "([a-z]+)"', fields) for code, name, fields in lines
    }
    assert found == {
        (each.code, each.full_name): [(field.name, field.type) for field in each.fields]
        for each in grammar().commands
    }


def test_fields_of_one_name_and_two_types_are_told_apart() -> None:
    assert ambiguous(grammar()) == ["out-of-band", "selector"]
