"""Write the dissector for Wireshark: `python -m harness.amqp_fast.dissector`, after a change of the grammar.

`dissector.lua` beside this module is how octets are read; names, codes and fields stand in the grammar.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from spec.readers.amqp_fast import Field, Grammar, grammar

BODY = Path(__file__).with_name("dissector.lua")
WRITTEN = Path(__file__).parents[2] / "ci" / "wireshark" / "amqp-fast.lua"

_HEAD = """\
-- AMQP/Fast (AMQ RFC 006, 2005) for Wireshark: tshark -X lua_script:amqp-fast.lua -r capture.pcapng
-- Written from the grammar by `python -m harness.amqp_fast.dissector`; do not edit.
"""


def dissector(words: Grammar) -> str:
    """Give the text of the dissector for a grammar."""
    return _HEAD + "\n".join(_tables(words)) + "\n\n" + BODY.read_text(encoding="utf-8")


def ambiguous(words: Grammar) -> list[str]:
    """Name the fields that are of one type in a command, and of another in a second one."""
    types: dict[str, set[str]] = {}
    for field in (field for command in words.commands for field in command.fields):
        types.setdefault(field.name, set()).add(field.type)
    return [name for name, found in types.items() if len(found) > 1]


def _tables(words: Grammar) -> Iterator[str]:
    yield "local GRAMMAR = {"
    yield f"  protocol_id = {words.protocol_id},"
    yield f"  frame_end = {words.frame_end},"
    yield "  commands = {"
    for each in words.commands:
        fragment = str(each.fragment).lower()
        yield f'    [{each.code}] = {{ name = "{each.full_name}", fragment = {fragment},'
        yield f"      fields = {_fields(each.fields)} }},"
    yield "  },"
    yield f"  message = {_fields(words.message)},"
    yield "  choices = {"
    for name, choices in words.choices.items():
        values = ", ".join(f'[{number}] = "{each}"' for each, number in choices.items())
        yield f'    ["{name}"] = {{ {values} }},'
    yield "  },"
    doubtful = ", ".join(f'["{name}"] = true' for name in ambiguous(words))
    yield f"  ambiguous = {{ {doubtful} }},"
    yield "  names = {},"
    yield "}"
    yield "for code, command in pairs(GRAMMAR.commands) do GRAMMAR.names[code] = command.name end"


def _fields(fields: Sequence[Field]) -> str:
    return "{ " + ", ".join(f'{{ "{each.name}", "{each.type}" }}' for each in fields) + " }"


if __name__ == "__main__":
    WRITTEN.write_text(dissector(grammar()), encoding="utf-8")
