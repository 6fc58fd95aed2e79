"""3.2.6 CONNECTION OPEN Command, and 3.2.8 CONNECTION REPLY Command."""

from decimal import Decimal
from typing import Any

from harness.amqp_fast.broken.deviations import (
    Fault,
    adds,
    answers,
    hears,
    ignores,
    repeats,
    rewrites,
    takes,
    withholds,
)
from harness.amqp_fast.client.outcomes import came as came_as
from harness.amqp_fast.client.outcomes import closed, is_error, is_text, stream_ends
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.client.transcript import Passage
from harness.amqp_fast.peer.tables.negotiation import enter
from harness.amqp_fast.wire.tables import Time
from harness.amqp_fast.wire.vocabulary import OK, Channel, Connection
from harness.play.expect import Outcome
from harness.play.watching import Found, Gaps, State, came, went
from scenarios.amqp_fast.connections.negotiation import (
    GOOD,
    granted,
    opens,
    opens_in_time,
    serves,
    turned_away,
)
from scenarios.registry import broken_by, scenario, watch

NAMES = ("{} with blanks", "{}/slashes/", "{}-Ελληνικά", "{}" + "x" * 200)
"""Patterns of client names, whose {} is what makes them unique."""
LONGEST = 255
OPTIONS = {"S": b"text", "I": 1, "D": Decimal("1.5"), "T": Time(1119398400)}
NO_SUCH_PATH = b"/nobody/has/this/path"
ANY_PATH = "which paths there are is the server's affair: none is said to be unknown (1107)"
UNDEFINED = "nothing says that an option which is not defined is skipped (1116)"
WORDLESS = "nothing says how the path is refused"
ANOTHER = "another code of success than the usual one (1154)"
DURING = "fast/3.2.6.confirm-tag-wanted"
REFUSAL = Connection.Close(402)


# -- opening -------------------------------------------------------------------------------------------


@scenario("fast/3.2.6.open-right-behind-tune")
@broken_by("answers TUNE", takes(Connection.Tune, Connection.Ping(), Connection.Tune()))
@broken_by("does not confirm", withholds(Connection.Reply))
def open_may_follow_at_once(server: Server) -> None:
    """OPEN is confirmed in one write with TUNE, and in a write of its own."""
    tune = Connection.Tune({"FRAME_MAX": 1024})
    opens(server.tuned(), tune)
    connection = server.tuned()
    connection.send(tune)
    opens(connection)


@scenario("fast/3.2.6.confirm-tag-wanted")
@broken_by("does not confirm", withholds(Connection.Reply))
@broken_by("tells no tag", rewrites(Connection.Reply, confirm_tag=0))
@broken_by("tells an error", rewrites(Connection.Reply, reply_code=541))
def a_tag_asks_for_a_confirmation(server: Server) -> None:
    """OPEN with the tag 7 is confirmed by REPLY with this tag."""
    opens(server.tuned(), confirm_tag=7)


def denied(tag: int) -> Outcome:
    """Allow a REPLY that tells an error."""

    def matches(seen: Any) -> bool:
        return came_as(seen, Connection.Reply, {"confirm_tag": tag}) and is_error(seen.command.reply_code)

    return Outcome("CONNECTION REPLY with a code of 3xx to 5xx", matches).recorded("a reply can refuse")


def is_elsewhere(opening: Any) -> bool:
    """Say whether OPEN names the path that nobody has."""
    return bool(opening.virtual_path == NO_SUCH_PATH)


@scenario("fast/3.2.6.unknown-virtual-path-refused")
@broken_by("says nothing", ignores(Connection.Open, when=is_elsewhere))
@broken_by("says that all is well", rewrites(Connection.Close, reply_code=OK))
def an_unknown_path_is_refused(server: Server) -> None:
    """OPEN of a path that nobody has is refused by CLOSE, or by REPLY with an error."""
    server.connection()
    connection = server.tuned()
    opening = connection.opening(virtual_path=NO_SUCH_PATH)
    others = (denied(opening.confirm_tag), granted(Connection.Reply, opening.confirm_tag).under(ANY_PATH))
    connection.tries(opening, closed(Connection.Close), *others, stream_ends().under(WORDLESS))


