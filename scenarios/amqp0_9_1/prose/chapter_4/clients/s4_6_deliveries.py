"""4.6 and 4.7: what a client makes of deliveries while it cancels a consumer, and of many at once."""

from harness.amqp0_9_1.broken.deviations import rejects, spoils, withholds
from harness.amqp0_9_1.broken.provocations import carried, follows, precedes
from harness.amqp0_9_1.server.client import LIVES, Client
from harness.amqp0_9_1.wire.frames import BODY, Frame
from harness.amqp0_9_1.wire.vocabulary import INTERNAL_ERROR, Basic, Queue
from harness.shims.contract import Refused
from scenarios.registry import broken_by, scenario
from spec.rules import Role


def deliveries(channel: int, tag: str, texts: list[str]) -> bytes:
    """Give a message for a consumer with each of these texts."""
    said = (
        carried(Basic.Deliver(tag, at, routing_key="made-up"), text.encode())
        for at, text in enumerate(texts, 1)
    )
    return b"".join(each(channel) for each in said)


LATE = ["one", "two", "three"]


@scenario("0-9-1/prose/4.6.client-bears-deliveries-until-cancel-ok", role=Role.CLIENT)
@broken_by("waits for ever", withholds(Basic.CancelOk), Role.CLIENT)
@broken_by("takes them for an error", rejects(Queue.Declare, INTERNAL_ERROR, skip=1), Role.CLIENT)
def client_bears_deliveries_while_it_cancels(client: Client) -> None:
    """Before Cancel-Ok come three messages for the consumer: it ends, and the channel can be used."""
    tags: list[str] = []
    connection = client.connection(precedes(Basic.CancelOk, lambda on: deliveries(on, tags[0], LATE)))
    channel, queue = connection.channel(), client.name("queue")
    channel.declares(queue)
    tags.append(channel.receive(queue))
    refused = client.attempted("stop", on=channel.on, tag=tags[0])
    client.judge("the consumer ends", refused.told if refused else "", refused is None)
    told = channel.tries("queue.declare", queue=client.name("queue"))
    client.judge(
        "the channel can be used",
        told.told if isinstance(told, Refused) else "",
        not isinstance(told, Refused),
    )
    connection.lives(LIVES)
    client.note(f"{len(connection.tells('message', 0))} of {len(LATE)} late messages are told")


MANY = [str(number) for number in range(100)]
SWAPPED = {b"7": b"8", b"8": b"7"}


@scenario("0-9-1/prose/4.7.client-keeps-order", role=Role.CLIENT)
@broken_by(
    "swaps two",
    spoils(
        lambda it: it.type == BODY and it.payload in SWAPPED,
        lambda it: Frame(BODY, it.channel, SWAPPED[it.payload]),
    ),
    Role.CLIENT,
)
def client_tells_messages_in_their_order(client: Client) -> None:
    """A hundred messages come at once for a consumer: they are told in their order."""
    tags: list[str] = []
    connection = client.connection(follows(Queue.PurgeOk, lambda on: deliveries(on, tags[0], MANY)))
    channel, queue = connection.channel(), client.name("queue")
    channel.declares(queue)
    tags.append(channel.receive(queue))
    channel.call("queue.purge", queue=queue)
    texts = [each.text for each in channel.messages(len(MANY))]
    client.judge("all messages in their order", f"{len(texts)} messages otherwise", texts == MANY)
