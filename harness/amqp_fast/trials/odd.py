"""Octets and commands of AMQP/Fast as odd as a fuzzer draws them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from harness.amqp_fast.wire.commands import Command, Record
from harness.amqp_fast.wire.frames import Initiation, RawFrame, frame
from harness.amqp_fast.wire.tables import Tagged, Time
from harness.amqp_fast.wire.vocabulary import COMMANDS, MessageHead
from harness.trials.fuzz import Draws

KINDS = tuple(COMMANDS.values())


def value(draws: Draws) -> Any:
    """Give a value of a table, of a type that there is or not."""
    choice = draws.number() % 5
    if choice == 0:
        return draws.piece()
    if choice == 1:
        return draws.number() - 128
    if choice == 2:
        return Time(draws.number())
    if choice == 3:
        return Decimal(draws.number()).scaleb(-(draws.number() % 9))
    return Tagged(bytes((draws.number(),)), draws.piece())


def table(draws: Draws) -> Any:
    """Give the fields of a table, or octets that may be none."""
    if draws.flag():
        return draws.piece()
    return [(f"F{draws.number()}", value(draws)) for _ in range(draws.number() % 4)]


def record(draws: Draws, kind: type[Record]) -> Record:
    """Give a record of a kind whose fields hold anything."""
    given: dict[str, Any] = {}
    for name, field in zip(kind.names, kind.fields, strict=True):
        if field.type == "table":
            given[name] = table(draws)
        elif field.type in ("shortstr", "longstr"):
            given[name] = draws.piece()[:255]
        else:
            given[name] = draws.number() % (2 if field.type == "bit" else 256)
    return kind(**given)


def command(draws: Draws) -> Command:
    """Give a command whose fields hold anything."""
    made = record(draws, draws.one_of(KINDS))
    assert isinstance(made, Command)
    return made


def unit(draws: Draws) -> bytes:
    """Give a frame with a fragment, one that lies, an initiation, or any octets."""
    choice = draws.number() % 5
    if choice == 0:
        return draws.piece()
    if choice == 1:
        return Initiation(draws.number(), draws.number()).encode()
    if choice == 2:
        return RawFrame(draws.piece(), draws.number(), bytes((draws.number(),)), draws.flag()).encode()
    said = command(draws)
    if said.spec.fragment and draws.flag():
        head = record(draws, MessageHead).encode() + draws.piece()
        return frame(said.replace(fragment_size=len(head)), head).encode()
    return frame(said).encode()
