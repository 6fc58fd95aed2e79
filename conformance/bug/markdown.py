"""The report of a finding, for a vendor's tracker.

Only words of our own are Markdown. All else stands in blocks that are indented by four spaces, one printable
line each: there Markdown has no meaning.
"""

from collections.abc import Iterable

from conformance.bug.handed import Handed
from conformance.evidence.explanation import Explanation, heading
from conformance.evidence.kinds import Judged
from conformance.evidence.printable import printable
from conformance.render.report import Report

_WHAT = ("sentence", "asks", "rests upon", "said of", "place", "level")
_CAME = ("legal", "came", "while", "verdict", "detail")
_READ = ("reading", "one fault", "reason", "on failure")


def markdown(report: Report, judged: Judged, made: Handed, script: str, capture: str) -> str:
    """Give the report; `script` and `capture` are the names of the files beside it."""
    explained = report.explained(judged)
    assert explained is not None, judged.rule  # only rules of the catalogue are handed over
    started = report.started
    product = printable(f"{started.product} {started.version}".strip()) or "the broker"
    parts = [
        "# A finding by amqp-conformance",
        _block([product, f"{judged.rule}: {printable(judged.signature)}"]),
        "## What the document says",
        _block(_facts(explained, _WHAT)),
        "## What came",
        _block(_facts(explained, _CAME)),
        "## How the document is read",
        _block(_facts(explained, _READ)) or "As it stands.",
        "## How to see it",
        _how(made, script),
        f"`{capture}` has the exchange alone, for Wireshark; comments of its packets say what was decided.",
        "## The frames",
        _block(_frames(explained)),
        f"amqp-conformance {printable(started.suite)}, {judged.verdict} at the level {judged.level}.",
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def _block(lines: Iterable[str]) -> str:
    return "\n".join(f"    {line}" for line in lines)


def _facts(explained: Explanation, labels: Iterable[str]) -> list[str]:
    facts = dict(explained.facts)
    return [f"{label:10} {facts[label]}" for label in labels if facts.get(label)]


def _frames(explained: Explanation) -> Iterable[str]:
    for frame in explained.frames:
        yield f"{heading(frame)}  {frame.says}"
        for part in frame.parts:
            yield f"        {part.offset:5}  {part.octets}  {part.meaning}".rstrip()


def _how(made: Handed, script: str) -> str:
    if not made.text:
        return f"No script plays it: {printable(made.why)}."
    options = "".join(f" --{name} {name.upper()}" for name in made.sources or ())
    before = [
        f"{name} is what the facility `{facility}` makes"
        for name, (facility, _) in (made.sources or {}).items()
    ]
    told = (
        f"`python3 {script} HOST PORT{options}` ends with 1 while the fault is there, with 0 when it is gone."
    )
    return f"{told} {'; '.join(before).capitalize()}." if before else told
