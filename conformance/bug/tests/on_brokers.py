"""Scripts of a run's findings, played on the broker that was judged."""

import threading
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from conformance.bug.folder import SCRIPT, Written, write_all
from conformance.bug.handed import arguments, played
from conformance.bug.player import THERE
from conformance.evidence.kinds import Judged
from conformance.evidence.results import however_ended
from conformance.evidence.verdicts import Verdict
from conformance.proof.detection import judge_standing
from conformance.render.rendering import load
from harness.targets.named import target
from harness.targets.target import Target
from harness.wire.tls import Security
from spec.catalogue import catalogue

AT_ONCE = 8
AGAIN = 8


def by_chance(baseline: Path) -> set[str]:
    """Give the rules of which a baseline says that the broker breaks them by chance."""
    return {each["rule"] for each in tomllib.loads(baseline.read_text()).get("flaky", [])}


def is_seen_again(found: Written, goal: Target) -> bool:
    """Judge the rule of a finding again, some times, on a target that serves.

    It is gone only where each time something else is seen; nobody can say so of what is not played. A rule
    that is inapplicable was played: a broker that stood still may be red where it does not do at all what the
    rule is about.
    """
    rule = catalogue()[found.judged.rule]
    came = (judge_standing(rule, goal) for _ in range(AGAIN))
    return any(each.verdict is Verdict.NOT_RUN or what(each) == what(found.judged) for each in came)


def what(judged: Judged) -> tuple[Verdict, str]:
    """Say what a judgement found, however a stream ended by that."""
    return judged.verdict, however_ended(judged.signature)


def shown(
    run: Path, name: str, baseline: Path, folder: Path, last: frozenset[str] = frozenset()
) -> tuple[float, list[str]]:
    """Write the scripts of all findings and play each on a broker of this name that is started for it.

    Give the part of findings that have a script, and what the scripts said of rules that none of them shows
    although the broker breaks the rule each time: of several ways to break it some are races. Rules of `last`
    end the broker.
    """
    chance = by_chance(baseline)
    written = write_all(load(run), None, folder)
    with_script = [each for each in written if each.handed.text]
    goal, one_at_a_time = target(name, Security()), threading.Lock()
    goal.start()
    try:
        place = goal.endpoint()

        def play(each: Written) -> str:
            with one_at_a_time:
                options = arguments(each.handed.sources, goal.use)
            status, told = played(each.folder / SCRIPT, place.host, place.port, options)
            shows = status == THERE or each.judged.rule in chance
            return "" if shows else f"{each.judged.rule}: {status}, {told}"

        early = [each for each in with_script if each.judged.rule not in last]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            came = list(pool.map(play, early))
        # A script waits as long as an idle machine needs, and some faults are races: what does not show
        # beside others is played alone, up to eight times: a busy machine makes races rarer.
        seen = {each.judged.rule for each, told in zip(early, came, strict=True) if not told}
        late = [each for each, told in zip(early, came, strict=True) if told and each.judged.rule not in seen]
        left = [each for each in late if all(play(each) for _ in range(AGAIN))]
        # What the suite does not see again, either, was the machine's doing, or chance that nobody knew of.
        left = [each for each in left if is_seen_again(each, goal)]
        told = [play(each) for each in (*left, *(each for each in with_script if each not in early))]
    finally:
        goal.stop()
    return len(with_script) / len(written), list(filter(None, told))
