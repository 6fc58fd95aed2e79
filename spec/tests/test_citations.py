"""Rules are cited by their identity, and every identity that is cited is that of a rule."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from spec.catalogue import DOCUMENTS, catalogue
from spec.tests.faults import relation_faults

ROOT = Path(__file__).parents[2]
FOLDERS = ("spec", "harness", "scenarios", "conformance", "reports", "ci")
EXAMPLES = {"aliases.toml"}
"""Files that show what an identity looks like by one that is none."""

FILES = {path.relative_to(DOCUMENTS).as_posix() for path in DOCUMENTS.rglob("*.*")}
"""What index.toml names: documents that are folders have files that look like identities."""

PREFIXES = {each.prefix for each in catalogue().documents}
FIRST = "|".join(sorted({each.partition("/")[0] for each in PREFIXES}))
CITED = re.compile(rf"(?<![\w/.-])(?:{FIRST})/[a-z0-9./-]*[a-z0-9](?![a-z0-9/-]|[a-z0-9./-]*\*)")


def files() -> Iterator[Path]:
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".py", ".toml", ".xml") and "tests" not in path.parts:
                yield path


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_identity_that_is_cited_is_that_of_a_rule(folder: str) -> None:
    known = {*catalogue().by_identity, *catalogue().aliases, *PREFIXES, *FILES}
    unknown = {
        f"{path.relative_to(ROOT)}: {identity}"
        for path in files()
        if path.is_relative_to(ROOT / folder) and path.name not in EXAMPLES
        for identity in CITED.findall(path.read_text(encoding="utf-8"))
        if identity not in known
    }
    assert unknown == set()


def test_every_identity_in_a_reading_is_that_of_a_rule() -> None:
    assert relation_faults(catalogue()) == ()


def test_no_reading_goes_by_a_number() -> None:
    numbered = re.compile(r"\bA[1-9][0-9]?\b")
    assert {path.name for path in files() if numbered.search(path.read_text(encoding="utf-8"))} == set()
