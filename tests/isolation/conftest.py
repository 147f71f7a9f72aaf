"""Bring both tenants on stage."""

import logging
from pathlib import Path
from typing import Any

import pytest

from tests.cast import Cast, cast, committed_cast
from tests.isolation.scene import Stage, set_stage

__all__ = ["cast", "committed_cast"]


@pytest.fixture
def quiet(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep files in a folder of the test's own, and refusals out of the log: here they are no news."""
    settings.DATA_DIR = tmp_path
    for name in ("django.request", "django.security"):
        monkeypatch.setattr(logging.getLogger(name), "disabled", True)


@pytest.fixture
def stage(quiet: None, cast: Cast) -> Stage:
    """Return two tenants with one row of everything each, and everybody who asks."""
    return set_stage(cast)


@pytest.fixture
def committed_stage(quiet: None, committed_cast: Cast) -> Stage:
    """Return the same, committed: for those who ask on a connection of their own."""
    return set_stage(committed_cast)
