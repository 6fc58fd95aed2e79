"""Composite types as classes, made from the grammar: what performatives, SASL frames and outcomes share.

An instance holds what it carries, in the order of the grammar: `values`, None for null or absent. Its
attributes say what that means: the default where the document has one, a tuple where a field is `multiple`.
Nothing is refused for what it means: a peer's mistakes are read, and named by `breaches`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Final, NamedTuple, NoReturn, Self

from harness.amqp1_0.wire.decoding import decode, decode_described
from harness.amqp1_0.wire.encoding import array, described_by_octets, encode, type_of, typed
from harness.amqp1_0.wire.generated import GRAMMAR, attribute, class_name, elementary, restrictions
from harness.amqp1_0.wire.types import Array, Described, Encodable, Map, Symbol, Ulong
from harness.wire.units import DecodeError, EncodeError
from spec.readers.amqp1_0 import Composite as GrammarComposite
from spec.readers.amqp1_0 import Field


class Breach(NamedTuple):
    """A field that is not as the grammar has it; `field` is the document's name, with dots inside another."""

    field: str
    what: str


class Composite(Encodable):
    """A described list of fields; subclasses are made, one per composite type of the document.

    Arguments are given in the order of the grammar or by name, plain values take the type of the field.
    `values` are those carried, `unknown` what follows the last field of the grammar, `width` the number of
    elements where more stand on the wire than the last one needs, `descriptor` the number or the symbol.
    """

    __slots__ = ("descriptor", "found", "unknown", "values", "width")
    spec: ClassVar[GrammarComposite]
    type_name: ClassVar[str]
    """The document's name of the type."""
    names: ClassVar[tuple[str, ...]]
    """The Python names of the fields, in their order."""
    values: tuple[Any, ...]
    unknown: tuple[Any, ...]
    width: int
    descriptor: Any
    found: tuple[Breach, ...]

    def __init__(self, *values: Any, **named: Any) -> None:
        fields = self.spec.fields
        if len(values) > len(fields):
            raise TypeError(f"{self.type_name} has {len(fields)} fields, not {len(values)}")
        carried = [None] * len(fields)
        for place, value in (*enumerate(values), *self._places(named, len(values))):
            carried[place] = _given(self.type_name, fields[place], value)
        _put_values(self, tuple(carried))
        _put_unknown(self, ())
        _put_width(self, 0)
        _put_descriptor(self, _NUMBER[self.type_name])

    @classmethod
    def _places(cls, named: Mapping[str, Any], positional: int) -> Iterator[tuple[int, Any]]:
        for name, value in named.items():
            place = cls.names.index(name) if name in cls.names else -1
            if place < positional:
                raise TypeError(f"{cls.type_name} has no field {name}, or it is given twice")
            yield place, value

    @classmethod
    def of(cls, items: tuple[Any, ...], descriptor: Any) -> Self:
        """Make what a list with this descriptor carries; composites are recognised in its fields."""
        room, count = len(cls.names), len(items)
        values, unknown = (items, ()) if count <= room else (items[:room], items[room:])
        width = count if values and values[-1] is None and not unknown else 0
        if values and not _NESTING.isdisjoint(map(type, values)):
            values = tuple([recognise(item) if type(item) in _NESTING else item for item in values])
        if count < room:
            values += (None,) * (room - count)
        return cls._with(values, unknown, width, descriptor)

    @classmethod
    def _with(cls, values: tuple[Any, ...], unknown: tuple[Any, ...], width: int, descriptor: Any) -> Self:
        self = _bare(cls)
        _put_values(self, values)
        _put_unknown(self, unknown)
        _put_width(self, width)
        _put_descriptor(self, descriptor)
        return self

    def carried(self, name: str) -> Any:
        """Give a field's value by its Python name, as it was or will be sent; None for null or absent."""
        return self.values[self.names.index(name)]

    def absent(self, name: str) -> bool:
        """Say whether the list ends before this field, given by its Python name: it is not even null."""
        return self.names.index(name) >= len(self.elements())

    def elements(self) -> tuple[Any, ...]:
        """Give the elements of the list on the wire: nulls at its end only where `width` counts them."""
        if self.unknown:
            return self.values + self.unknown
        values, width = self.values, self.width
        count = len(values)
        while count and values[count - 1] is None:
            count -= 1
        return (values + (None,) * width)[: max(count, width)] if width else values[:count]

    def described(self) -> Described:
        """Give it as a plain described list, to be changed in ways the grammar has no place for."""
        return Described(self.descriptor, self.elements())

    def encode(self) -> bytes:
        """Encode the described list. Raises EncodeError naming the field."""
        try:
            return described_by_octets(self.descriptor) + encode(self.elements())
        except EncodeError as failure:
            raise self._refused(failure) from None

    def _refused(self, failure: EncodeError) -> EncodeError:
        for field, value in zip(self.spec.fields, self.values, strict=True):
            try:
                encode(value)
            except EncodeError as refusal:
                return EncodeError(f"{self.type_name}, field {field.name}: {refusal}")
        return EncodeError(f"{self.type_name}: {failure}")

    def replace(self, **changes: Any) -> Self:
        """Copy it with some fields changed."""
        values = list(self.values)
        for place, value in self._places(changes, 0):
            values[place] = _given(self.type_name, self.spec.fields[place], value)
        return self._with(tuple(values), self.unknown, self.width, self.descriptor)

    def sent_as(self, *, descriptor: Any = None, width: int | None = None, unknown: Any = None) -> Self:
        """Copy it to be written with another `descriptor`, or as `width` elements, with nulls at the end."""
        return self._with(
            self.values,
            self.unknown if unknown is None else tuple(unknown),
            self.width if width is None else width,
            self.descriptor if descriptor is None else descriptor,
        )

    def breaches(self) -> tuple[Breach, ...]:
        """Give each field the grammar would not have so: missing, of another type, none of the choices."""
        try:
            return self.found
        except AttributeError:  # nobody has asked yet; what cannot be changed is looked at once
            _put_found(self, tuple(self._wrong()))
            return self.found

    def _wrong(self) -> Iterator[Breach]:
        for field, value in zip(self.spec.fields, self.values, strict=True):
            if value is None:
                if field.mandatory:
                    yield Breach(field.name, "is mandatory, and null or absent")
            elif field.multiple and isinstance(value, Array):
                yield from _array_breaches(field, value)
            else:
                yield from _breaches(field, value)

    def is_as_defined(self) -> bool:
        """Say whether the grammar has it so: no field too many, and none that `breaches` names."""
        return not self.unknown and not self.breaches()

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{self.type_name} cannot be changed, replace() gives a changed copy")

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return False
        assert isinstance(other, Composite)
        return self.values == other.values and self.unknown == other.unknown

    def __hash__(self) -> int:
        return hash((type(self), self.values))

    def __repr__(self) -> str:
        given = [f"{name}={value!r}" for name, value in zip(self.names, self.values, strict=True)]
        shown = [each for each, value in zip(given, self.values, strict=True) if value is not None]
        return f"{type(self).__qualname__}({', '.join(shown)})"

    def __reduce__(self) -> tuple[Callable[..., Composite], tuple[Any, ...]]:
        return _restore, (self.type_name, self.values, self.unknown, self.width, self.descriptor)


