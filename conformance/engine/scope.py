"""What of the catalogue a run is about: the documents that apply to its target, of protocols that it speaks.

Whether it does is never inferred from a failure: the target's description says so, or the target answers
with the header of another protocol. A probe that fails in any other way leaves the rules not-run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from conformance.gate.baseline import number_of
from harness.dialect import dialect
from harness.play.expect import Barrier
from harness.play.speaker import Banner
from harness.targets.port import foreign
from harness.targets.target import Target, TargetError
from harness.wire.journal import Breached
from harness.wire.transport import NotSpoken, Unreachable
from spec.applicability import optional, promises, protocol, unpromised
from spec.catalogue import catalogue
from spec.rules import Rule
from spec.selection import SelectorError, select
from spec.versions import holds, is_past


@dataclass(frozen=True, slots=True)
class Scope:
    """What was found out about the protocols of a target.

    `banners` are of those it speaks, `unspoken` says of others why they are left out, and of documents about
    what the target does not promise, `failed` why nothing can be judged of protocols although they may be
    spoken. `barriers` are where the opening of a connection ends for all, by protocol. `others` are rules
    of documents that are about it in part: said of other versions than the target's, or of what it does not
    promise; that they are left out is in `unspoken`, too.
    `round_trip` is the longest of the protocols, in seconds: patience is for all.
    """

    banners: Mapping[str, Banner] = field(default_factory=dict)
    unspoken: Mapping[str, str] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)
    barriers: Mapping[str, Barrier] = field(default_factory=dict)
    others: frozenset[str] = frozenset()
    round_trip: float = 0.0

    @property
    def breaches(self) -> list[Breached]:
        """What was wrong at the door and read all the same."""
        return [each for banner in self.banners.values() for each in banner.breaches]

    @property
    def hampered(self) -> dict[str, str]:
        """What is wrong with the opening of a connection, by protocol."""
        told = {
            name: "; ".join(each.what for each in banner.breaches)
            for name, banner in self.banners.items()
            if banner.breaches
        }
        return {name: each.what for name, each in self.barriers.items()} | told

    @property
    def banner(self) -> Banner | None:
        """What the target says of itself in the first protocol it speaks."""
        return next(iter(self.banners.values()), None)

    def covers(self, document: str) -> bool:
        """Say whether the run is about the rules of a document."""
        return self.unspoken.keys().isdisjoint((protocol(document), document))

    def rules(self, rules: Iterable[Rule]) -> tuple[Rule, ...]:
        """Give those of `rules` that the run is about."""
        return tuple(rule for rule in rules if self.covers(rule.document) and rule.id not in self.others)

    def why_not(self, rule: Rule) -> str:
        """Say why a rule of the run cannot be judged; empty when it can."""
        return self.failed.get(protocol(rule.document), "")

    def plain(self) -> dict[str, Any]:
        """Give what a worker needs to know, as plain values."""
        return {
            "unspoken": dict(self.unspoken),
            "failed": dict(self.failed),
            "others": sorted(self.others),
            "round_trip": self.round_trip,
            "barriers": {name: asdict(each) for name, each in self.barriers.items()},
        }

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Scope:
        """Give the scope that `plain` told a worker."""
        barriers = {name: Barrier.of(each) for name, each in told["barriers"].items()}
        others = frozenset(told["others"])
        return cls({}, told["unspoken"], told["failed"], barriers, others, told["round_trip"])


def apart_of(target: Target) -> frozenset[str]:
    """Give the rules that `target` may not survive. Raises TargetError for a selector of nothing."""
    if not target.apart:
        return frozenset()
    try:
        found = select(catalogue().rules, target.apart, catalogue().aliases)
    except SelectorError as failure:
        raise TargetError(f"{target.name} is described with what cannot be judged apart: {failure}") from None
    return frozenset(rule.id for rule in found)


def unasked(target: Target, rules: Iterable[Rule], asked: Collection[str]) -> Scope:
    """Say what a run is about whose `target` could not be asked: what all are, and what was `asked` for."""
    return _in_part(Scope(), rules, _unpromised(target, rules, asked, {}))


def _unpromised(
    target: Target, rules: Iterable[Rule], asked: Collection[str], banners: Mapping[str, Banner]
) -> dict[str, str]:
    """Say of each optional document of `rules` why it is not about the target, where it is not as a whole."""
    found = {}
    for each in dict.fromkeys(rule.document for rule in rules if rule.document in optional()):
        told = _told(each, banners)
        found[each] = unpromised(target.name, each, {*asked, *target.documents}, told)
    return {document: why for document, why in found.items() if why}


def _told(document: str, banners: Mapping[str, Banner]) -> Mapping[str, Any]:
    banner = banners.get(protocol(document))
    return banner.properties if banner else {}


def _in_part(found: Scope, rules: Iterable[Rule], unpromised: Mapping[str, str]) -> Scope:
    """Leave out what of optional documents is not about the target, and say of how many of `rules`.

    A document that is `unpromised` as a whole is about it in part where a capability promises some of it.
    """
    concerned = {rule.document for rule in rules if rule.document in optional()}
    every = [rule for rule in (*catalogue().rules, *rules) if rule.document in concerned]
    kept = {rule.document for rule in every if _is_promised(rule, found.banners)}
    whole = {document: why for document, why in unpromised.items() if document not in kept}
    apart = {}
    for rule in every:
        if rule.document not in whole:
            why = _why_untold(rule, found.banners) if rule.document in unpromised else ""
            apart[rule.id] = why or (rule.versions and _why_apart(rule, found.banners))
    apart = {identity: why for identity, why in apart.items() if why}
    told = _counted((rule.document, apart[rule.id]) for rule in rules if rule.id in apart)
    return replace(found, others=frozenset(apart), unspoken={**found.unspoken, **whole, **told})


def _counted(left: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Say, by document, how many rules were left out and why."""
    told: dict[str, list[str]] = {}
    for (document, why), count in Counter(left).items():
        told.setdefault(document, []).append(f"{count} {'rule is' if count == 1 else 'rules are'} {why}")
    return {f"{document} (in part)": "; ".join(each) for document, each in told.items()}


