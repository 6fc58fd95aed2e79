"""What the exceptions of aio-pika mean."""

import aiormq.channel
import aiormq.connection
from aiormq.exceptions import AMQPChannelError, AMQPError
from contract import Refused

CODES = {
    kind: code for of in (aiormq.channel, aiormq.connection) for code, kind in of.EXCEPTION_MAPPING.items()
}
"""Reply codes, which aiormq tells by the class of its exception alone."""
KINDS = (
    ("timeout", ("TimeoutError",)),
    ("local", ("AuthenticationError", "IncompatibleProtocolError", "ChannelInvalidStateError")),
    ("lost", ("ConnectionError", "CancelledError")),
    ("local", ("AMQPError",)),
)


def closed(failure: BaseException) -> Refused | None:
    """Give what the server said: text alone, or code and text."""
    level = "channel" if isinstance(failure, AMQPChannelError) else "connection"
    if type(failure) in CODES:
        return Refused("closed", str(failure.args[0]), "", level, CODES[type(failure)])
    if isinstance(failure, AMQPError) and type(failure).__name__ in ("ChannelClosed", "ConnectionClosed"):
        code, text = (*failure.args, 0, "")[:2]
        return Refused("closed", str(text), "", level, code) if code else None
    return None
