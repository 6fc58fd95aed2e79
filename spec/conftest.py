"""What tests of the documents share."""

import shutil
from pathlib import Path

import pytest

from spec.catalogue import DOCUMENTS


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Copy the documents, for a test to damage."""
    return Path(shutil.copytree(DOCUMENTS, tmp_path / "documents"))
