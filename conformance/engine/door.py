"""A target that breaks rules when a connection is opened: what its run says about that."""

from collections import Counter
from collections.abc import Iterable, Mapping

from conformance.evidence.results import RuleResult
from conformance.evidence.verdicts import Verdict

BLOCKED = "blocked by "
"""How the signature of a test begins that met a barrier; behind it stands the rule."""


def hampering(hampered: Mapping[str, str], results: Iterable[RuleResult]) -> str:
    """Say what is wrong at the door, `hampered` by protocol, and what it blocks; empty if all is well."""
    if not hampered:
        return ""
    found = Counter(
        result.signature.removeprefix(BLOCKED)
        for result in results
        if result.verdict is Verdict.NOT_RUN and result.signature.startswith(BLOCKED)
    )
    blocked = [
        f"{count} {'rule is' if count == 1 else 'rules are'} blocked by {rule}"
        for rule, count in found.items()
    ]
    told = "; ".join(hampered.values())
    return "; ".join(
        [f"the target's handshake is broken: {told}", *(blocked or ["no rule is blocked by that"])]
    )
