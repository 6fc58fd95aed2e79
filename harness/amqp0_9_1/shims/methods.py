"""Methods as a shim is told them: by name, with arguments as the document names them."""

from collections.abc import Mapping
from typing import Any

from harness.amqp0_9_1.shims.values import taken, told
from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.fields import attribute
from harness.amqp0_9_1.wire.vocabulary import CODEC, Basic
from harness.shims.contract import Kind, Refused

UNTOLD: Mapping[type[Method], tuple[type[Method], ...]] = {Basic.Recover: (Basic.RecoverOk,)}
"""Replies that the grammar does not tell."""


def made(name: str, args: Mapping[str, Any]) -> Method:
    """Make a method. Raises Refused for one, or a field, that is not there."""
    kind = CODEC.methods.get(name)
    if kind is None:
        raise Refused(Kind.UNSUPPORTED, f"there is no method {name}")
    if unknown := args.keys() - {field.name for field in kind.fields}:
        raise Refused(Kind.UNSUPPORTED, f"{name} has no {', '.join(sorted(unknown))}")
    return kind(**{attribute(field): taken(each) for field, each in args.items()})


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
