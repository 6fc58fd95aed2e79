"""How watches are called, what is counted, and what a gap does to them."""

from __future__ import annotations

from typing import Any

import pytest

from harness.play.watching import Enough, Fold, Found, Gaps, Repeats, State, Watching, came, went
from harness.wire.journal import Direction
from harness.wire.transcript import Gap, Passage, Sort, Transcript, sort

SENT, RECEIVED = Direction.SENT, Direction.RECEIVED


class Words(Transcript):
    """A transcript of words."""

    def sorted(self) -> tuple[list[Sort], list[Any]]:
        return [sort(each.direction, Gap if isinstance(each.unit, Gap) else each.unit) for each in self], [
            *self
        ]


def words(*said: str | Gap) -> Words:
    """Make a transcript: small letters came, capitals went."""
    return Words(
        Passage(float(at), SENT if isinstance(each, str) and each.isupper() else RECEIVED, each)
        for at, each in enumerate(said)
    )


class Count(State):
    """How many words were looked at."""

    def __init__(self) -> None:
        self.words, self.gaps = 0, 0

    def end(self) -> list[Found]:
        return [f"{self.words} words, {self.gaps} gaps"]

    def missed(self, way: Direction) -> None:
        self.gaps += way is RECEIVED


def counts(count: Count, _: Passage[str]) -> Found:
    count.words += 1
    return None


def seen(fold: Fold, *said: str | Gap) -> tuple[int, list[str]]:
    found = [(tally.held, tally.broken) for _, tally in Watching([("a rule", fold)]).look(words(*said))]
    return found[0] if found else (0, [])


def test_only_what_is_asked_for_is_looked_at() -> None:
    fold = Fold(lambda each: each.unit == "a" or each.unit, came("a", "b"), Gaps.BEARS)
    assert seen(fold, "a", "b", "c", "A", "a") == (2, ["b"])


def test_what_holds_by_being_there_is_counted_without_a_call() -> None:
    fold = Fold(lambda _: "never", came("b"), Gaps.BEARS, counts=came("a"), needs=came("c"))
    assert seen(fold, "a", "b", "a") == (2, [])
    assert seen(fold, "a", "b", "c") == (1, ["never"])
    nowhere = Fold(lambda _: True, came("a"), Gaps.BEARS, counts=came("a"), where=lambda _: False)
    assert seen(nowhere, "a") == (0, [])


def test_behind_what_ends_it_nothing_is_looked_at_or_counted() -> None:
    fold = Fold(lambda _: "b", came("b"), Gaps.BEARS, counts=came("a"), until=went("Z"))
    assert seen(fold, "a", "b", "a") == (2, ["b"])
    assert seen(fold, "a", "Z", "b", "a", "Z") == (1, [])
    assert seen(fold, "a", Gap(), "b") == (1, ["b"])
    may_have_come = Fold(lambda _: "b", came("b"), Gaps.BEARS, counts=came("a"), until=came("z"))
    assert seen(may_have_come, "a", Gap(), "b") == (1, [])


def test_several_findings_of_one_passage_count_each() -> None:
    assert seen(Fold(lambda _: (True, "x", None, True), came("a"), Gaps.BEARS), "a") == (2, ["x"])


def test_who_has_enough_looks_at_nothing_more_and_ends_nothing() -> None:
    fold = Fold(lambda _, each: Enough(each.unit), came("a", "b"), Gaps.STOPS, start=Count)
    assert seen(fold, "a", "b") == (0, ["a"])


@pytest.mark.parametrize(
    ("gap", "told"), [(Gaps.STOPS, []), (Gaps.TOLD, ["2 words, 1 gaps"]), (Gaps.BEARS, ["2 words, 0 gaps"])]
)
def test_a_gap_means_to_a_watch_what_it_says(gap: Gaps, told: list[str]) -> None:
    assert seen(Fold(counts, came("a"), gap, start=Count), "a", Gap(), "a") == (0, told)


def test_a_gap_on_a_side_that_nobody_looks_at_means_nothing() -> None:
    assert seen(Fold(counts, went("A"), Gaps.STOPS, start=Count), "A", Gap(), "A") == (0, ["2 words, 0 gaps"])


def test_every_connection_has_a_state_of_its_own() -> None:
    watching = Watching([("a rule", Fold(counts, came("a"), Gaps.TOLD, start=Count))])
    told = [watching.look(words("a"))[0][1].broken for _ in range(2)]
    assert told == [["1 words, 0 gaps"]] * 2


def test_whole_is_judged_once_when_all_is_over() -> None:
    fold = Fold(lambda seen: ["".join(each.unit for each in seen)], came("a", "b"), Gaps.STOPS, whole=True)
    assert seen(fold, "a", "b", "c") == (0, ["ab"])
    assert seen(fold, "a", Gap(1), "b") == (0, [])


def test_what_is_ours_may_be_repeated() -> None:
    repeats = Repeats()
    repeats.ours.append("ours")
    repeats.wrong += [("ours", "repeated"), ("", "empty"), ("theirs", "made up")]
    assert [*repeats.end()] == ["empty", "made up"]
    repeats.missed(RECEIVED)
    assert [*repeats.end()] == ["empty", "made up"]
    repeats.missed(SENT)
    assert [*repeats.end()] == ["empty"]
