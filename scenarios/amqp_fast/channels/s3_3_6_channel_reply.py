"""3.3.6 CHANNEL REPLY Command, and 3.3.8 Confirmation Tags."""

from harness.amqp_fast.broken.channel_faults import confirmed_always
from harness.amqp_fast.broken.deviations import Fault, adds, repeats, rewrites
from harness.amqp_fast.client.outcomes import replied
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.client.transcript import Passage
from harness.amqp_fast.wire.vocabulary import OK, Channel
from harness.play.watching import Found, Gaps, State, came, went
from scenarios.registry import broken_by, scenario, watch

OPENED, COMMIT, ROLLBACK = "channel open: is accepted", "channel commit: is done", "channel rollback: is done"
CONFIRMED = "fast/3.3.8.tag-confirms"
COMMANDS = Channel.Open, Channel.Ack, Channel.Commit, Channel.Rollback
TAGS = 1, 256, 32768, 65535


@scenario("fast/3.3.8.tag-decides")
@broken_by("confirms each open", Fault.changes(OPENED, answer=confirmed_always))
@broken_by("confirms each commit", Fault.changes(COMMIT, answer=confirmed_always))
@broken_by("confirms each rollback", Fault.changes(ROLLBACK, answer=confirmed_always))
@broken_by("confirms no rollback", Fault.changes(ROLLBACK, answer=None))
def tag_decides_whether_a_command_is_confirmed(server: Server) -> None:
    """OPEN, COMMIT and ROLLBACK without a tag are silent; with one each of them is confirmed."""
    connection = server.connection()
    silent, told = connection.unopened(), connection.unopened()
    kinds = (Channel.Commit, Channel.Rollback)
    silent.send(Channel.Open(silent.id, 0, True), *(kind(silent.id) for kind in kinds))
    silent.stays_quiet()
    told.confirms(Channel.Open(told.id, 0, True))
    for kind in kinds:
        told.confirms(kind(told.id))


@scenario(CONFIRMED)
@broken_by("keeps the low octet of the tag", rewrites(Channel.Reply, confirm_tag=lambda tag: tag & 0xFF))
@broken_by("takes a tag above 32767 for none", Fault.changes(ROLLBACK, answer=None))
@broken_by("confirms each tag once", Fault.changes(COMMIT, answer=None))
def each_tag_is_confirmed(server: Server) -> None:
    """OPEN, COMMIT and ROLLBACK with tags of all sizes, some of them twice, are confirmed in their order."""
    connection = server.connection()
    for tag in TAGS:
        channel = connection.unopened()
        tags = (tag, *TAGS)
        said = [Channel.Open(channel.id, tag, True)]
        channel.send(*said, *(Channel.Commit(channel.id, each) for each in TAGS[:2]))
        channel.send(*(Channel.Rollback(channel.id, each) for each in TAGS[2:]))
        for each in tags:
            channel.expect(replied(Channel.Reply, each))


class Asked(State):
    """The commands that wait for their confirmation, as channel and tag; and how many were passed over."""

    def __init__(self) -> None:
        self.waiting: list[tuple[int, int]] = []
        self.passed: list[tuple[int, int]] = []
        self.tags: set[int] = set()

    def see(self, each: Passage) -> Channel.Reply | None:
        """Take note of what we ask for; give CHANNEL REPLY."""
        said = each.said
        if isinstance(said, Channel.Reply):
            return said
        if isinstance(said, COMMANDS) and said.confirm_tag:
            self.waiting.append((said.channel_id, said.confirm_tag))
            self.tags.add(said.confirm_tag)
        return None


ASKED = went(*COMMANDS) + came(Channel.Reply)


@watch("fast/3.3.6.only-what-was-asked", during=CONFIRMED, looks_at=ASKED, start=Asked, gap=Gaps.STOPS)
@broken_by("confirms twice", repeats(Channel.Reply))
@broken_by("confirms what nobody asked", adds(Channel.Reply, lambda it: Channel.Reply(it.channel_id, 0, OK)))
def confirms_what_was_asked_for(asked: Asked, each: Passage) -> Found:
    """Each CHANNEL REPLY is for a command with a tag that waits for it."""
    reply = asked.see(each)
    if reply is None:
        return None
    place = reply.channel_id, reply.confirm_tag
    if place not in asked.waiting:
        return f"a confirmation that nobody waits for, at {each.at:.4f} s"
    asked.waiting.remove(place)
    return True


