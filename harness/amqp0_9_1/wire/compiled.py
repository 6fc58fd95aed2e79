"""Method classes and content properties, compiled from the grammar.

For every method of the document one Python class with slots, an encoder and a strict decoder that reads
every field. The source of both is written from the fields and compiled once, so that nothing in the
document is typed again and nothing is looked up per field at run time.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, ClassVar, Self

from harness.amqp0_9_1.wire import generated as source
from harness.amqp0_9_1.wire.field_tables import decode_table, encode_table, longstr, shortstr
from harness.amqp0_9_1.wire.fields import attribute, class_name, field_spans, property_spans, write_field
from harness.wire.units import DecodeError, EncodeError
from spec.readers.amqp0_9_1 import Class as GrammarClass
from spec.readers.amqp0_9_1 import Field, Grammar
from spec.readers.amqp0_9_1 import Method as GrammarMethod


class Record:
    """What methods and properties share: equality and a readable form over their fields."""

    __slots__ = ()
    fields: ClassVar[tuple[Field, ...]]
    names: ClassVar[tuple[str, ...]]
    """The Python names of the fields, in their order."""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and all(
            getattr(self, name) == getattr(other, name) for name in self.names
        )

    def __hash__(self) -> int:
        # Tables are left out: they are dictionaries.
        plain = (name for name, field in zip(self.names, self.fields, strict=True) if field.type != "table")
        return hash((type(self), *(getattr(self, name) for name in plain)))

    def __repr__(self) -> str:
        shown = (
            (name, getattr(self, name))
            for name, field in zip(self.names, self.fields, strict=True)
            if not field.reserved
        )
        values = ", ".join(
            f"{name}={value!r}" for name, value in shown if value not in (None, "", b"", {}, False)
        )
        return f"{type(self).__qualname__}({values})"


class Method(Record):
    """A method frame's payload; subclasses are compiled, one per method of the document."""

    __slots__ = ()
    spec: ClassVar[GrammarMethod]
    full_name: ClassVar[str]
    key: ClassVar[int]

    def encode(self) -> bytes:
        """Encode the payload of the method frame: class, method, arguments. Raises EncodeError."""
        raise NotImplementedError

    @classmethod
    def decode_arguments(cls, octets: bytes) -> Method:
        """Read all fields from a payload of this method. Raises DecodeError with the exact octet."""
        raise NotImplementedError

    def replace(self, **changes: Any) -> Self:
        """Copy the method with some fields changed."""
        return type(self)(**({name: getattr(self, name) for name in self.names} | changes))


class Properties(Record):
    """The properties of a content class; None stands for a property that is absent."""

    __slots__ = ()
    class_index: ClassVar[int]

    def encode(self) -> bytes:
        """Encode the flags and the properties present (4.2.6.1). Raises EncodeError."""
        raise NotImplementedError

    @classmethod
    def decode(cls, octets: bytes, offset: int) -> Properties:
        """Read flags and properties up to the end of the payload. Raises DecodeError."""
        raise NotImplementedError


def _refused(record: Record, failure: Exception) -> EncodeError:
    # Values are not quoted: one of them may be a password.
    for name, field in zip(record.names, record.fields, strict=True):
        value = getattr(record, name)
        if field.type == "bit" or (value is None and isinstance(record, Properties)):
            continue
        try:
            write_field(field.type, value)
        except EncodeError as refusal:
            return EncodeError(f"{type(record).__qualname__}, field {field.name}: {refusal}")
    return EncodeError(f"{type(record).__qualname__}: {failure}")


def _reread_method(cls: type[Method], octets: bytes, at: int) -> Method:
    return cls(**{attribute(span.name): span.value for span in field_spans(cls.fields, octets, at)})


def _reread_properties(cls: type[Properties], octets: bytes, at: int) -> Properties:
    # Flags may run on over more words than needed: rare, but within the grammar.
    _, *present = property_spans(cls.fields, octets, at)
    return cls(**{attribute(span.name): span.value for span in present})


def _compile(text: str, scope: dict[str, Any]) -> Any:
    exec(compile(text, "<compiled from the grammar>", "exec"), scope)
    return scope[text[4 : text.index("(")]]


def _scope(reread: Callable[..., Any]) -> dict[str, Any]:
    return {
        "new": object.__new__,
        "pack": struct.pack,
        "unpack_from": struct.unpack_from,
        "error": struct.error,
        "refused": _refused,
        "reread": reread,
        "shortstr": shortstr,
        "longstr": longstr,
        "encode_table": encode_table,
        "decode_table": decode_table,
    }


def compile_method(method: GrammarMethod) -> type[Method]:
    """Make the class of one method, with `encode` and `decode_arguments` compiled for its fields."""
    names = tuple(attribute(field.name) for field in method.fields)
    scope = _scope(_reread_method)
    body = {
        "__slots__": names,
        "__doc__": f"{method.full_name}: {method.label}",
        "__qualname__": f"{class_name(method.class_name)}.{class_name(method.name)}",
        "__module__": "harness.amqp0_9_1.wire.vocabulary",
        "__init__": _compile(source.initialiser(method.fields, absent=False), scope),
        "spec": method,
        "fields": method.fields,
        "names": names,
        "full_name": method.full_name,
        "key": method.class_index << 16 | method.index,
        "encode": _compile(source.method_encoder(method), scope),
        "decode_arguments": staticmethod(_compile(source.method_decoder(method), scope)),
    }
    scope["cls"] = type(class_name(method.name), (Method,), body)
    return scope["cls"]  # type: ignore[no-any-return]


def compile_properties(content: GrammarClass) -> type[Properties]:
    fields = content.properties
    names = tuple(attribute(field.name) for field in fields)
    scope = _scope(_reread_properties)
    body = {
        "__slots__": names,
        "__doc__": f"The properties of {content.name} content; None is absent.",
        "__qualname__": f"{class_name(content.name)}.Properties",
        "__module__": "harness.amqp0_9_1.wire.vocabulary",
        "__init__": _compile(source.initialiser(fields, absent=True), scope),
        "fields": fields,
        "names": names,
        "class_index": content.index,
        "encode": _compile(source.properties_encoder(fields), scope),
        "decode": staticmethod(_compile(source.properties_decoder(fields), scope)),
    }
    scope["cls"] = type("Properties", (Properties,), body)
    return scope["cls"]  # type: ignore[no-any-return]


class Codec:
    """All methods and properties of a grammar, by their wire numbers and by their names."""

    def __init__(self, grammar: Grammar) -> None:
        self.methods: dict[str, type[Method]] = {}
        self.properties: dict[int, type[Properties]] = {}
        for content in grammar.classes:
            for method in content.methods:
                self.methods[method.full_name] = compile_method(method)
            if content.properties:
                self.properties[content.index] = compile_properties(content)
        self._by_key = {method.key.to_bytes(4): method for method in self.methods.values()}

    def method_class(self, payload: bytes) -> type[Method]:
        """Find the method a payload begins with. Raises DecodeError when class or method is unknown."""
        found = self._by_key.get(payload[:4])
        if found is None:
            if len(payload) < 4:
                raise DecodeError(len(payload), "the class and method index are cut short")
            numbers = f"{int.from_bytes(payload[:2])}.{int.from_bytes(payload[2:4])}"
            raise DecodeError(0, f"no method has the class and index {numbers}")
        return found

    def decode_method(self, payload: bytes) -> Method:
        """Read a method frame's payload, every field of it. Raises DecodeError with the exact octet."""
        return (self._by_key.get(payload[:4]) or self.method_class(payload)).decode_arguments(payload)
