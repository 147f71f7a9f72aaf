"""Write the table of settings in docs/operations.md from engine/conf.py: `python -m tests.settings_table`."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parents[1]
PAGE = PROJECT / "docs" / "operations.md"
FIRST, LAST = "<!-- settings: written from engine/conf.py -->\n", "<!-- end of settings -->\n"
DEFAULTS = """
import json, django
django.setup()
from django.conf import settings
from engine.conf import SETTINGS
print(json.dumps([[one.variable, getattr(settings, one.name), one.about] for one in SETTINGS]))
"""


def written() -> str:
    """Return the page with the table as it is now."""
    before, _, rest = PAGE.read_text().partition(FIRST)
    return before + FIRST + _table() + LAST + rest.partition(LAST)[2]


def _table() -> str:
    rows = [f"| `{name}` | {_spelt(default)} | {about} |" for name, default, about in _settings()]
    return "\n".join(["| variable | default | |", "|---|---|---|", *rows]) + "\n"


def _settings() -> list[tuple[str, Any, str]]:
    """Ask a product whose environment says nothing, so that the defaults are what it would really use."""
    kept = {name: value for name, value in os.environ.items() if not re.match("WORKFLOW_|PROMETHEUS_", name)}
    given = kept | {"DJANGO_SETTINGS_MODULE": "workflowplatform.settings", "SECRET_KEY": "k" * 50}
    given |= {
        "DATABASE_URL": "postgresql://nowhere/none",
        "REDIS_URL": "redis://127.0.0.1:1/0",
        "WORKFLOW_DATA": "DATA",
    }
    done = subprocess.run(
        [sys.executable, "-c", DEFAULTS], cwd=PROJECT, env=given, capture_output=True, text=True, check=True
    )
    return [(name, default, about) for name, default, about in json.loads(done.stdout)]


def _spelt(default: Any) -> str:
    """Write a default as the operator would write it into the environment."""
    if isinstance(default, bool):
        return f"`{int(default)}`"
    if isinstance(default, float):
        return f"`{default:g}`"
    words = ",".join(default) if isinstance(default, list) else str(default)
    return f"`{words.replace('DATA/', '$WORKFLOW_DATA/')}`" if words else ""


if __name__ == "__main__":
    PAGE.write_text(written())
