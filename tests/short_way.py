"""Mark tests of the short way to the database itself: they have nothing to see where it is switched off."""

import os

import pytest

short_way_only = pytest.mark.skipif(
    os.environ.get("WORKFLOW_HOT_PATH") == "0", reason="hot statements run over Django's cursors here"
)
