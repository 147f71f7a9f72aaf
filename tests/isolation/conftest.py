"""Bring both tenants on stage."""

import logging
from pathlib import Path
from typing import Any

import pytest

from tests.cast import Cast, cast
from tests.isolation.scene import Stage, set_stage

__all__ = ["cast"]


@pytest.fixture
def stage(cast: Cast, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    """Return two tenants with one row of everything each, and everybody who asks."""
    settings.DATA_DIR = tmp_path
    for name in ("django.request", "django.security"):
        monkeypatch.setattr(logging.getLogger(name), "disabled", True)  # a refusal is no news here
    return set_stage(cast)
