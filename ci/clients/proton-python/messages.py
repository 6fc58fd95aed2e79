"""Messages of AMQP 1.0, as lines have them and as Proton has them."""

from collections.abc import Mapping
from typing import Any

from contract import Told, unsupported
from contract_values import filled, mapped, taken, told
from proton import Delivery, Message
from values import MAKERS, TELLERS

LIKE = (
    *("user-id", "subject", "reply-to", "correlation-id", "content-type", "content-encoding"),
    *("creation-time", "group-id", "group-sequence", "reply-to-group-id"),
)
PROPERTIES = {
    "message-id": "id",
    "to": "address",
    "absolute-expiry-time": "expiry_time",
    **{each: each.replace("-", "_") for each in LIKE},
}
HEADER = {
    each: each.replace("-", "_")
    for each in ("durable", "priority", "ttl", "first-acquirer", "delivery-count")
}
MILLISECONDS = ("ttl", "absolute-expiry-time", "creation-time")
"""What Proton counts in seconds."""


def made(given: Mapping[str, Any]) -> Message:
    """Make a message of what `send` is told."""
    body = given["body"]
    if isinstance(body, Mapping) and not body.keys() <= {"fill", "bin"}:
        ((kind, inside),) = body.items()
        if kind not in ("value", "sequence"):
            raise unsupported(f"no body is a {kind}")
        listed = kind == "sequence"
        value = [taken(each, MAKERS) for each in inside] if listed else taken(inside, MAKERS)
        message = Message(body=value, inferred=listed)
    else:
        message = Message(body=filled(body), inferred=True)
    for names, section in ((PROPERTIES, "properties"), (HEADER, "header")):
        for name, each in (given.get(section) or {}).items():
            if name not in names:
                raise unsupported(f"the {section} of Proton has no {name}")
            value = int(each["time"]) if isinstance(each, Mapping) and "time" in each else taken(each, MAKERS)
            setattr(message, names[name], value / 1000 if name in MILLISECONDS else value)
    for section, own in (("application", "properties"), ("annotations", "annotations")):
        if given.get(section):
            pairs = given[section]["map"]
            # What a map of annotations is keyed by are symbols to Proton, whatever it is given.
            setattr(message, own, mapped((taken(k, MAKERS), taken(v, MAKERS)) for k, v in pairs))
    return message


def told_body(message: Message) -> tuple[bytes | None, Told]:
    """Tell a body: the octets of a data section, or a value or a sequence."""
    body = message.body
    if message.inferred and isinstance(body, bytes | memoryview):
        return bytes(body), {}
    if message.inferred and isinstance(body, list):
        return None, {"sequence": [told(each, TELLERS) for each in body]}
    return None, {"value": told(body, TELLERS)}


def told_sections(message: Message) -> Told:
    """Tell the other sections; Proton does not tell a field that is not there from one of the default."""
    plain = Message()
    sections: Told = {}
    for names, section in ((PROPERTIES, "properties"), (HEADER, "header")):
        got = {name: getattr(message, own) for name, own in names.items()}
        got = {name: each for name, each in got.items() if each != getattr(plain, names[name])}
        if got:
            sections[section] = {name: _told_field(name, each) for name, each in got.items()}
    for section, own in (("application", "properties"), ("annotations", "annotations")):
        if entries := getattr(message, own):
            sections[section] = told(dict(entries), TELLERS)
    return sections


def _told_field(name: str, value: Any) -> Any:
    if name in ("message-id", "correlation-id") and isinstance(value, int):
        return {"u64": str(value)}  # no other integer is allowed there
    if name in MILLISECONDS:
        return round(value * 1000) if name == "ttl" else {"time": str(round(value * 1000))}
    return int(value) if name in ("priority", "delivery-count", "group-sequence") else told(value, TELLERS)


def tag_of(delivery: Delivery) -> str:
    """Give the tag of what came; nothing where Proton falls over who asks for it.

    It has none any more of what came settled, and reads all others as UTF-8, though a tag is any octets.
    """
    try:
        return "" if delivery.settled else str(delivery.tag)
    except UnicodeDecodeError:
        return ""
