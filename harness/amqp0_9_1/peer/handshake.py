"""The way to an open connection: protocol header, authentication, tuning, virtual host (2.2.4, 4.2.2)."""

import platform
import socket
from collections.abc import Callable, Mapping
from functools import cache

from harness.amqp0_9_1.peer.events import BadHeader, ConnectionState, GoodHeader
from harness.amqp0_9_1.peer.refusals import close_in_silence, refuse_by
from harness.amqp0_9_1.peer.turn import AnyTurn, ConnectionTurn, Reply
from harness.amqp0_9_1.peer.turn import ConnectionRow as Row
from harness.amqp0_9_1.wire.field_tables import Table, decode_table
from harness.amqp0_9_1.wire.frames import FRAME_MIN_SIZE
from harness.amqp0_9_1.wire.vocabulary import Connection
from harness.peers.reference import external, plain
from harness.peers.rows import answering
from harness.wire.sasl import CHALLENGED, mechanism
from harness.wire.units import DecodeError

EXPECT_HEADER = ConnectionState.EXPECT_HEADER
EXPECT_START_OK = ConnectionState.EXPECT_START_OK
EXPECT_SECURE_OK = ConnectionState.EXPECT_SECURE_OK
EXPECT_TUNE_OK = ConnectionState.EXPECT_TUNE_OK
EXPECT_OPEN = ConnectionState.EXPECT_OPEN
OPEN = ConnectionState.OPEN
CLOSED = ConnectionState.CLOSED
NEGOTIATING = (EXPECT_START_OK, EXPECT_SECURE_OK, EXPECT_TUNE_OK, EXPECT_OPEN)

LOCALES = ("en_US",)
Credentials = Connection.StartOk | Connection.SecureOk
"""Methods that say who the client is."""


@cache
def server_properties() -> Table:
    """Give what connection.start.server-properties.required-fields asks for."""
    return {
        "host": socket.gethostname(),
        "product": "AMQP conformance reference peer",
        "version": "0.1.0",
        "platform": platform.system() or "unknown",
        "copyright": "Apache License 2.0",
        "information": "A strict measuring instrument, not a broker for use",
    }


def start(turn: ConnectionTurn[GoodHeader]) -> Reply:
    """Answer with Connection.Start and everything the document requires of it."""
    mechanisms = " ".join(turn.policy.mechanisms)
    return Connection.Start(0, 9, server_properties(), mechanisms, " ".join(LOCALES))


def say_our_header(turn: ConnectionTurn[BadHeader]) -> None:
    """Say a valid protocol header, before the socket is closed (4.2.2)."""
    turn.note("a protocol header that is not ours")
    turn.connection.send_header()


def not_offered(turn: ConnectionTurn[Connection.StartOk]) -> bool:
    """Say whether the client chose a mechanism or a locale that Start did not list."""
    return turn.event.mechanism not in turn.policy.mechanisms or turn.event.locale not in LOCALES


def credentials_must_be_asked_for(turn: ConnectionTurn[Connection.StartOk]) -> bool:
    """Say whether an initial response is needed and missing, or the policy never takes one."""
    if turn.event.mechanism == CHALLENGED:
        return True
    return turn.policy.sasl == "secure" or (not turn.event.response and turn.event.mechanism != "EXTERNAL")


def credentials_are_good(turn: ConnectionTurn[Credentials]) -> bool:
    return bool(_user(turn))


def _user(turn: ConnectionTurn[Credentials]) -> str:
    named = turn.event.mechanism if isinstance(turn.event, Connection.StartOk) else turn.connection.mechanism
    return _READERS[named](turn, bytes(turn.event.response))


def _amqplain(turn: AnyTurn, response: bytes) -> str:
    try:
        table, _ = decode_table(len(response).to_bytes(4) + response, 0)
    except DecodeError:
        return ""
    user, password = table.get("LOGIN"), table.get("PASSWORD")
    if not isinstance(user, str) or not isinstance(password, str):
        return ""
    return user if turn.peer.users.get(user) == password else ""


def _challenged(turn: AnyTurn, answer: bytes) -> str:
    user, said = turn.connection.claimed.decode("utf-8", "surrogateescape"), mechanism(CHALLENGED).answer
    password = turn.peer.users.get(user)
    return user if said is not None and password is not None and answer == said(user, password) else ""


_READERS: Mapping[str, Callable[[AnyTurn, bytes], str]] = {
    "PLAIN": lambda turn, response: plain(turn.peer, response),
    "AMQPLAIN": _amqplain,
    CHALLENGED: _challenged,
    "ANONYMOUS": lambda _turn, _trace: "anonymous",
    "EXTERNAL": lambda turn, wanted: external(turn.peer, wanted),
}
"""How each mechanism finds out who the client is; the mechanisms are those of harness.wire.sasl."""


def log_in(turn: ConnectionTurn[Credentials]) -> None:
    turn.connection.user = _user(turn)
    if isinstance(turn.event, Connection.StartOk):
        turn.connection.properties = turn.event.client_properties