_bare: Final = object.__new__
_put_values, _put_unknown, _put_width, _put_descriptor, _put_found = (
    getattr(Composite, name).__set__ for name in ("values", "unknown", "width", "descriptor", "found")
)


def _restore(name: str, *parts: Any) -> Composite:
    return CLASSES[name]._with(*parts)


# -- what is given -------------------------------------------------------------------------------------


def _given(owner: str, field: Field, value: Any) -> Any:
    """Turn a plain Python value into the field's; a list or tuple for a multiple field is an array."""
    kind = elementary(field.type)
    try:
        if field.multiple and type(value) in (list, tuple):
            return array(kind, value)
        if kind == "map" and type(value) is dict and _has_symbols(field.type):
            return Map(
                (typed("symbol", key) if type(key) is str else key, each) for key, each in value.items()
            )
        return typed(kind, value)
    except EncodeError as failure:
        raise EncodeError(f"{owner}, field {field.name}: {failure}") from None


def _has_symbols(kind: str) -> bool:
    return any(each.name == "fields" for each in restrictions(kind))


# -- what is wrong -------------------------------------------------------------------------------------


def a(noun: str) -> str:
    """Put an article before the noun; the u of uint is not a vowel."""
    return f"an {noun}" if noun.startswith(("a", "e", "i", "o")) else f"a {noun}"


def _array_breaches(field: Field, value: Array) -> Iterator[Breach]:
    kind = elementary(field.type)
    if value.type != kind or value.descriptors:
        described = "described values" if value.descriptors else value.type
        yield Breach(field.name, f"is an array of {described}, not of {kind}")


def _breaches(field: Field, value: Any) -> Iterator[Breach]:
    if isinstance(value, Composite):
        yield from _composite_breaches(field, value)
        return
    kind, found = elementary(field.type), type_of(value)
    if field.type == "*":
        permitted = {elementary(each.name) for each in GRAMMAR.providing(field.requires or "")}
        # What other parts of the standard, or extensions, describe cannot be told from here.
        if found not in permitted | {"described value"} or found == "list":
            yield Breach(field.name, f"is {a(found)}, nothing that is {a(field.requires or field.type)}")
    elif field.type in CLASSES:
        yield Breach(field.name, f"is {a(found)}, not {a(field.type)}")
    elif found != kind:
        yield Breach(field.name, f"is {a(found)}, not {a(kind)}")
    elif kind == "map":
        if _has_symbols(field.type) and any(type(key) is not Symbol for key, _ in value.pairs):
            yield Breach(field.name, "has a key that is no symbol")
    else:
        yield from (
            Breach(field.name, f"is {value!r}, which is no {each.name}")
            for each in restrictions(field.type)
            if each.choices and all(_value(kind, choice.value) != value for choice in each.choices)
        )