@scenario("fast/3.2.6.any-client-name")
@broken_by("wants no blanks", answers(Connection.Open, REFUSAL, when=lambda said: b" " in said.client_name))
@broken_by("wants ASCII", answers(Connection.Open, REFUSAL, when=lambda said: not said.client_name.isascii()))
@broken_by("wants it short", answers(Connection.Open, REFUSAL, when=lambda said: len(said.client_name) > 200))
def a_client_chooses_its_name(server: Server) -> None:
    """Names with blanks, slashes, letters of another alphabet, and 255 octets are confirmed."""
    for pattern in NAMES:
        own = pattern.format(server.name("client")).encode()
        opens(server.tuned(), client_name=own.ljust(LONGEST, b"x") if pattern is NAMES[-1] else own)


@scenario("fast/3.2.6.names-apart")
@broken_by("does not look at the case", hears(Connection.Open, client_name=bytes.lower))
@broken_by("looks at the beginning", hears(Connection.Open, client_name=lambda name: name[:4]))
def different_names_are_different_clients(server: Server) -> None:
    """Two names that differ in the case of a letter are active at once."""
    name = server.name("client")
    both = [server.tuned(), server.tuned()]
    for connection, last in zip(both, "xX", strict=True):
        opens(connection, client_name=name + last)
    for connection in both:
        serves(connection)


TAKES_BOTH = Fault.together(
    Fault.drops("open: of an active client is refused"), Fault.changes("open: is accepted", enter)
)
KEEPS_NAMES = Fault.together(
    Fault.changes("close: is answered", effects=()), Fault.drops("hang-up: ends all")
)
"""Never gives a name back: neither behind CLOSE, nor when the network connection is gone."""


# -- one connection of a client --------------------------------------------------------------------------


@scenario("fast/3.2.6.one-connection-per-name")
@broken_by("does not look at names", hears(Connection.Open, client_name=b""))
@broken_by("takes both", TAKES_BOTH)
def a_client_is_active_once(server: Server) -> None:
    """Of two connections with one name not both serve: the second is refused, or the first closed."""
    name = server.name("client")
    first, second = server.tuned(), server.tuned()
    first.open(client_name=name)
    first.channel()
    opening = second.opening(client_name=name)
    confirmed = granted(Connection.Reply, opening.confirm_tag).recorded("then the first is closed")
    seen = second.tries(opening, *turned_away(), confirmed)
    if isinstance(seen, Connection.Reply):
        first.expect(*turned_away())


@scenario("fast/3.2.6.name-free-again")
@broken_by("keeps the name", KEEPS_NAMES)
def a_name_is_free_behind_its_connection(server: Server) -> None:
    """A name is confirmed again when its connection has been closed."""
    name = server.name("client")
    first = server.tuned()
    first.open(client_name=name)
    first.close()
    opens_in_time(server, name)


def has_options(opening: Any) -> bool:
    """Say whether OPEN has options."""
    return bool(opening.options)


@scenario("fast/3.2.6.unknown-options-ignored")
@broken_by("says nothing", ignores(Connection.Open, when=has_options))
@broken_by("closes as if all were well", answers(Connection.Open, Connection.Close(OK), when=has_options))
def undefined_options_are_ignored(server: Server) -> None:
    """OPEN with a field of each type, none of them defined, is confirmed."""
    server.connection()
    connection = server.tuned()
    opening = connection.opening(options=OPTIONS)
    connection.tries(
        opening, granted(Connection.Reply, opening.confirm_tag), closed(Connection.Close).under(UNDEFINED)
    )


# -- 3.2.8 ---------------------------------------------------------------------------------------------