def ask_for_credentials(turn: ConnectionTurn[Connection.StartOk]) -> Reply:
    """Answer with Connection.Secure; keep the mechanism and user, which Secure-Ok will not name again."""
    turn.connection.mechanism = turn.event.mechanism
    turn.connection.properties = turn.event.client_properties
    turn.connection.claimed = bytes(turn.event.response)
    return Connection.Secure(b"Please tell me your password" if turn.event.mechanism == CHALLENGED else b"")


def propose_limits(turn: ConnectionTurn[Credentials]) -> Reply:
    """Answer with Connection.Tune and the policy's offers."""
    policy = turn.policy
    return Connection.Tune(policy.channel_max, policy.frame_max, policy.heartbeat)


def exceeds_the_offer(turn: ConnectionTurn[Connection.TuneOk]) -> bool:
    """Say whether a limit is higher than proposed, as zero may count (connection.tune-ok.frame-max)."""
    wanted, policy = turn.event, turn.policy
    offers = ((wanted.channel_max, policy.channel_max), (wanted.frame_max, policy.frame_max))
    zero_is_higher = policy.tune_zero == "refuse"
    return any(bool(offer) and (value > offer or (not value and zero_is_higher)) for value, offer in offers)


def is_below_the_minimum(turn: ConnectionTurn[Connection.TuneOk]) -> bool:
    """Say whether frame-max is below frame-min-size and the policy does not raise it."""
    below = 0 < turn.event.frame_max < FRAME_MIN_SIZE
    return below and turn.policy.frame_max_below_minimum == "refuse"


def take_limits(turn: ConnectionTurn[Connection.TuneOk]) -> None:
    """Take the lower of both sides' limits, and the heartbeat that the client wants."""
    wanted, policy, connection = turn.event, turn.policy, turn.connection
    frame_max = wanted.frame_max or policy.frame_max
    if policy.frame_max_below_minimum == "raise":
        frame_max = frame_max and max(frame_max, FRAME_MIN_SIZE)
    connection.tune(wanted.channel_max or policy.channel_max, frame_max, wanted.heartbeat)


def host_is_unknown(turn: ConnectionTurn[Connection.Open]) -> bool:
    return turn.event.virtual_host not in turn.peer.virtual_hosts


def user_may_not_use_it(turn: ConnectionTurn[Connection.Open]) -> bool:
    allowed = turn.peer.permissions.get(turn.connection.user)
    return allowed is not None and turn.event.virtual_host not in allowed


def enter_the_host(turn: ConnectionTurn[Connection.Open]) -> None:
    """Let the connection see the entities of its virtual host from here on."""
    turn.connection.host = turn.peer.virtual_hosts[turn.event.virtual_host]
    turn.connection.opened = True


open_ok = answering(Connection.OpenOk())

_start_ok = Row("connection.start-ok", EXPECT_START_OK, Connection.StartOk)
_tune_ok = Row("connection.tune-ok", EXPECT_TUNE_OK, Connection.TuneOk)
_open = Row("connection.open", EXPECT_OPEN, Connection.Open)
HANDSHAKE = (
    Row(
        "header: a good one is answered with Start",
        EXPECT_HEADER,
        GoodHeader,
        answer=start,
        next=EXPECT_START_OK,
    ),
    Row(
        "header: another one is answered with ours and the end",
        EXPECT_HEADER,
        BadHeader,
        effects=(say_our_header,),
        next=CLOSED,
    ),
    _start_ok("a mechanism or locale not offered ends in silence", not_offered, (close_in_silence,)),
    _start_ok(
        "credentials are asked for",
        credentials_must_be_asked_for,
        answer=ask_for_credentials,
        next=EXPECT_SECURE_OK,
    ),
    _start_ok(
        "good credentials are answered with Tune",
        credentials_are_good,
        (log_in,),
        propose_limits,
        EXPECT_TUNE_OK,
    ),
    Row(
        "connection.secure-ok: good credentials are answered with Tune",
        EXPECT_SECURE_OK,
        Connection.SecureOk,
        credentials_are_good,
        (log_in,),
        propose_limits,
        EXPECT_TUNE_OK,
    ),
    Row[Credentials](
        "connection.start-ok: bad credentials end in silence",
        (EXPECT_START_OK, EXPECT_SECURE_OK),
        (Connection.StartOk, Connection.SecureOk),
        effects=(close_in_silence,),
    ),
    _tune_ok("more than offered ends in silence", exceeds_the_offer, (close_in_silence,)),
    _tune_ok("frames below the minimum end in silence", is_below_the_minimum, (close_in_silence,)),
    _tune_ok("is taken", effects=(take_limits,), next=EXPECT_OPEN),
    _open(
        "refuses an unknown virtual host",
        host_is_unknown,
        answer=refuse_by(lambda policy: policy.no_virtual_host),
    ),
    _open(
        "refuses a virtual host the user may not use",
        user_may_not_use_it,
        answer=refuse_by(lambda policy: policy.no_permission),
    ),
    _open("is answered", effects=(enter_the_host,), answer=open_ok, next=OPEN),
)
