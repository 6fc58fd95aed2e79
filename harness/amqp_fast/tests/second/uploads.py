"""A message that arrives in fragments."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable
from typing import Any

from harness.amqp_fast.tests.second.codec import Incomplete, decode_header
from harness.amqp_fast.tests.second.refusals import Code, Level, Refusal, unless
from harness.amqp_fast.tests.second.store import Message

HIGHEST_PRIORITY = 9


class Upload:
    """The octets that arrived so far; the header is known as soon as all of it is there."""

    def __init__(self, largest: int, content_hash: bytes = b"") -> None:
        self._largest = largest
        self._hash = content_hash
        self._octets = bytearray()
        self._start = 0
        self.fields: dict[str, Any] = {}
        self.name = b""

    @property
    def header(self) -> bytes:
        """The octets of the header; none before it is whole."""
        return bytes(self._octets[: self._start])

    @property
    def body(self) -> bytes:
        """The octets of the body that arrived."""
        return bytes(self._octets[self._start :]) if self._start else b""

    def add(self, fragment: bytes) -> None:
        """Take a fragment; refuse what can be no message."""
        self._octets += fragment
        if not self._start:
            self._read()
        if self._start:
            size = len(self._octets) - self._start
            unless(size <= self.fields["body_size"], *_INVALID, "the body is longer than its header says")

    def resume(self, body: bytes) -> None:
        """Put a body in the place of the one that arrived."""
        self._octets[self._start :] = body

    def complete(self, sender: Hashable) -> Message:
        """Make a message of it; refuse where it is not whole, or not what its hash says."""
        unless(self._start, *_INVALID, "the message ends inside its header")
        body = self.body
        unless(len(body) == self.fields["body_size"], *_INVALID, "the body is shorter than its header says")
        hashes = hashlib.sha1(body).hexdigest().encode()
        unless(self._hash.lower() in (b"", hashes), *_INVALID, "the body is not what its hash says")
        return Message(self.header, body, self.fields, sender)

    def _read(self) -> None:
        try:
            self.fields, self._start = decode_header(bytes(self._octets))
        except Incomplete:
            return
        except ValueError as problem:
            raise Refusal(*_INVALID, f"the header is malformed: {problem}") from None
        unless(self.fields["priority"] <= HIGHEST_PRIORITY, *_INVALID, "a priority is at most 9")
        unless(
            self.fields["body_size"] <= self._largest,
            Level.CHANNEL,
            Code.TOO_LARGE,
            "the message is too large",
        )


_INVALID = (Level.HANDLE, Code.INVALID_CONTENTS)
