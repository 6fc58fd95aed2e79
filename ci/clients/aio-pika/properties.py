"""Properties of messages, of which aio-pika counts an expiration in seconds."""

from typing import Any

from contract import Told, unsupported
from contract_amqp091 import told_properties


def sent(given: Told) -> Told:
    """Make what aio-pika calls properties."""
    if "expiration" in given:
        if not given["expiration"].isdecimal():
            raise unsupported("an expiration of aio-pika is a number")
        given["expiration"] = int(given["expiration"]) / 1000
    return given


def came(message: Any) -> Told:
    """Tell those of a message."""
    given = told_properties(
        lambda name: getattr(message, name) if name != "headers" else message.headers or None
    )
    if "expiration" in given:
        given["expiration"] = str(round(message.expiration * 1000))
    return given