class Opened(State):
    """The tag of our OPEN, whether it was answered, and the reply that waits for what becomes of it."""

    def __init__(self) -> None:
        self.tag: int | None = None
        self.answered = self.serves = False
        self.reply: Passage | None = None

    def end(self) -> Any:
        """Judge the code of a REPLY behind which the connection serves."""
        if self.reply is not None and self.serves:
            code = self.reply.said.reply_code
            yield code in GOOD or f"REPLY {code} on a connection that serves, at {self.reply.at:.4f} s"


@watch(
    "fast/3.2.8.reply-only-to-open",
    during=DURING,
    looks_at=came(Connection.Reply) + went(Connection.Open),
    start=Opened,
    gap=Gaps.STOPS,
)
@broken_by("replies twice", repeats(Connection.Reply))
@broken_by("replies to TUNE", adds(Connection.Tune, Connection.Reply(1, OK)))
def a_reply_answers_an_open(opened: Opened, each: Passage) -> Found:
    """CONNECTION REPLY comes behind our OPEN, and once."""
    if isinstance(each.said, Connection.Open):
        opened.tag, opened.answered = each.said.confirm_tag, False
        return None
    due, opened.answered = opened.tag is not None and not opened.answered, True
    return due or f"CONNECTION REPLY that answers no OPEN, at {each.at:.4f} s"


@watch(
    "fast/3.2.8.tag-of-the-open",
    during=DURING,
    looks_at=came(Connection.Reply) + went(Connection.Open),
    start=Opened,
    gap=Gaps.STOPS,
)
@broken_by("tells another", rewrites(Connection.Reply, confirm_tag=lambda tag: tag + 1))
@broken_by("tells none", rewrites(Connection.Reply, confirm_tag=0))
def the_tag_of_a_reply_is_ours(opened: Opened, each: Passage) -> Found:
    """The tag of CONNECTION REPLY is that of our OPEN."""
    if isinstance(each.said, Connection.Open):
        opened.tag = each.said.confirm_tag
        return None
    same = opened.tag is None or each.said.confirm_tag == opened.tag
    return same or f"the tag {each.said.confirm_tag} for {opened.tag}, at {each.at:.4f} s"


@watch(
    "fast/3.2.8.reply-code-200",
    during="fast/3.2.7.unasked-ping-unanswered",
    looks_at=came(Connection.Reply, Channel.Reply),
    start=Opened,
    gap=Gaps.STOPS,
)
@broken_by("tells an error and serves", rewrites(Connection.Reply, reply_code=310))
def a_connection_that_serves_was_confirmed_by_200(opened: Opened, each: Passage) -> None:
    """The code of CONNECTION REPLY tells success where the connection then serves."""
    if isinstance(each.said, Connection.Reply):
        opened.reply = each
    else:
        opened.serves = True


@watch("fast/3.2.8.reply-code-of-three-digits", during=DURING, looks_at=came(Connection.Reply))
@broken_by("has two", rewrites(Connection.Reply, reply_code=20))
@broken_by("begins with 6", rewrites(Connection.Reply, reply_code=600))
def the_code_of_a_reply_has_three_digits(each: Passage) -> Found:
    """The code of CONNECTION REPLY is from 200 to 599."""
    return is_code(each)


def is_code(each: Passage) -> Found:
    """Say whether a code has three digits, of which the first is from 2 to 5."""
    fits = 200 <= each.said.reply_code < 600
    return fits or f"the code {each.said.reply_code} at {each.at:.4f} s"


def is_readable(each: Passage) -> Found:
    """Say whether a text can be read."""
    return is_text(each.said.reply_text) or f"a text that cannot be read, at {each.at:.4f} s"


@watch("fast/3.2.8.reply-text-readable", during=DURING, looks_at=came(Connection.Reply))
@broken_by("writes another alphabet", rewrites(Connection.Reply, reply_text=b"\xdcber"))
@broken_by("ends it with an octet of zero", rewrites(Connection.Reply, reply_text=b"Ok\0"))
def the_text_of_a_reply_can_be_read(each: Passage) -> Found:
    """The text of CONNECTION REPLY is UTF-8 without octets of zero."""
    return is_readable(each)
