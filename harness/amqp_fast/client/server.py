"""The fixture of the scenarios of AMQP/Fast: the server under test."""

from __future__ import annotations

import time
from typing import Any

from harness.amqp_fast.client.channel import FastChannel, FastHandle
from harness.amqp_fast.client.connection import FastConnection
from harness.amqp_fast.client.link import Link
from harness.amqp_fast.wire.vocabulary import Handle
from harness.play.expect import ControlFailed
from harness.play.fixture import Fixture
from harness.wire.transport import Transport, Unreachable


class Server(Fixture[FastConnection]):
    """The server under test, for one scenario: opens connections, and leaves nothing behind."""

    # -- connections -----------------------------------------------------------------------------------

    def socket(self, **endpoint: Any) -> FastConnection:
        """Give a connection on which nothing has been said yet; `endpoint` changes user, virtual host, …"""
        self._opened += 1
        link = Link(self._reach(), self.context, self._connection_name(), self._protocol)
        own = f"{self.context.prefix}-c{self._opened}"
        connection = FastConnection(link, self.context, self._endpoint_with(endpoint), own)
        self._connections.append(connection)
        return connection

    def _reach(self) -> Transport:
        try:
            return self._connect()
        except Unreachable:
            if self._opened == 1:
                raise
            # It served this scenario a moment ago: whether it can be helped, the runner has to see.
            raise ControlFailed("opening another connection", "nobody") from None

    def begun(self, **endpoint: Any) -> FastConnection:
        """Give a connection on which the server has sent CONNECTION CHALLENGE."""
        connection = self.socket(**endpoint)
        connection.begin()
        return connection

    def tuned(self, **endpoint: Any) -> FastConnection:
        """Give a connection on which the server has sent CONNECTION TUNE."""
        connection = self.begun(**endpoint)
        connection.authenticate()
        return connection

    def connection(self, *tunes: dict[str, Any], **fields: Any) -> FastConnection:
        """Give a connection ready for use, with our `tunes`, and these fields in CONNECTION OPEN."""
        connection = self.tuned()
        connection.open(*tunes, **fields)
        return connection

    def lookout(self) -> FastConnection:
        """Give a connection in use that has nothing else to do than to wait."""
        connection = self.connection()
        connection.alive()
        return connection

    # -- channels, handles, queues -----------------------------------------------------------------------

    def _usable(self) -> FastConnection:
        return next((each for each in self._connections if each.usable), None) or self.connection()

    def channel(self, *, new_connection: bool = False, **fields: Any) -> FastChannel:
        """Give a channel opened with these fields, on the first usable connection or on a new one."""
        connection = self.connection() if new_connection else self._usable()
        return connection.channel(**fields)

    def handle(self, *, new_connection: bool = False, **fields: Any) -> FastHandle:
        """Give a handle opened for all uses, or with these fields, on a channel of its own."""
        return self.channel(new_connection=new_connection).handle(**fields)

    def queue(self, *bodies: bytes, **how: Any) -> str:
        """Make a dynamic queue with these messages in it; a consumer that is paused keeps it. Give its name.

        `how` the messages are sent is as `carries` has it.
        """
        keeper = self.handle()
        name = self.name("queue")
        keeper.ask(keeper.consuming(name, dynamic=True, prefetch=1))
        keeper.ask(Handle.Flow(keeper.id, 0, True))
        keeper.publish(name, *bodies, **how)
        return name

    def topic(self) -> str:
        """Give the name of a topic that nobody else knows."""
        return self.name("topic")

    def today(self, seconds: int = 0) -> int:
        """Give the time in UTC, in seconds since 1970, that is so many `seconds` from now, or before now."""
        return int(time.time()) + seconds

    def address(self) -> str:
        """Give the name of a queue that is configured, and has no consumer. Raises NotRun without one."""
        return self.facility("address")["address"]
