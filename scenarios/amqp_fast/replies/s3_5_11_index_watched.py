"""3.5.11 HANDLE INDEX Command: the form of what is listed, seen in all that servers send."""

import re
from itertools import pairwise

from harness.amqp_fast.broken.deviations import repeats, rewrites
from harness.amqp_fast.client.transcript import Passage
from harness.amqp_fast.wire.vocabulary import Handle
from harness.play.watching import Found, Gaps, State, came, went
from scenarios.registry import broken_by, watch

LISTED = "fast/2.2.8.7.index-lists-available"
ENTRY = rb"[0-9]+(?:-[0-9]+)?"
FORM = re.compile(rb"(?:%s(?: %s)*)?" % (ENTRY, ENTRY))
HIGHEST = 0xFFFFFFFF
ALL = "the server lists all messages at once, as it may (2209)"


def ranges(listed: bytes) -> list[tuple[int, int]]:
    """Read the first and last number of each entry; nothing where the list has not its form."""
    if not FORM.fullmatch(listed):
        return []
    entries = [each.partition(b"-") for each in listed.split()]
    return [(int(first), int(last or first)) for first, _, last in entries]


class Asked(State):
    """How many HANDLE QUERYs of each handle wait for their answer."""

    def __init__(self) -> None:
        self.waiting: dict[int, int] = {}


@watch(
    "fast/3.5.11.of-the-asking-handle",
    during=LISTED,
    looks_at=went(Handle.Query) + came(Handle.Index),
    start=Asked,
    gap=Gaps.STOPS,
)
@broken_by("names a handle of its own", rewrites(Handle.Index, handle_id=999))
@broken_by("names no handle", rewrites(Handle.Index, handle_id=0))
@broken_by("answers twice", repeats(Handle.Index))
def index_names_the_handle_that_asked(asked: Asked, each: Passage) -> Found:
    """HANDLE INDEX is for a handle with a HANDLE QUERY that is not answered yet."""
    number: int = each.said.handle_id
    waiting = asked.waiting.get(number, 0)
    if isinstance(each.said, Handle.Query):
        asked.waiting[number] = waiting + 1
        return None
    asked.waiting[number] = max(waiting - 1, 0)
    return waiting > 0 or f"a list for handle {number}, which has not asked, at {each.at:.4f} s"


@watch(
    "fast/3.5.11.highest-where-more",
    during="fast/3.5.11.truncated-is-told",
    looks_at=came(Handle.Index),
    never=ALL,
)
@broken_by("tells the next number", rewrites(Handle.Index, message_nbr=lambda number: number and number + 1))
@broken_by("tells the lowest number", rewrites(Handle.Index, message_nbr=lambda number: number and 1))
def message_nbr_is_the_highest_of_the_list(each: Passage) -> Found:
    """message-nbr, where it is not zero, is the highest number in the list."""
    told = ranges(each.said.message_list)
    if not each.said.message_nbr or not (told or each.said.message_list == b""):
        return None
    highest = max((last for _, last in told), default=None)
    return highest == each.said.message_nbr or f"another number than the highest, at {each.at:.4f} s"


@watch("fast/3.5.11.list-form", during=LISTED, looks_at=came(Handle.Index))
@broken_by("puts commas between", rewrites(Handle.Index, message_list=b"0, 1"))
@broken_by("leaves ranges open", rewrites(Handle.Index, message_list=b"0-"))
@broken_by("ends with a space", rewrites(Handle.Index, message_list=lambda listed: listed + b" "))
@broken_by("delimits by two spaces", rewrites(Handle.Index, message_list=b"0  1"))
@broken_by("joins ranges", rewrites(Handle.Index, message_list=b"0-1-2"))
def list_has_numbers_and_ranges(each: Passage) -> Found:
    """message-list is empty, or numbers and ranges with single spaces between."""
    good = FORM.fullmatch(each.said.message_list) is not None
    return good or f"a list of another form, at {each.at:.4f} s"


@watch("fast/3.5.11.list-in-ascii", during=LISTED, looks_at=came(Handle.Index))
@broken_by("uses other digits", rewrites(Handle.Index, message_list="٠-٢".encode()))
@broken_by("uses a dash", rewrites(Handle.Index, message_list="0–2".encode()))
@broken_by("ends with a zero octet", rewrites(Handle.Index, message_list=lambda listed: listed + b"\0"))
@broken_by("uses two octets for each", rewrites(Handle.Index, message_list="0-2".encode("utf-16-be")))
def list_is_ascii(each: Passage) -> Found:
    """message-list has no octets but digits, spaces and hyphens."""
    strange = {*each.said.message_list} - {*b"0123456789 -"}
    return not strange or f"a list with other octets, at {each.at:.4f} s"


@watch("fast/3.5.11.list-names-each-once", during=LISTED, looks_at=came(Handle.Index))
@broken_by("lists a number twice", rewrites(Handle.Index, message_list=b"0 1 0"))
@broken_by("lists what is in a range", rewrites(Handle.Index, message_list=b"0-5 3"))
@broken_by("has a range that descends", rewrites(Handle.Index, message_list=b"2-0"))
def list_names_each_once(each: Passage) -> Found:
    """No range descends, and none has a number of another one."""
    told = sorted(ranges(each.said.message_list))
    if not told:
        return None
    ascends = all(first <= last for first, last in told)
    apart = all(before[1] < behind[0] for before, behind in pairwise(told))
    return (ascends and apart) or f"a number twice, or a range that descends, at {each.at:.4f} s"


@watch("fast/3.5.11.ids-in-range", during=LISTED, looks_at=came(Handle.Index))
@broken_by("counts beyond", rewrites(Handle.Index, message_list=b"4294967296"))
@broken_by("has a range that goes beyond", rewrites(Handle.Index, message_list=b"0-4294967296"))
@broken_by("tells the time", rewrites(Handle.Index, message_list=b"1119398400000"))
def ids_fit_into_their_field(each: Passage) -> Found:
    """No number is above 2^32-1."""
    told = ranges(each.said.message_list)
    if not told:
        return None
    return max(last for _, last in told) <= HIGHEST or f"a number beyond 2^32-1, at {each.at:.4f} s"
