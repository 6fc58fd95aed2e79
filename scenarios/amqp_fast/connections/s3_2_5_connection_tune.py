"""3.2.5 CONNECTION TUNE Command: what is proposed and what is accepted; 3.2.5.2 Dictionaries."""

from typing import Any

from harness.amqp_fast.broken.deviations import (
    Fault,
    Interposer,
    adds,
    answers,
    carries,
    hears,
    ignores,
    repeats,
    rewrites,
    takes,
    withholds,
)
from harness.amqp_fast.broken.fakes import TUNE
from harness.amqp_fast.client.outcomes import message, read_head
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.client.transcript import Passage
from harness.amqp_fast.wire.vocabulary import OK, Channel, Connection, Handle
from harness.play.watching import Found, Gaps, State, came, went
from scenarios.amqp_fast.connections.negotiation import (
    does_not_open,
    number,
    opens,
    proposed,
    serves,
    turned_down,
)
from scenarios.amqp_fast.connections.s3_2_3_connection_challenge import LARGEST, is_small
from scenarios.registry import broken_by, scenario, watch

DURING = "fast/3.2.4.accepted-by-tune"
WHOLE = 4000
"""Octets of a command that is surely not too large for the negotiation."""
TOO_LARGE = 5000
LEAST = 1024
REFUSAL = Connection.Close(502)
TAKES_ALL = hears(Connection.Tune, options={}, dictionary={})
"""Looks at nothing that the client proposes."""
STAYS = Fault.changes("tune: is refused", effects=())
"""Does nothing about a TUNE that is not valid."""
ALIAS, NAME = "ET", "Expiration_Time"


def filled(size: int) -> Connection.Tune:
    """Give a TUNE of so many octets, filled by aliases."""
    dictionary = {f"A{number}": "Full_Name" for number in range(200)}
    short = size - len(Connection.Tune({}, dictionary | {"FILL": b""}).encode()) - 2
    return Connection.Tune({}, dictionary | {"FILL": b"x" * short})


def is_large(tune: Any) -> bool:
    """Say whether a TUNE has more than a few fields."""
    return len(tune.encode()) > WHOLE // 2


# -- who tunes, and when -------------------------------------------------------------------------------


class Opening(State):
    """What has been said on the way to an open connection."""

    def __init__(self) -> None:
        self.challenged = self.responded = self.tuned = False


@watch(
    "fast/3.2.5.tune-after-authentication",
    during=DURING,
    looks_at=came(Connection.Challenge, Connection.Tune) + went(Connection.Response),
    start=Opening,
    gap=Gaps.STOPS,
)
@broken_by("tunes at once", adds(Connection.Challenge, TUNE))
def tune_comes_behind_a_response(opening: Opening, each: Passage) -> Found:
    """TUNE of the server comes behind a RESPONSE of ours to its CHALLENGE."""
    match each.said:
        case Connection.Challenge():
            opening.challenged = True
        case Connection.Response():
            opening.responded = opening.challenged
        case _:
            return opening.responded or f"TUNE before a RESPONSE at {each.at:.4f} s"
    return None


@watch(
    "fast/3.2.5.one-tune-from-server",
    during="fast/3.2.5.any-number-of-client-tunes",
    looks_at=came(Connection.Tune),
    start=Opening,
    gap=Gaps.STOPS,
)
@broken_by("sends it twice", repeats(Connection.Tune))
@broken_by("answers ours by another", takes(Connection.Tune, TUNE))
@broken_by("tunes again once it is open", adds(Connection.Reply, TUNE))
def the_server_tunes_once(opening: Opening, each: Passage) -> Found:
    """There is no second TUNE of the server on a connection."""
    again, opening.tuned = opening.tuned, True
    return not again or f"another TUNE at {each.at:.4f} s"


@watch("fast/3.2.5.server-dictionary-empty", during=DURING, looks_at=came(Connection.Tune))
@broken_by("tells an alias", rewrites(Connection.Tune, dictionary={ALIAS: NAME}))
def the_dictionary_of_the_server_is_empty(each: Passage) -> Found:
    """The dictionary in TUNE of the server has no field."""
    return not each.said.dictionary.pairs or f"a dictionary that is not empty, at {each.at:.4f} s"


@watch("fast/3.2.5.server-tune-size", during=DURING, looks_at=came(Connection.Tune))
@broken_by("tells too much", rewrites(Connection.Tune, dictionary={"FILL": bytes(LARGEST)}))
def the_tune_of_the_server_is_not_too_large(each: Passage) -> Found:
    """The frame of TUNE has at most 4096 octets."""
    return is_small(each)


# -- what the client may say ---------------------------------------------------------------------------


@scenario("fast/3.2.5.any-number-of-client-tunes")
@broken_by("wants one", answers(Connection.Open, REFUSAL))
@broken_by("bears one only", answers(Connection.Tune, REFUSAL, skip=1))
@broken_by("answers each", takes(Connection.Tune, TUNE))
def the_client_tunes_as_often_as_it_wants(server: Server) -> None:
    """OPEN is confirmed behind no TUNE of ours, behind one, and behind three."""
    for count in (0, 1, 3):
        opens(server.tuned(), *[Connection.Tune({"FRAME_MAX": LEAST})] * count)


def is_even(tune: Any) -> bool:
    """Say whether FRAME_MAX is even, as that of the peer is."""
    told = number(tune, "FRAME_MAX")
    return told > 0 and told % 2 == 0


