"""Several baselines: those about a build count, the others are said, and an unread version does not gate."""

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from conformance.evidence.kinds import Judged
from conformance.evidence.verdicts import Verdict
from conformance.gate.applying import Applied, applied, load_all
from conformance.gate.baseline_file import BaselineError
from conformance.gate.gate import Exit, Gate, gate
from conformance.render.tests.samples import judged, results_of, rule
from spec.rules import Level, Role

FAILS = judged(Verdict.FAIL, "a", signature="one thing")
RULES = [rule("a")]
ENTRY = """
[[accepted]]
rule = "a"
verdict = "fail"
signature = "{signature}"
sentence = "It must."
reading = "as it stands"
frame = "none"
reason = "It is so in {product} {versions}."
product = "{product}"
versions = "{versions}"
"""


def file(
    tmp_path: Path, name: str, versions: str, product: str = "Peer", signature: str = "one thing"
) -> Path:
    path = tmp_path / f"{name}.toml"
    path.write_text(ENTRY.format(versions=versions, product=product, signature=signature))
    return path


def held(version: str, *files: Path, product: str = "peer", tests: tuple[Judged, ...] = (FAILS,)) -> Applied:
    results = results_of(*tests)
    return applied(results, load_all(files), product, version, Role.SERVER, date(2026, 11, 20), {"a"})


def decided(held: Applied, *tests: Judged, **more: str) -> Gate:
    results = results_of(*(tests or (FAILS,)))
    return gate(results, RULES, Level.MUST, Role.SERVER, baseline=held.report, unread=held.unread, **more)


def test_without_a_file_nothing_is_said() -> None:
    assert held("1.0") == Applied(None, (), "")


def test_of_several_those_about_the_version_count_and_the_others_are_said(tmp_path: Path) -> None:
    old, new = file(tmp_path, "old", ">=1,<2"), file(tmp_path, "new", ">=2,<3")
    found = held("2.1", old, new)
    assert found.notes == (f"{old} is not applied to peer 2.1: it is about Peer >=1,<2",)
    assert found.report is not None
    assert found.report.excused.keys() == {"a"}
    assert decided(found).exit_status is Exit.MET


def test_what_another_version_accepts_does_not_count(tmp_path: Path) -> None:
    old = file(tmp_path, "old", ">=1,<2")
    new = file(tmp_path, "new", ">=2,<3", signature="another thing")
    assert decided(held("2.1", old, new)).exit_status is Exit.NOT_MET


def test_a_version_that_nobody_has_read_is_reported_and_does_not_gate(tmp_path: Path) -> None:
    found = held("3.0", file(tmp_path, "old", ">=1,<2"), file(tmp_path, "new", ">=2,<3"))
    it = decided(found)
    assert len(found.notes) == 2
    assert (it.certified, it.met, it.exit_status, it.unexpected) == (False, True, Exit.MET, ())
    assert [str(reason) for reason in it.reasons] == ["a: fail: one thing"]
    assert it.sentence == (
        "not certified as server at level must; 1 of 1 rules stand against it; "
        "nobody has read peer 3.0 yet: no baseline is about it, so its findings do not gate"
    )


@pytest.mark.parametrize(
    ("more", "status"), [({"lost": "it died"}, Exit.UNREACHABLE), ({"cut": "interrupted"}, Exit.NOT_MET)]
)
def test_a_run_without_an_end_gates_though_nobody_has_read_the_version(
    tmp_path: Path, more: dict[str, str], status: Exit
) -> None:
    assert decided(held("3.0", file(tmp_path, "old", ">=1,<2")), **more).exit_status is status


def test_what_is_accepted_of_a_client_counts_for_no_server(tmp_path: Path) -> None:
    entry = file(tmp_path, "client", ">=2,<3")
    entry.write_text(f'{entry.read_text()}role = "client"\n')
    found = held("2.1", entry)
    assert found.notes == (f"{entry} is not applied to peer 2.1: it is about Peer >=2,<3 as client",)
    assert (found.report, found.unread) == (None, "")
    assert decided(found).exit_status is Exit.NOT_MET
    results = results_of(FAILS)
    own = applied(results, load_all([entry]), "peer", "2.1", Role.CLIENT, date(2026, 11, 20), {"a"})
    assert own.report is not None
    assert own.report.excused.keys() == {"a"}


@pytest.mark.parametrize(("product", "version"), [("Other", "3.0"), ("Peer", "unknown"), ("", "")])
def test_a_product_nobody_knows_and_a_version_without_a_number_gate(
    tmp_path: Path, product: str, version: str
) -> None:
    found = held(version, file(tmp_path, "old", ">=1,<2"), product=product)
    assert found.unread == ""
    assert len(found.notes) == 1
    assert decided(found).exit_status is Exit.NOT_MET


def test_a_version_that_was_read_without_anything_to_accept_gates(tmp_path: Path) -> None:
    read = tmp_path / "read.toml"
    read.write_text('[[read]]\nproduct = "Peer"\nversions = ">=3,<4"\n')
    found = held("3.0", file(tmp_path, "old", ">=1,<2"), read)
    assert found.unread == ""
    assert decided(found).exit_status is Exit.NOT_MET
    assert decided(held("3.0", read, tests=()), judged(Verdict.PASS, "a")).certified


def test_a_file_without_an_entry_is_about_every_build(tmp_path: Path) -> None:
    empty = tmp_path / "empty.toml"
    empty.write_text("")
    assert decided(held("9", empty)).exit_status is Exit.NOT_MET


def test_a_finding_accepted_in_two_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BaselineError, match="have the same finding"):
        load_all([file(tmp_path, "one", ">=1,<2"), file(tmp_path, "other", ">=1,<2")])


@pytest.mark.parametrize(
    "text", ['[[read]]\nproduct = "Peer"\n', '[[read]]\nproduct = "Peer"\nversions = "new"\n', "read = 1\n"]
)
def test_a_wrong_table_of_what_was_read_is_one_sentence(tmp_path: Path, text: str) -> None:
    path = tmp_path / "read.toml"
    path.write_text(text)
    with pytest.raises(BaselineError, match=r"read\.toml"):
        load_all([path])


OURS = sorted((Path(__file__).parents[3] / "ci" / "baselines").glob("*.toml"))


@pytest.mark.parametrize("path", OURS, ids=lambda path: str(path.stem))
def test_what_comes_with_the_suite_is_read_by_name_and_called_so(path: Path) -> None:
    name = Path(f"@{path.stem}")
    [by_name], [by_path] = load_all([name]), load_all([path])
    assert by_name == replace(by_path, path=name)


@pytest.mark.parametrize("name", ["@", "@nothing", "@../claims/rabbitmq", "@rabbitmq-4.3.toml"])
def test_a_name_that_nothing_has_says_which_there_are(name: str) -> None:
    with pytest.raises(BaselineError) as told:
        load_all([Path(name)])
    there = ", ".join(f"@{path.stem}" for path in OURS)
    assert str(told.value) == f"nothing called {name} comes with the suite; baselines are {there}"
