"""The dictionary, computed on Spark's workers, is that of the package."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from shutil import copy
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from conformance.causes.dictionary import PLACE, DictionaryError, dictionary
from conformance.causes.faults import known_faults
from reports.causes.computing import compute
from reports.commands.commands import write_dictionary
from reports.warehouse.spark import Cluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_workers_judge_faults_and_entries_come_in_order(spark: SparkSession) -> None:
    known = {each.key: each for each in dictionary()}
    few = sorted(known_faults(), key=lambda each: (len(known[each.key].signs) != 2, each.key))[:2]
    moved: list[int] = []
    found = compute(spark, few[::-1], moved.append)
    assert found == [known[each.key] for each in few[::-1]]
    assert moved == [2]


def test_only_what_is_missing_is_judged(tmp_path: Path) -> None:
    kept = Path(copy(PLACE, tmp_path / "known"))
    console = Console(file=(told := StringIO()))
    assert write_dictionary(kept, True, Cluster("spark://nobody"), console) == 0
    assert kept.read_bytes() == PLACE.read_bytes()
    assert f"{len(dictionary())} faults, 0 of them judged now" in told.getvalue()


def test_what_is_no_dictionary_is_not_written_over(tmp_path: Path) -> None:
    (other := tmp_path / "other").write_text("mine")
    with pytest.raises(DictionaryError):
        write_dictionary(other, True, Cluster(), Console(file=StringIO()))
    assert other.read_text() == "mine"


def test_where_nothing_can_be_written_nothing_is_judged(tmp_path: Path) -> None:
    with pytest.raises(DictionaryError, match="its directory is not there"):
        write_dictionary(
            tmp_path / "none" / "file", False, Cluster("spark://nobody"), Console(file=StringIO())
        )