@scenario("fast/3.2.5.values-within-proposal")
@broken_by("accepts less only", answers(Connection.Tune, REFUSAL, when=is_even))
@broken_by("accepts nothing", answers(Connection.Tune, REFUSAL))
def values_up_to_those_of_the_server_are_accepted(server: Server) -> None:
    """The FRAME_MAX that the server proposed, and one less, are accepted."""
    told = proposed(server, "FRAME_MAX")
    for value in (told, told - 1) if told else (LEAST, 4 * LEAST):
        opens(server.tuned(), Connection.Tune({"FRAME_MAX": value}))


@scenario("fast/3.2.5.value-above-proposal")
@broken_by("takes what it is told", TAKES_ALL)
@broken_by("stays", STAYS)
def values_above_those_of_the_server_are_refused(server: Server) -> None:
    """A FRAME_MAX one above the server's, and one of twice as much, end the connection."""
    told = within_reach(server)
    for value in (told + 1, min(2 * told, 0x7FFFFFFF)):
        does_not_open(server.tuned(), Connection.Tune({"FRAME_MAX": value}))


def within_reach(server: Server) -> int:
    """Give the FRAME_MAX of the server, above which there are others; it is accepted."""
    told = proposed(server, "FRAME_MAX")
    if not 0 < told < 0x7FFFFFFF:
        server.inapplicable("no FRAME_MAX is too large for this server")
    server.tuned().open({"FRAME_MAX": told})
    return told


@scenario("fast/3.2.5.refused-by-close")
@broken_by("takes what it is told", TAKES_ALL)
@broken_by("says nothing", withholds(Connection.Close))
@broken_by("says that all is well", rewrites(Connection.Close, reply_code=OK))
def what_is_not_accepted_is_told_by_close(server: Server) -> None:
    """TUNE with FRAME_MAX 0 is answered by CLOSE with an error."""
    server.connection({"FRAME_MAX": LEAST})
    server.tuned().tries(Connection.Tune({"FRAME_MAX": 0}), *turned_down())


@scenario("fast/3.2.5.large-tune-accepted")
@broken_by("reads small ones only", answers(Connection.Tune, REFUSAL, when=is_large))
def a_large_tune_is_accepted(server: Server) -> None:
    """OPEN is confirmed behind a TUNE of 4000 octets."""
    opens(server.tuned(), filled(WHOLE))


@scenario("fast/3.2.5.oversized-tune-refused")
@broken_by("reads every size", Fault.drops("tune: is too large"))
@broken_by("stays", Fault.changes("tune: is too large", effects=()))
def an_oversized_tune_is_refused(server: Server) -> None:
    """A TUNE of 5000 octets ends the connection."""
    opens(server.tuned(), filled(WHOLE))
    does_not_open(server.tuned(), filled(TOO_LARGE))


# -- 3.2.5.2 -------------------------------------------------------------------------------------------


@scenario("fast/3.2.5.2.dictionary-accepted")
@broken_by("wants none", answers(Connection.Tune, REFUSAL, when=lambda said: said.dictionary.pairs))
@broken_by("stumbles", Fault.changes("tune: is accepted", condition=lambda turn: not turn.event.dictionary))
def a_dictionary_is_accepted(server: Server) -> None:
    """OPEN is confirmed behind a TUNE with the alias of the example."""
    opens(server.tuned(), Connection.Tune({}, {ALIAS: "Expiration-Time"}))


@scenario("fast/3.2.5.2.dictionaries-accepted")
@broken_by("bears one", answers(Connection.Tune, REFUSAL, when=lambda said: said.dictionary.pairs, skip=1))
@broken_by("serves nobody then", ignores(Channel.Open))
def several_dictionaries_are_accepted(server: Server) -> None:
    """OPEN is confirmed behind five dictionaries, one of which changes an alias, and a channel opens."""
    connection = server.tuned()
    told = [{ALIAS: NAME}, {"ONE": "One"}, {"TWO": "Two", "N": "Three"}, {ALIAS: "Another"}, {"F": "Four"}]
    opens(connection, *(Connection.Tune({}, each) for each in told))
    serves(connection)


def renames(name: str, by: str) -> Interposer:
    """Delivers messages with a header under another name."""

    def change(fragment: bytes) -> bytes:
        if (begun := read_head(fragment)) is None:  # not the first one
            return fragment
        head, behind = begun
        headers = [(by if each == name else each, value) for each, value in head.headers.pairs]
        return head.replace(headers=headers).encode() + fragment[behind:]

    return carries(Handle.Notify, change)


@scenario("fast/3.2.5.2.dictionaries-unused")
@broken_by("writes full names for aliases", renames(ALIAS, NAME))
@broken_by("writes aliases for full names", renames(NAME, ALIAS))
def dictionaries_do_not_touch_messages(server: Server) -> None:
    """Headers named by an alias, and by its full name, come as sent, with a dictionary and without."""
    queue = server.queue()
    connection = server.tuned()
    connection.send(Connection.Tune({}, {ALIAS: NAME}))
    connection.open()
    told, plain = connection.channel(), server.channel(new_connection=True)
    sender = told.handle()
    for receiver in (told, plain):
        for name in (ALIAS, NAME):
            sender.publish(queue, b"body", headers={name: b"now"})
        consumer = receiver.handle().consume(queue, no_ack=True)
        for name in (ALIAS, NAME):
            consumer.observe(message(b"body", head={"headers": {name: b"now"}}))
        consumer.close()