@watch("fast/3.3.6.reply-channel", during=CONFIRMED, looks_at=ASKED, start=Asked, gap=Gaps.STOPS)
@broken_by("names the first channel", rewrites(Channel.Reply, channel_id=1))
@broken_by("names no channel", rewrites(Channel.Reply, channel_id=0))
def names_the_channel_of_the_command(asked: Asked, each: Passage) -> Found:
    """CHANNEL REPLY names the channel on which a command with its tag waits, and no other one."""
    reply = asked.see(each)
    if reply is None:
        return None
    place = reply.channel_id, reply.confirm_tag
    if place in asked.waiting:
        asked.waiting.remove(place)
        return True
    elsewhere = any(tag == reply.confirm_tag for _, tag in asked.waiting)
    return f"it names channel {place[0]}, not that of its command, at {each.at:.4f} s" if elsewhere else None


def close_of(reply: Channel.Reply) -> Channel.Close:
    return Channel.Close(reply.channel_id, OK)


class Open(State):
    """How often each channel was opened by us, and not closed since by the server."""

    def __init__(self) -> None:
        self.times: dict[int, int] = {}


@watch(
    "fast/3.3.6.reply-on-open-channel",
    during=CONFIRMED,
    looks_at=went(Channel.Open) + came(Channel.Close, Channel.Reply),
    start=Open,
    gap=Gaps.STOPS,
)
@broken_by("confirms for another channel", rewrites(Channel.Reply, channel_id=lambda number: number + 50))
@broken_by(
    "closes, then confirms", adds(Channel.Reply, lambda it: Channel.Close(it.channel_id, OK), before=True)
)
def confirms_on_a_channel_that_is_open(channels: Open, each: Passage) -> Found:
    """The channel that CHANNEL REPLY names is open: opened by us, and not closed since."""
    match each.said:
        case Channel.Open(channel_id=number):
            channels.times[number] = channels.times.get(number, 0) + 1
        case Channel.Close(channel_id=number):
            channels.times[number] = max(channels.times.get(number, 0) - 1, 0)
        case Channel.Reply(channel_id=number):
            return channels.times.get(number, 0) > 0 or f"channel {number} is not open, at {each.at:.4f} s"
    return None


@watch("fast/3.3.6.reply-tag", during=CONFIRMED, looks_at=ASKED, start=Asked, gap=Gaps.STOPS)
@broken_by("leaves the tag at zero", rewrites(Channel.Reply, confirm_tag=0))
@broken_by(
    "swaps the octets of the tag", rewrites(Channel.Reply, confirm_tag=lambda tag: tag >> 8 | tag % 256 << 8)
)
def repeats_the_tag(asked: Asked, each: Passage) -> Found:
    """The tag of CHANNEL REPLY is one that a channel command had."""
    reply = asked.see(each)
    if reply is None:
        return None
    return (
        reply.confirm_tag in asked.tags or f"the tag {reply.confirm_tag} is none of ours, at {each.at:.4f} s"
    )


OTHER_ORDER = {256: 32768, 32768: 256}


@watch("fast/3.3.6.replies-in-order", during=CONFIRMED, looks_at=ASKED, start=Asked, gap=Gaps.STOPS)
@broken_by(
    "confirms the later one first",
    rewrites(Channel.Reply, confirm_tag=lambda tag: OTHER_ORDER.get(tag, tag)),
)
def confirms_in_the_order_of_the_commands(asked: Asked, each: Passage) -> Found:
    """No CHANNEL REPLY is for a command before one of the same channel that was confirmed already."""
    reply = asked.see(each)
    if reply is None:
        return None
    place = reply.channel_id, reply.confirm_tag
    of_it = [other for other in asked.waiting if other[0] == reply.channel_id]
    if place in of_it:
        passed = of_it[: of_it.index(place)]
        asked.passed += passed
        for other in (*passed, place):
            asked.waiting.remove(other)
        return True
    return f"confirmed behind a later command, at {each.at:.4f} s" if place in asked.passed else None


@watch("fast/3.3.6.reply-code-success", during=CONFIRMED, looks_at=came(Channel.Reply))
@broken_by("tells another success", rewrites(Channel.Reply, reply_code=201))
@broken_by("tells a failure", rewrites(Channel.Reply, reply_code=541))
def confirms_with_200(each: Passage) -> Found:
    """The reply code of each CHANNEL REPLY is 200."""
    code = each.said.reply_code
    return code == OK or f"the code {code} at {each.at:.4f} s"


def has_three_digits(each: Passage) -> Found:
    """Say whether the reply code of a command has three digits, the first of which may be 1 to 5."""
    code = each.said.reply_code
    return 100 <= code < 600 or f"the code {code} at {each.at:.4f} s"


@watch("fast/3.3.6.reply-code-of-three-digits", during=CONFIRMED, looks_at=came(Channel.Reply))
@broken_by("tells two digits", rewrites(Channel.Reply, reply_code=20))
@broken_by("tells four digits", rewrites(Channel.Reply, reply_code=2000))
def reply_code_has_three_digits(each: Passage) -> Found:
    """The reply code of each CHANNEL REPLY lies between 100 and 599."""
    return has_three_digits(each)
