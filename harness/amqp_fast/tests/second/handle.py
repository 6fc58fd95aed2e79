"""A handle of a server: what goes to destinations and comes from them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from harness.amqp_fast.tests.second.refusals import Code, Level, Refusal, unless
from harness.amqp_fast.tests.second.store import ANY, QUEUE, TOPIC, Entry, Message, Queue, selects
from harness.amqp_fast.tests.second.types import LONGEST_LONG, Pairs
from harness.amqp_fast.tests.second.uploads import Upload

if TYPE_CHECKING:
    from harness.amqp_fast.tests.second.channel import Channel

Fields = dict[str, Any]
AROUND_A_LIST = 64
"""The octets of HANDLE INDEX beside its list, generously."""


@dataclass(slots=True, eq=False)
class Subscription:
    """What HANDLE CONSUME asked for."""

    handle: Handle
    queue: Queue
    prefetch: int
    no_local: bool
    no_ack: bool
    exclusive: bool
    selector: Pairs
    outstanding: int = 0

    def ready(self) -> bool:
        """Whether the client can handle another message."""
        free = self.no_ack or self.outstanding < self.prefetch
        return free and not self.handle.paused and self.handle.offered is None

    def accepts(self, message: Message) -> bool:
        """Whether the message is selected."""
        local = self.no_local and message.sender is self.handle.channel.connection
        return not local and selects(self.selector, message)

    def deliver(self, entry: Entry) -> None:
        """Send it to the client."""
        self.outstanding += not self.no_ack
        self.handle.deliver(entry, self)


class Handle:
    """An open handle."""

    def __init__(self, channel: Channel, fields: Fields) -> None:
        self.channel, self.id = channel, fields["handle_id"]
        self.access = {each for each in ("producer", "consumer", "browser") if fields[each]}
        self.closing = self.paused = False
        self.subscriptions: list[Subscription] = []
        self.prepared: Upload | None = None
        self.offered: tuple[Entry, Subscription] | None = None
        self._queried: set[bytes] = set()

    @property
    def seer(self) -> Hashable:
        """Who has seen what came over this handle."""
        return self.channel.connection.client

    def _needs(self, access: str) -> None:
        unless(access in self.access, Level.HANDLE, Code.NO_ACCESS, f"the handle is not open for a {access}")

    def _say(self, command: str, **fields: Any) -> None:
        self.channel.connection.say(command, handle_id=self.id, **fields)

    # What the client sends

    def send(self, fields: Fields, fragment: bytes | None) -> None:
        """HANDLE SEND: a fragment; with the last one the message is sent."""
        self._needs("producer")
        unless(fields["service_type"] in (QUEUE, TOPIC, ANY), *_NOT_ALLOWED, "there is no such service type")
        if fragment is None:
            raise Refusal(Level.HANDLE, Code.NOT_IMPLEMENTED, "nothing is taken out of band")
        upload = self._upload(bool(fields["recovery"]))
        upload.add(fragment)
        upload.name = fields["dest_name"] or upload.name
        if fields["partial"]:
            self.channel.uploading = self, upload
            return
        message = upload.complete(self.channel.connection)
        self._send(fields["service_type"], upload.name, message)

    def _upload(self, recovery: bool) -> Upload:
        if self.channel.uploading:
            handle, upload = self.channel.uploading
            unless(handle is self, Level.CHANNEL, Code.UNEXPECTED, "messages are mixed on a channel")
            self.channel.uploading = None
            return upload
        if not recovery:
            return Upload(self.channel.settings.largest)
        prepared, self.prepared = self.prepared, None
        if prepared is None:
            raise Refusal(Level.HANDLE, Code.UNEXPECTED, "nothing is prepared that could be recovered")
        return prepared

    def _send(self, service: int, name: bytes, message: Message) -> None:
        host = self.channel.host
        service = host.service(service, name)
        missing = service == QUEUE and name not in host.queues
        unless(not missing, *_NO_DESTINATION, "there is no such queue")
        unless(name, *_NO_DESTINATION, "the destination has no name")
        self.channel.send(service, name, message)

    def prepare(self, fields: Fields, fragment: bytes) -> None:
        """HANDLE PREPARE: the header of a message and some of its body; what is there already is told."""
        self._needs("producer")
        unless(self.channel.restartable, *_NOT_ALLOWED, "the channel is not restartable")
        unless(not self.channel.uploading, Level.CHANNEL, Code.UNEXPECTED, "messages are mixed on a channel")
        self.channel.keep(self.prepared)
        upload, self.prepared = Upload(self.channel.settings.largest, fields["content_hash"]), None
        upload.add(fragment)
        unless(upload.header, *_INVALID, "the header is not whole")
        known = self.channel.host.partials.pop(upload.header, b"")
        if self.channel.settings.restart == "naive":
            upload.resume(b"")
        elif len(known) > len(upload.body):
            upload.resume(known)
        self.prepared = upload
        self._say("handle-ready", message_size=len(upload.body))

    def ready(self, fields: Fields) -> None:
        """HANDLE READY: the client says how much it has of what was offered."""
        if self.offered is None:
            raise Refusal(Level.HANDLE, Code.UNEXPECTED, "nothing was prepared")
        (entry, subscription), start = self.offered, fields["message_size"]
        unless(start <= len(entry.message.body), *_INVALID, "nobody has more of a message than there is")
        self.offered = None
        self._notify(entry, subscription, entry.message.body[start:], recovery=True)

    def consume(self, fields: Fields) -> None:
        """HANDLE CONSUME: messages of a queue or topic are wanted."""
        self._needs("consumer")
        service, name, host = fields["service_type"], fields["dest_name"], self.channel.host
        unless(service in (QUEUE, TOPIC), *_NOT_ALLOWED, "only a queue or a topic can be consumed")
        unless(fields["prefetch"], *_NOT_ALLOWED, "prefetch is at least 1")
        again = any((each.queue.service, each.queue.name) == (service, name) for each in self.subscriptions)
        unless(not again, *_NOT_ALLOWED, "the handle consumes this already")
        dynamic = service == QUEUE and fields["dynamic"]
        unless(name or dynamic, *_NO_DESTINATION, "the destination has no name")
        queue = host.subscribe(name) if service == TOPIC else self._queue(name, dynamic, fields["exclusive"])
        subscription = Subscription(
            self,
            queue,
            fields["prefetch"],
            fields["no_local"] and service == TOPIC,
            fields["no_ack"],
            fields["exclusive"] and service == QUEUE,
            fields["selector"],
        )
        queue.consumers.append(subscription)
        self.subscriptions.append(subscription)
        if dynamic:
            self._say("handle-created", dest_name=queue.name)

    def _queue(self, name: bytes, dynamic: bool, exclusive: bool) -> Queue:
        host = self.channel.host
        unless(dynamic or name in host.queues, *_NO_DESTINATION, "there is no such queue")
        queue = host.create(name, owner=self.channel.connection) if dynamic else host.queues[name]
        taken = any(each.exclusive for each in queue.consumers) or (exclusive and queue.consumers)
        unless(not taken, Level.HANDLE, Code.IN_USE, "the queue has another consumer")
        return queue

    def flow(self, fields: Fields) -> None:
        """HANDLE FLOW: pause, or go on."""
        self.paused = fields["flow_pause"]

    def unget(self, fields: Fields) -> None:
        """HANDLE UNGET: a message goes back into its queue, for somebody else."""
        delivery = self.channel.deliveries.get(fields["message_nbr"])
        if delivery is None or delivery.acknowledged or delivery.subscription.handle is not self:
            raise Refusal(Level.HANDLE, Code.NO_MESSAGE, "this message is not outstanding")
        unless(delivery.subscription.queue.service == QUEUE, *_NOT_ALLOWED, "nothing goes back to a topic")
        delivery.entry.unwanted.add(delivery.subscription)
        self.channel.give_back(delivery)

    def query(self, fields: Fields) -> None:
        """HANDLE QUERY: which messages wait."""
        self._needs("browser")
        unless(not fields["selector"], Level.HANDLE, Code.NOT_IMPLEMENTED, "no selector is known for a query")
        queue = self.channel.host.queues.get(fields["dest_name"])
        self._queried.add(fields["dest_name"])
        waiting = sorted(entry.id for entry in queue.entries) if queue else []
        wanted = [each for each in waiting if each >= fields["message_nbr"]]
        text, last = listed(wanted, min(self._room() - AROUND_A_LIST, LONGEST_LONG))
        self._say("handle-index", message_nbr=last, message_list=text)

    def browse(self, fields: Fields) -> None:
        """HANDLE BROWSE: look at a message; that it is gone is told by HANDLE REPLY."""
        self._needs("browser")
        queues = self.channel.host.queues
        for queue in map(queues.__getitem__, self._queried & queues.keys()):
            for entry in queue.entries:
                if entry.id == fields["message_nbr"]:
                    again = self.seer in entry.seen
                    self._fragments(entry.message.octets, queue.name, entry.id, redelivered=again)
                    return
        tag = fields["confirm_tag"]
        self._say("handle-reply", confirm_tag=tag, reply_code=Code.NO_MESSAGE, reply_text="message not found")

    # What the server sends

    def deliver(self, entry: Entry, subscription: Subscription) -> None:
        """Send a message; a large one is offered first where that is asked for."""
        octets = entry.message.octets
        offers = self.channel.restartable and self.channel.settings.prepares
        if not offers or len(octets) <= self._room():
            self._notify(entry, subscription, octets)
            return
        self.offered = entry, subscription
        first = octets[: self._room()]
        self._say("handle-prepare", fragment_size=len(first))
        self.channel.connection.out += first

    def _notify(
        self, entry: Entry, subscription: Subscription, octets: bytes, recovery: bool = False
    ) -> None:
        number = self.channel.number(entry, subscription)
        again = self.seer in entry.seen
        entry.seen.add(self.seer)
        flags = {"delivered": True, "redelivered": again, "recovery": recovery}
        self._fragments(octets, subscription.queue.name, number, **flags)

    def _fragments(self, octets: bytes, name: bytes, number: int, **flags: bool) -> None:
        starts = [*range(0, len(octets), self._room()), len(octets)] if octets else [0, 0]
        for start, end in pairwise(starts):
            last = end == len(octets)
            told = {"partial": not last, "dest_name": name if last else b"", **flags}
            self._say("handle-notify", message_nbr=number, fragment_size=end - start, **told)
            self.channel.connection.out += octets[start:end]

    def _room(self) -> int:
        return self.channel.connection.frame_max

    def release(self) -> None:
        """Let go of all that the handle has."""
        host = self.channel.host
        for subscription in self.subscriptions:
            host.leave(subscription.queue, subscription)
        if self.offered:
            self.offered[1].queue.put(self.offered[0])
        self.channel.keep(self.prepared)
        self.subscriptions, self.offered, self.prepared = [], None, None


def listed(ids: list[int], room: int) -> tuple[bytes, int]:
    """Write IDs in a list that fits into the room, and the last of them where others are left out, else 0."""
    written, last = b"", 0
    for start, end in _ranges(ids):
        word = b"%d" % start if start == end else b"%d-%d" % (start, end)
        longer = b" ".join((written, word)).lstrip()
        if len(longer) > room:
            return written, last
        written, last = longer, end
    return written, 0


def _ranges(ids: list[int]) -> Iterator[tuple[int, int]]:
    start = 0
    for index, each in enumerate(ids):
        if index + 1 == len(ids) or ids[index + 1] != each + 1:
            yield ids[start], each
            start = index + 1


_NOT_ALLOWED = (Level.HANDLE, Code.NOT_ALLOWED)
_NO_DESTINATION = (Level.HANDLE, Code.NO_DESTINATION)
_INVALID = (Level.HANDLE, Code.INVALID_CONTENTS)

HANDLERS: dict[str, Callable[[Handle, Fields], None]] = {
    "handle-consume": Handle.consume,
    "handle-flow": Handle.flow,
    "handle-unget": Handle.unget,
    "handle-query": Handle.query,
    "handle-browse": Handle.browse,
    "handle-ready": Handle.ready,
}
