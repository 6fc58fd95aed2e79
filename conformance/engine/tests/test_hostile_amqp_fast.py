"""Pointed at peers that mean harm to a client of AMQP/Fast: as in test_hostile, with its rules and peers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.engine.tests.test_hostile import (
    HURRIED,
    LOOKS,
    Done,
    Tamper,
    Tampered,
    cut_after,
    judged,
    over_tls,
    run,
    said_in_a_handshake,
    served,
    sound,
    wrong_password,
)
from conformance.evidence.verdicts import Verdict
from harness.amqp_fast.trials.hostile import HOSTILE, OPENED
from harness.amqp_fast.wire.frames import frame
from harness.amqp_fast.wire.vocabulary import OK, Connection
from harness.dialect import dialect
from harness.trials.hostile import Dying, Harming, Tls
from harness.wire.transport import Unreachable

DOCUMENT = "fast"
FAMILIES = {
    "initiation": "fast/3.1.1.protocol-id-128",
    "frames": "fast/3.1.1.connection-ping-read",
    "tune": "fast/3.2.5.1.client-options-accepted",
    "channels": "fast/3.3.2.channel-id-up-to-the-highest",
    "messages": "fast/3.4.4.body-octets-kept",
    "queues": "fast/3.5.4.prefetch-up-to",
    "passive": "fast/3.1.1.handle-created-written",
}
"""One rule of every family of scenarios."""
HANDSHAKE = (FAMILIES["initiation"], FAMILIES["tune"])


def hostile(name: str, spared: int = 0, behind: bytes = b"", beside: bool = False) -> Tamper:
    return lambda honest: Harming(HOSTILE[name], honest, spared, behind, beside)


# -- every family in memory --------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", FAMILIES.values(), ids=list(FAMILIES))
@pytest.mark.parametrize("behind", [b"", OPENED], ids=["at-once", "opened"])
@pytest.mark.parametrize("name", HOSTILE)
def test_no_family_passes_or_breaks_on_it(name: str, behind: bytes, rule: str, tmp_path: Path) -> None:
    for each in judged(Tampered(hostile(name, behind=behind)), rule, tmp_path):
        # Rules of the handshake are about nothing that is said behind it.
        assert each.verdict is not Verdict.PASS or (rule in HANDSHAKE and behind), each
        assert not each.cause, each.cause


CLOSE = len(frame(Connection.Close(OK, "Ok")).encode())
"""Octets of the last frame of a probe: a peer that does not get that far has answered all the same."""


@pytest.mark.parametrize("how", ["fin", "rst"])
def test_the_probe_refuses_a_peer_that_closes_at_any_octet_of_the_handshake(how: str) -> None:
    for octets in range(said_in_a_handshake(DOCUMENT, CLOSE)):
        with pytest.raises(Unreachable, match="does not open"):
            dialect(DOCUMENT).speaker.probe(cut_after(octets, how))


@pytest.mark.parametrize("rule", FAMILIES.values(), ids=list(FAMILIES))
def test_no_family_breaks_on_a_peer_that_closes_anywhere(rule: str, tmp_path: Path) -> None:
    for octets in range(0, said_in_a_handshake(DOCUMENT, CLOSE), 29):
        for each in judged(cut_after(octets), rule, tmp_path):
            assert not each.cause, each.cause


@pytest.mark.parametrize("family", FAMILIES)
def test_pings_without_end_change_no_verdict(family: str, tmp_path: Path) -> None:
    # Who listens for seconds hears more of them than any scenario takes.
    slow = replace(HOSTILE["pings"], pace=0.01)
    beside = Tampered(lambda honest: Harming(slow, honest, behind=OPENED, beside=True))
    # Nothing of it waits for ever: the budget only guards against that.
    found = judged(beside, FAMILIES[family], tmp_path, replace(HURRIED, budget=5.0))
    assert {each.verdict for each in found} <= {Verdict.PASS, Verdict.INFO}


# -- the command itself ------------------------------------------------------------------------------------

PEERS: Mapping[str, tuple[Tamper, Callable[[str], str]]] = {
    **{name: (hostile(name), str) for name in ("http", "amqp-0-9-1", "silent", "drip", "4-gib")},
    **{
        f"{name} when opened": (hostile(name, LOOKS, OPENED), str)
        for name in ("garbage", "resets", "pings", "messages", "endless-message", "4-gib-fragment")
    },
    "speaks TLS on a plain port": (Tls, str),
    "speaks plainly on a TLS port": (lambda honest: honest, over_tls),
    "knows another password": (lambda honest: honest, wrong_password),
}  # fmt: skip
ENDLESS = ("messages when opened", "endless-message when opened", "pings when opened")
"""They are listened to as long as any honest peer, which takes a busy machine more than the usual budget."""


@pytest.fixture(scope="module")
def ends(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Done]:
    """A run against each peer, three at a time."""
    scratch = tmp_path_factory.mktemp("hostile")

    def one(name: str) -> Done:
        tamper, address = PEERS[name]
        with served(tamper, document=DOCUMENT) as url:
            allowed = ("--budget", "40") if name in ENDLESS else ()
            return run(address(url), scratch, *allowed, rules=tuple(FAMILIES.values()))

    with ThreadPoolExecutor(3) as several:
        return dict(zip(PEERS, several.map(one, PEERS), strict=True))


@pytest.mark.parametrize("name", PEERS)
def test_a_run_against_it_ends_with_status_3_and_says_why(name: str, ends: dict[str, Done]) -> None:
    done = ends[name]
    sound(done, FAMILIES.values())
    assert done.status == 3, done.stdout
    assert "127.0.0.1" in done.stdout
    assert Verdict.PASS not in done.verdicts.values()
    assert done.most <= 200


def test_a_peer_that_dies_half_way_leaves_the_verdicts_so_far(tmp_path: Path) -> None:
    with served(lambda honest: Dying(honest, lives=9), document=DOCUMENT) as url:
        done = run(url, tmp_path, "--budget", "30", rules=tuple(FAMILIES.values()))
    sound(done, FAMILIES.values())
    assert done.status == 3, done.stdout
    assert "cannot be reached" in done.stdout or "no longer serves" in done.stdout
    assert {Verdict.PASS, Verdict.NOT_RUN} <= set(done.verdicts.values())
