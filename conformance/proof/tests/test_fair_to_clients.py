"""What a client may do in another way fails no check of clients."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import pytest

from conformance.evidence.verdicts import Verdict
from conformance.proof.detection import judge_rule
from conformance.tests.endurance import some
from harness.amqp1_0.wire.performatives import Source, Target
from harness.dialect import dialect, documents, of
from harness.peers.interposer import Interposer
from harness.targets.client.described import MemoryClient
from scenarios.amqp1_0.clients.links.s2_6_3_offered import takes
from scenarios.registry import checks
from spec.applicability import protocol
from spec.catalogue import catalogue

SAMPLE = 60
"""Rules that each variant is tried by, but for `make endurance`."""
OF_FRAMES = {
    "0-9-1/prose/4.2.7.any-octet-counts": "",
    "0-9-1/grammar/basic.return.reply-text.told-as-received": "other-reply-texts",
    "0-9-1/prose/2.3.6.client-tells-why": "other-reply-texts",
    "0-9-1/prose/4.2.3.oversized-frame-refused": "other-body-frames",
}
"""Rules of single octets, which every variant gives on in whole frames, and of what that variant changes."""
AGAINST = (Verdict.FAIL, Verdict.WARN, Verdict.ERROR)


TAKING = {
    "1-0/2.6.3.actual-properties": takes(source=Source("x")),
    "1-0/2.6.3.not-preempted": takes(source=Source("x")),
    "1-0/2.6.3.recovered": takes(target=Target("y")),
}
"""What is asked of clients that take links which a server attaches, and one that does: our own takes none."""


def variants() -> Iterator[tuple[str, str, Interposer]]:
    """Give every legal difference of each protocol: in what a client says, and in what it hears."""
    for document in documents():
        known = dialect(document).proof.harmless.items()
        own = of(document, "broken.harmless").OF_CLIENTS.items()
        yield from ((document, name, change) for name, change in chain(known, own))


VARIANTS = list(variants())
ids = [f"{document} {name}" for document, name, _ in VARIANTS]


@pytest.mark.endurance
@pytest.mark.parametrize(("document", "name", "change"), VARIANTS, ids=ids)
def test_a_client_that_is_otherwise_is_not_blamed(document: str, name: str, change: Interposer) -> None:
    rules = [
        rule
        for rule in checks().of_clients
        if protocol(catalogue()[rule].document) == document and OF_FRAMES.get(rule, "-") not in ("", name)
    ]
    blamed = {}
    for rule in some(rules, SAMPLE, name):
        judged = judge_rule(catalogue()[rule], MemoryClient(document, change))
        if judged.verdict in AGAINST:
            blamed[rule] = f"{judged.verdict}: {judged.detail}"
    assert blamed == {}


@pytest.mark.parametrize(("rule", "took"), TAKING.items())
def test_a_client_that_takes_links_of_a_server_passes(rule: str, took: Interposer) -> None:
    assert judge_rule(catalogue()[rule], MemoryClient("1-0", took)).verdict is Verdict.PASS
    assert judge_rule(catalogue()[rule], MemoryClient("1-0")).verdict is Verdict.INAPPLICABLE
