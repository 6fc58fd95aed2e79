"""Methods as a shim is told them: by name, with arguments as the document names them, held to its asserts."""

import re
from collections.abc import Mapping
from typing import Any

from harness.amqp0_9_1.shims.values import taken, told
from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.fields import attribute
from harness.amqp0_9_1.wire.vocabulary import CODEC, Basic
from harness.shims.contract import Kind, Refused
from spec.readers.amqp0_9_1 import Assert

UNTOLD: Mapping[type[Method], tuple[type[Method], ...]] = {Basic.Recover: (Basic.RecoverOk,)}
"""Replies that the grammar does not tell."""


def made(name: str, args: Mapping[str, Any]) -> Method:
    """Make a method. Raises Refused for one, or a field, that is not there, and for a broken assert."""
    kind = CODEC.methods.get(name)
    if kind is None:
        raise Refused(Kind.UNSUPPORTED, f"there is no method {name}")
    if unknown := args.keys() - {field.name for field in kind.fields}:
        raise Refused(Kind.UNSUPPORTED, f"{name} has no {', '.join(sorted(unknown))}")
    kept(name, args)
    return kind(**{attribute(field): taken(each) for field, each in args.items()})


def kept(name: str, args: Mapping[str, Any]) -> None:
    """Make sure that the arguments of a method keep the asserts of its fields. Raises Refused."""
    for field in CODEC.methods[name].fields:
        if field.name not in args:
            continue
        for each in field.asserts:
            if not _keeps(each, args[field.name]):
                raise Refused(
                    Kind.LOCAL, f"{name}: {field.name} breaks {each.check} {each.value or ''}".strip()
                )


def _keeps(demand: Assert, value: Any) -> bool:
    limit = demand.value or ""
    match demand.check:
        case "notnull":
            return bool(value)
        case "length":
            return len(str(value)) <= int(limit)
        case "regexp":
            return re.match(limit, str(value)) is not None
    return True


def replies(method: Method) -> tuple[type[Method], ...]:
    """Give the methods that answer it; none where it says that none shall."""
    if getattr(method, "no_wait", False):
        return ()
    spec = method.spec
    return UNTOLD.get(type(method)) or tuple(
        CODEC.methods[f"{spec.class_name}.{each}"] for each in spec.responses
    )


def told_fields(answer: Method) -> dict[str, Any]:
    """Tell the fields of a reply."""
    plain = (field for field in answer.fields if not field.reserved)
    values = {field.name: getattr(answer, attribute(field.name)) for field in plain}
    return {name: value if isinstance(value, int) else told(value) for name, value in values.items()}