def _is_promised(rule: Rule, banners: Mapping[str, Banner]) -> bool:
    return bool(rule.capability) and rule.capability in promises(_told(rule.document, banners))


def _why_untold(rule: Rule, banners: Mapping[str, Banner]) -> str:
    """Say that a rule is not about what the target promises; empty where it is."""
    if _is_promised(rule, banners):
        return ""
    own = promises(_told(rule.document, banners)) & {each.capability for each in catalogue().rules}
    return f"not about what it promises: {', '.join(sorted(own))}"


def _why_apart(rule: Rule, banners: Mapping[str, Banner]) -> str:
    """Say of what else than the target a rule is said; empty where it is about the target.

    Another product, or one whose version nobody can read, is held to what is said of the latest version.
    """
    product = optional()[rule.document].product
    banner = banners.get(protocol(rule.document))
    number = number_of(banner.version) if banner else ""
    if banner and number and banner.product.casefold() == product.casefold():
        return "" if holds(rule.versions, number) else f"said of other versions than {number}"
    return f"said of earlier versions of {product}" if is_past(rule.versions) else ""


def met(
    target: Target, rules: Iterable[Rule], within: float, busy: Callable[[], bool] = lambda: False
) -> None:
    """Make sure that a port may speak a protocol of `rules`: it has `within` seconds for its first octets.

    It has longer as long as this side is `busy` with something else: on a slow machine both are slow.
    Raises Unreachable with one sentence where nothing, silence or something else is there.
    """
    speakers = [dialect(each).speaker for each in dict.fromkeys(protocol(rule.document) for rule in rules)]
    told = foreign(target, {each.name: each.header for each in speakers if each.header}, within, busy)
    if told:
        raise Unreachable(told)


def _named(banner: Banner, target: Target) -> Banner:
    """Call a product that does not name itself as its description does, if it has one."""
    if banner.product:
        return banner
    described = target.describe()
    product, version = (str(described.get(key, "")) for key in ("product", "version"))
    return replace(banner, product=product, version=version)


def scope(
    target: Target, rules: Sequence[Rule], within: float, asked: Collection[str] = frozenset()
) -> Scope:
    """Probe the protocols of `rules` on a started `target`, each in `within` seconds.

    What only some products promise is judged where the target does, or where the document was `asked` for;
    what is said of some versions of a product, where the target is one of these.
    Raises Unreachable when none of them is spoken.
    """
    banners: dict[str, Banner] = {}
    unspoken: dict[str, str] = {}
    failed: dict[str, str] = {}
    for each in dict.fromkeys(protocol(rule.document) for rule in rules):
        if target.protocols is not None and each not in target.protocols:
            spoken = " and ".join(sorted(target.protocols))
            unspoken[each] = f"{target.name} is described as speaking {spoken}"
            continue
        try:
            banners[each] = _named(dialect(each).towards(target.role).probe(target, within), target)
        except NotSpoken as failure:
            unspoken[each] = str(failure)
        except Unreachable as failure:
            failed[each] = str(failure)
    if not banners:
        raise Unreachable("; ".join((*failed.values(), *unspoken.values())))
    barriers = {name: each.barrier for name, each in banners.items() if each.barrier}
    round_trip = max(each.round_trip for each in banners.values())
    found = Scope(banners, unspoken, failed, barriers, round_trip=round_trip)
    return _in_part(found, rules, _unpromised(target, rules, asked, banners))
