"""Format templates as djade does: `python -m tests.template_format`."""

import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
TEMPLATES = PROJECT / "templates"
COPIES = ("unfold/layouts/skeleton.html", "unfold/helpers/welcomemsg.html", "unfold/helpers/command.html")
"""Pages of the admin's theme with a few changes: tests/browser/test_admin_scripts.py compares all else with the originals."""
PAGES = [page for page in sorted(TEMPLATES.rglob("*.html")) if str(page.relative_to(TEMPLATES)) not in COPIES]
DJADE = str(Path(sys.executable).with_name("djade"))


def run_djade(*words: str) -> subprocess.CompletedProcess[str]:
    """Run djade over all templates that are ours."""
    command = [DJADE, *words, *map(str, PAGES)]
    return subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)


if __name__ == "__main__":
    sys.stdout.write(run_djade().stderr)