def _composite_breaches(field: Field, value: Composite) -> Iterator[Breach]:
    suits = field.type == value.type_name or field.requires in value.spec.provides
    if not suits:
        yield Breach(field.name, f"is {a(value.type_name)}, which is no {field.requires or field.type}")
    for inner in value.breaches():
        yield Breach(f"{field.name}.{inner.field}", inner.what)


# -- the classes ---------------------------------------------------------------------------------------


def _value(kind: str, text: str) -> Any:
    if kind == "boolean":
        return text == "true"
    return typed(kind, text if kind in ("string", "symbol") else int(text))


def choices(restricted: str) -> Mapping[str, Any]:
    """Give the values of a restricted type's choices by the document's names."""
    (found, *_) = restrictions(restricted)
    kind = elementary(restricted)
    return {choice.name: _value(kind, choice.value) for choice in found.choices}


def choice_name(field: Field, value: Any) -> str:
    """Name the choice that this number or truth value is; empty for anything else."""
    if not isinstance(value, int) or not restrictions(field.type):
        return ""
    return next((name for name, each in choices(field.type).items() if each == value), "")


def _reader(place: int, field: Field) -> Callable[[Composite], Any]:
    if field.multiple:
        return lambda self: _several(self.values[place])
    text = GRAMMAR.default(field)
    if text is None:
        return lambda self: self.values[place]
    default = _value(elementary(field.type), text)

    def meant(self: Composite) -> Any:
        value = self.values[place]
        return default if value is None else value

    return meant


def _several(value: Any) -> tuple[Any, ...]:
    if isinstance(value, Array):
        return tuple(value)
    return () if value is None else (value,)


def _make(spec: GrammarComposite) -> type[Composite]:
    body = {
        "__slots__": (),
        "__doc__": f"{spec.name}: {spec.descriptor}, {spec.code:#010x}.",
        "__module__": "harness.amqp1_0.wire.performatives",
        "spec": spec,
        "type_name": spec.name,
        "names": tuple(attribute(field.name) for field in spec.fields),
        **{attribute(each.name): property(_reader(place, each)) for place, each in enumerate(spec.fields)},
    }
    return type(class_name(spec.name), (Composite,), body)


CLASSES: Final[Mapping[str, type[Composite]]] = {spec.name: _make(spec) for spec in GRAMMAR.composites}
"""Every composite type by the document's name."""
_NUMBER: Final = {spec.name: Ulong(spec.code) for spec in GRAMMAR.composites}
_BY_DESCRIPTOR: Final[Mapping[tuple[type, Any], type[Composite]]] = {
    (type(descriptor), descriptor): CLASSES[spec.name]
    for spec in GRAMMAR.composites
    for descriptor in (Ulong(spec.code), Symbol(spec.descriptor))
}
_NESTING: Final = frozenset((Described, Map))


def described_by(descriptor: Any) -> type[Composite] | None:
    """Find the composite type with this descriptor, an ulong or a symbol."""
    kind = type(descriptor)
    return _BY_DESCRIPTOR.get((kind, descriptor)) if kind is Ulong or kind is Symbol else None


def recognise(value: Any) -> Any:
    """Give the composite that a described list is, in values of a map as well; anything else as it is."""
    if type(value) is Described:
        descriptor, items = value.descriptor, value.value
        kind = described_by(descriptor) if type(items) is tuple else None
        return value if kind is None else kind.of(items, descriptor)
    if type(value) is Map:
        nested = [pair for pair in value.pairs if type(pair[1]) in _NESTING]
        return Map((key, recognise(each)) for key, each in value.pairs) if nested else value
    return value


def decode_composite(octets: bytes, at: int = 0, end: int | None = None) -> tuple[Composite, int]:
    """Read the composite at `at`; returns it and the offset behind it. Raises DecodeError."""
    found = decode_described(octets, at, end)
    if found is None:
        value, _ = decode(octets, at, end)
        raise DecodeError(at, f"{a(type_of(value))} stands where a described list must")
    descriptor, items, behind = found
    kind = described_by(descriptor)
    if kind is None:
        raise DecodeError(at + 1, f"no composite type has the descriptor {_brief(descriptor)}")
    if type(items) is not tuple:
        raise DecodeError(at, f"{a(type_of(items))} stands where the list of {kind.type_name} must")
    return kind.of(items, descriptor), behind


def _brief(descriptor: Any) -> str:
    text = repr(descriptor)
    return text if len(text) <= 60 else f"{text[:57]}..."
