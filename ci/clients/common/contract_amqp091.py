"""What shims of 0-9-1 in Python share beyond contract and contract_values: commands, and properties."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from contract import Shim, Told, unsupported
from contract_values import Makers, Tellers, filled, taken, told, told_time

PROPERTIES = (
    "content-type",
    "content-encoding",
    "headers",
    "delivery-mode",
    "priority",
    "correlation-id",
    "reply-to",
    "expiration",
    "message-id",
    "timestamp",
    "type",
    "user-id",
    "app-id",
)
"""The properties of a message in 0-9-1."""


class Amqp091(Shim):
    """A library of 0-9-1, as far as those of Python are alike; each has its own call, get, receive."""

    connecting: ClassVar[Mapping[str, str]] = {}
    """What else may be told to `connect`: by the contract's name, and what the library calls it."""
    makers: ClassVar[Makers] = {}
    stamp: Callable[[str], Any] = int
    """How the property timestamp is made; in tables `time` of the makers counts."""

    @abstractmethod
    def reach(self, host: str, port: int, user: str, password: str, vhost: str, given: Told) -> Any:
        """Open a connection; `given` is what else is told, by the library's own names."""

    @abstractmethod
    def publish(
        self, on: str, exchange: str, key: str, body: bytes, properties: Any, mandatory: bool, immediate: bool
    ) -> None:
        """Publish a message with properties as `properties` made them."""

    def properties(self, given: Told) -> Any:
        """Make what the library has for properties of values that are its own, by names with underscores."""
        return given

    def delivery(self, message: Any) -> int:
        """Give the delivery tag of what was kept."""
        tag: int = message.delivery_tag
        return tag

    def acknowledge(self, on: str, message: Any, multiple: bool) -> None:
        """Send Basic.Ack, by the name that most have for it."""
        self.found(on).basic_ack(self.delivery(message), multiple)

    def reject(self, on: str, message: Any, requeue: bool) -> None:
        """Send Basic.Reject."""
        self.found(on).basic_reject(self.delivery(message), requeue)

    def stop(self, on: str, tag: str) -> None:
        """End a consumer."""
        self.found(on).basic_cancel(tag)

    @abstractmethod
    def again(self, on: str, message: Any, key: str) -> None:
        """Publish what was kept, untouched, to the default exchange."""

    def connect(self, host: str, port: int, user: str, password: str, vhost: str, **optional: Any) -> Told:
        """Open a connection, once."""
        if unknown := optional.keys() - self.connecting.keys():
            raise unsupported(f"{self.library} connects without {', '.join(sorted(unknown))}")
        given = {self.connecting[name]: each for name, each in optional.items()}
        connection = self.reach(host, port, user, password, vhost, given)
        name = self.named()
        self.connections[name] = connection
        return {"on": name}

    def opened(self, on: str, number: int, channel: Any) -> Told:
        """Keep a channel that was opened. Its number may have been another's, which is over."""
        name = f"{on}/{number}"
        self.inner[name] = channel
        self.over.pop(name, None)
        return {"on": name}

    def send(
        self,
        on: str,
        exchange: str,
        key: str,
        body: str | Mapping[str, Any],
        properties: Mapping[str, Any] | None = None,
        mandatory: bool = False,
        immediate: bool = False,
        count: int = 1,
    ) -> None:
        """Publish a message, so many times."""
        given = dict(properties or {})
        stamp = given.pop("timestamp", None)
        values = taken_properties(given, self.makers)
        if stamp is not None:
            values["timestamp"] = taken(stamp, {"time": self.stamp})
        octets, made = filled(body), self.properties(values)
        for _ in range(count):
            self.publish(on, exchange, key, octets, made, mandatory, immediate)

    def settle(self, on: str, token: str, outcome: str, multiple: bool = False) -> None:
        """Settle a message."""
        message = self.kept(token)
        if outcome == "accept":
            self.acknowledge(on, message, multiple)
        elif outcome in ("release", "reject") and not multiple:
            self.reject(on, message, outcome == "release")
        else:
            raise unsupported(f"0-9-1 cannot {outcome} it so")

    def echo(self, on: str, token: str, key: str) -> None:
        """Publish a message again, as the library gave it."""
        self.again(on, self.kept(token), key)

    def close(self, on: str) -> None:
        """Close a channel or a connection, and wait for the answer."""
        self.found(on).close()


def taken_properties(given: Mapping[str, Any], makers: Makers) -> dict[str, Any]:
    """Make the properties of a message in 0-9-1, by their names with underscores."""
    if unknown := given.keys() - set(PROPERTIES):
        raise unsupported(f"a message has no {', '.join(sorted(unknown))}")
    return {name.replace("-", "_"): taken(each, makers) for name, each in given.items()}


def told_properties(get: Callable[[str], Any], tellers: Tellers | None = None) -> Told:
    """Tell the properties that came in 0-9-1; `get` gives one by its name with underscores, or None."""
    given = {name: get(name.replace("-", "_")) for name in PROPERTIES}
    return {name: _told_property(name, each, tellers) for name, each in given.items() if each is not None}


def _told_property(name: str, value: Any, tellers: Tellers | None) -> Any:
    if name == "timestamp":
        return told_time(value)
    return told(value, tellers) if name == "headers" or isinstance(value, bytes) else value
