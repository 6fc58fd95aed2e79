"""Python source for the methods and properties of a grammar: initialisers, encoders and decoders.

Neighbours of fixed size become one struct call, bits one octet. The decoders read everything, but when
something is wrong they only notice; `reread` then finds the octet. In the scope of what is written here stand
`cls`, `new`, `pack`, `unpack_from`, `error`, `refused`, `reread` and the functions for strings and tables.
"""

from collections.abc import Sequence
from typing import Final

from harness.amqp0_9_1.wire.fields import FIXED, PYTHON, attribute, runs
from spec.readers.amqp0_9_1 import Field, Method

ENCODERS: Final = {"shortstr": "shortstr", "longstr": "longstr", "table": "encode_table"}
_SIZES: Final = {"B": 1, "H": 2, "I": 4, "Q": 8}


def initialiser(fields: Sequence[Field], absent: bool) -> str:
    """Write `__init__`: reserved fields by keyword only; with `absent` None stands for a missing property."""
    plain = [field for field in fields if not field.reserved]
    reserved = [field for field in fields if field.reserved]
    arguments = [_argument(field, absent) for field in plain]
    arguments += ["*", *(_argument(field, absent) for field in reserved)] if reserved else []
    body = "".join(f"\n self.{attribute(field.name)} = {attribute(field.name)}" for field in fields)
    return f"def __init__(self{''.join(f', {argument}' for argument in arguments)}):{body or ' pass'}"


def _argument(field: Field, absent: bool) -> str:
    return f"{attribute(field.name)}={None if absent else PYTHON[field.type][1]}"


def method_encoder(method: Method) -> str:
    """Write `encode`: the payload of a method frame."""
    parts: list[str] = []
    # The class and method index lead the first numbers.
    codes, values = "HH", [str(method.class_index), str(method.index)]

    def flush() -> None:
        nonlocal codes, values
        if codes:
            parts.append(f"pack('>{codes}', {', '.join(values)})")
        codes, values = "", []

    for kind, fields in runs(method.fields):
        names = [attribute(field.name) for field in fields]
        if kind == "fixed":
            codes += "".join(FIXED[field.type] for field in fields)
            values += [f"self.{name}" for name in names]
        elif kind == "bits":
            codes += "B"
            values.append(" | ".join(f"(self.{name} and {1 << bit})" for bit, name in enumerate(names)))
        else:
            flush()
            parts.append(f"{ENCODERS[kind]}(self.{names[0]})")
    flush()
    return _guarded(
        "def encode(self):", [f"return {' + '.join(parts)}"], "raise refused(self, failure) from None"
    )


def method_decoder(method: Method) -> str:
    """Write `decode`: an instance from the payload of a method frame."""
    lines = ["self = new(cls)", "at = 4"]
    for kind, fields in runs(method.fields):
        names = [attribute(field.name) for field in fields]
        if kind == "fixed":
            lines += _read_numbers(fields)
        elif kind == "bits":
            bits = [f"self.{name} = bits & {1 << bit} != 0" for bit, name in enumerate(names)]
            lines += ["bits = octets[at]", "at += 1", *bits]
        else:
            lines += _read_string(kind, names[0])
    lines += ["if at != len(octets): raise IndexError", "return self"]
    return _guarded("def decode(octets):", lines, "return reread(cls, octets, 4)")


def properties_encoder(fields: Sequence[Field]) -> str:
    """Write `encode`: the flags and the properties that are not None."""
    lines = ["flags = 0", "parts = []"]
    for position, field in enumerate(fields):
        write = (
            f"pack('>{FIXED[field.type]}', value)"
            if field.type in FIXED
            else f"{ENCODERS[field.type]}(value)"
        )
        lines += [
            f"value = self.{attribute(field.name)}",
            "if value is not None:",
            f" flags |= {1 << (15 - position)}",
            f" parts.append({write})",
        ]
    lines.append("return pack('>H', flags) + b''.join(parts)")
    return _guarded("def encode(self):", lines, "raise refused(self, failure) from None")


def properties_decoder(fields: Sequence[Field]) -> str:
    """Write `decode`: an instance from the flags and properties at `start` to the end of the payload."""
    undefined = (1 << (16 - len(fields))) - 1
    lines = ["self = new(cls)", "flags, = unpack_from('>H', octets, start)", "at = start + 2"]
    lines.append(f"if flags & {undefined}: raise IndexError")
    for position, field in enumerate(fields):
        name = attribute(field.name)
        read = _read_numbers([field]) if field.type in FIXED else _read_string(field.type, name)
        lines.append(f"if flags & {1 << (15 - position)}:")
        lines += [f" {line}" for line in read]
        lines.append(f"else: self.{name} = None")
    lines += ["if at != len(octets): raise IndexError", "return self"]
    return _guarded("def decode(octets, start):", lines, "return reread(cls, octets, start)")


def _read_numbers(fields: Sequence[Field]) -> list[str]:
    codes = "".join(FIXED[field.type] for field in fields)
    targets = ", ".join(f"self.{attribute(field.name)}" for field in fields)
    return [
        f"{targets}, = unpack_from('>{codes}', octets, at)",
        f"at += {sum(map(_SIZES.__getitem__, codes))}",
    ]


def _read_string(kind: str, name: str) -> list[str]:
    # A length that reaches too far leaves `at` behind the end, which the last line of the decoder sees.
    if kind == "table":
        # The empty table is by far the most frequent one.
        return [
            "if octets[at:at + 4] == b'\\0\\0\\0\\0':",
            f" self.{name} = {{}}",
            " at += 4",
            f"else: self.{name}, at = decode_table(octets, at)",
        ]
    if kind == "longstr":
        length = ["to = at + 4 + int.from_bytes(octets[at:at + 4])", f"self.{name} = octets[at + 4:to]"]
        return [*length, "at = to"]
    return [
        "to = at + 1 + octets[at]",
        "raw = octets[at + 1:to]",
        "if 0 in raw: raise IndexError",
        f"self.{name} = raw.decode()",
        "at = to",
    ]


def _guarded(head: str, lines: Sequence[str], otherwise: str) -> str:
    # ValueError covers DecodeError, EncodeError and what is not UTF-8.
    body = "".join(f"\n  {line}" for line in lines)
    failures = "(error, IndexError, TypeError, AttributeError, ValueError)"
    return f"{head}\n try:{body}\n except {failures} as failure:\n  {otherwise}"
