"""Where AMQ RFC 006 allows several behaviours: the choices of the reference peer, as data.

The first value of each is the default; every other one is a legal variant on which no scenario may fail. The
lines are those of the text.
"""

from dataclasses import dataclass
from typing import Literal

from harness.peers.policy import variants


@dataclass(frozen=True)
class Policy:
    """The choices of a server."""

    # -- errors and frames (2, 3.1) ----------------------------------------------------------------------

    error_level: Literal["narrowest", "channel", "connection"] = "narrowest"
    """How much an error closes: the part it is in (553), or what is around it (1608, 1615)."""
    malformed: Literal["close", "end"] = "close"
    """What follows octets that are no frame once it is open: CONNECTION CLOSE, or the end of the stream."""
    sends_long: bool = False
    """Whether the size of a short frame is written in the long form, too (605)."""
    long_size: Literal["any", "large alone"] = "any"
    """For which sizes the long form is taken: for all (607), or only for those that need it (209)."""
    transfer: Literal["at once", "one by one"] = "at once"
    """Whether all that is to be said goes out at once, or command by command."""
    deliveries: Literal["behind the reply", "before it"] = "behind the reply"
    """Where deliveries that a confirmed command leads to stand (518, 522)."""
    reply_text: Literal["words", "none"] = "words"
    """Whether a reply has a text (1157)."""

    # -- connections (3.2) -------------------------------------------------------------------------------

    negotiation_fault: Literal["close", "end"] = "close"
    """What follows a fault before the connection is open: CONNECTION CLOSE (1230), or only the end (1267)."""
    pause: float = 2.0
    """Seconds before the end of the stream, for a fault in the negotiation (1269)."""
    half_response: Literal["refused", "asked again"] = "refused"
    """What follows a response that lacks the password: the end (951), or another challenge (949)."""
    challenges: int = 1
    """How many CONNECTION CHALLENGEs are answered before a client is let in (363)."""
    server_version: int = 1
    """The highest version the server knows (838)."""
    ends_stream: Literal["initiator", "both"] = "initiator"
    """Who closes the socket behind the handshake of CONNECTION CLOSE: the initiator (1188), or both."""
    fast_pings: Literal["as asked", "never"] = "as asked"
    """Whether the heartbeat that a client asks for is sent: a hint, not a request (1056)."""
    heartbeat: int = 0
    """Seconds of the heartbeat that the server asks for; zero for none (1031)."""
    limits_told: Literal["frame-max", "all", "none set"] = "all"
    """Which options CONNECTION TUNE carries beside FRAME_MAX (1012); zeros where none is set (1027)."""
    active_client: Literal["refuses the new", "drops the old"] = "refuses the new"
    """Which of two connections with one client-name goes (1112)."""
    unknown_path: Literal["refuses", "replies", "serves"] = "refuses"
    """Whether a virtual path must be known (1106), which a REPLY can say as well; what it names is open."""
    foreign: Literal["ends", "closes", "speaks"] = "ends"
    """What follows an initiation of another protocol: the end (853), behind CLOSE, or its own words (832)."""
    lacking: Literal["asks", "ends"] = "asks"
    """What follows a RESPONSE that lacks something: another CHALLENGE (949), or the end (950)."""
    field_names: Literal["checked", "ignored"] = "checked"
    """Whether names of fields without a meaning are held to their form (905)."""
    options: Literal["ignored", "refused"] = "ignored"
    """What becomes of options that nobody has defined (1116)."""
    client_limits: Literal["ignored", "refused"] = "ignored"
    """What becomes of a limit that only the server has to name (1041)."""
    pings_answered: Literal["that ask", "all"] = "that ask"
    """Which PINGs are answered: those that ask for it (1127), or all (1236)."""
    silence: Literal["waits", "asks", "closes"] = "waits"
    """What follows where nothing comes for twice the heartbeat from who sends none (1134)."""

    # -- channels and messages (3.3, 3.4) ----------------------------------------------------------------

    insists: Literal["closes again", "discards"] = "closes again"
    """What follows a command behind our CLOSE (1183, 1546): another CLOSE, or nothing."""
    first_number: Literal[1, 0] = 1
    """The number of the first message delivered on a channel (1434)."""
    commit_confirms: Literal["acknowledged", "all"] = "acknowledged"
    """Which messages a commit confirms: those acknowledged (1464), or all that were sent (1469)."""
    rollback_returns: Literal["all", "acknowledged"] = "all"
    """Which messages a rollback gives back: all sent since (1499), or those whose ACK it cancels."""
    restart: Literal["full", "minimal"] = "full"
    """How HANDLE PREPARE is answered (1376): with what is held already, or as for a new message."""
    prepares: Literal["large messages", "never"] = "large messages"
    """Whether the server itself uses HANDLE PREPARE in restartable mode (1391)."""
    hashes: Literal["validates", "ignores"] = "validates"
    """Whether a content hash is checked (1405)."""
    wrong_hash: Literal["reply", "close"] = "reply"
    """What carries 542 where a confirmation was asked for (1410): HANDLE REPLY, or a close."""
    ack_reply: Literal["channel", "handle"] = "channel"
    """What confirms CHANNEL ACK: CHANNEL REPLY as all channel commands (1505), or HANDLE REPLY (1591)."""
    unknown_options: Literal["ignores", "refuses"] = "ignores"
    """What becomes of a channel with options that nobody has defined (1335)."""
    unknown_way: Literal["keeps", "refuses"] = "keeps"
    """What becomes of a channel with a string about out of band that nobody agreed on (1339)."""
    both_modes: Literal["opens", "refuses"] = "opens"
    """Whether a channel can be transacted and restartable (1329, 1332), of which nothing more is said."""
    prepare_elsewhere: Literal["refuses", "answers"] = "refuses"
    """What becomes of HANDLE PREPARE on a channel that is not restartable (1369, 2405)."""
    small_prepare: Literal["answers", "refuses"] = "answers"
    """What becomes of HANDLE PREPARE for what fits into one fragment, which no client may send (1391)."""
    fragments: Literal["largest", "smaller"] = "largest"
    """How long the fragments are: as long as the client takes (1631), or half of that (1742)."""
    split_header: Literal["refuses", "joins"] = "refuses"
    """What becomes of a header that a fragment cuts: it is read at once (1751), or joined (1742)."""
    announced: Literal["refuses", "begins"] = "refuses"
    """When a message beyond all room is refused (2280): by what its header tells, or by what has come."""
    defaults: Literal["leaves", "fills in"] = "leaves"
    """Whether an empty mime-type or encoding is passed on (138), or filled in by HANDLE OPEN (1717)."""
    high_priority: Literal["keeps", "lowers", "refuses"] = "keeps"
    """What becomes of a priority above 9 (1707)."""
    expires: Literal["drops", "keeps"] = "drops"
    """Whether messages expire: they can (1711)."""
    transient: Literal["loses", "keeps"] = "loses"
    """Whether a message that is not persistent is gone after a restart: it may be (1703)."""

    # -- destinations (3.5) ------------------------------------------------------------------------------

    created: Literal["unnamed", "always"] = "unnamed"
    """Whether HANDLE CREATED also answers for a dynamic queue that was named (32, 2104)."""
    ungets_to: Literal["others first", "anybody"] = "others first"
    """Who gets a message back: another consumer if there is one (2040), or whoever is free."""
    parts_confirmed: Literal["once", "each"] = "once"
    """Whether a message in fragments is confirmed once, or each HANDLE SEND of it (1888, 1256)."""
    browse_confirms: Literal["notify", "notify and reply"] = "notify"
    """Whether a found message is confirmed beside HANDLE NOTIFY (2098)."""
    selectors: Literal["applies", "ignores"] = "applies"
    """Whether a selector selects (1975), or is not implemented (1088)."""
    dest_name: Literal["last", "each"] = "last"
    """Whether the name of the destination is in the last fragment alone (2170)."""
    redelivered: Literal["to anybody", "to the connection", "to the client"] = "to anybody"
    """Who must have had a message that is called redelivered: the text names the client (2165), which may be
    any, the one of the connection, or the one of that client-name (1111)."""
    access: Literal["as opened", "any"] = "as opened"
    """Whether a handle is good only for what it was opened for (1833)."""
    prefetch_zero: Literal["refuses", "one"] = "refuses"
    """What a prefetch below its minimum is (1954)."""
    created_place: Literal["before the reply", "behind it"] = "before the reply"
    """Where HANDLE CREATED stands if HANDLE CONSUME is confirmed as well (518, 2104)."""
    listed: Literal["some", "all"] = "some"
    """Whether there is a limit to what HANDLE INDEX lists (2209)."""
    batches: Literal["refused", "answered"] = "refused"
    """What becomes of a second HANDLE PREPARE of a handle before the rest of the first (2249)."""
    room: Literal["limited", "unlimited"] = "limited"
    """Whether HANDLE PREPARE can announce what is too large (2280)."""
    ready_unasked: Literal["refused", "ignored"] = "refused"
    """What becomes of HANDLE READY for which nothing was prepared (2407)."""
    closing_nothing: Literal["refused", "answered", "ignored"] = "refused"
    """What becomes of HANDLE CLOSE for a handle that is not open (2316)."""
    handle_insists: Literal["discards", "closes again"] = "discards"
    """What follows a command behind our HANDLE CLOSE (2326): nothing, or another one."""


DEFAULT = Policy()
OTHERS: dict[str, list[object]] = {
    "pause": [0.0, 5.0],
    "challenges": [2],
    "server_version": [2],
    "heartbeat": [30],
}
VARIANTS = variants(DEFAULT, OTHERS, str)
"""The legal variants, by what they depart in."""
