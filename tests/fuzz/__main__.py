"""Fuzz one target with atheris, guided by coverage: `python -m tests.fuzz TARGET --seconds 600`.

atheris is no dependency of the project: install it into an environment of your own that also sees the project's packages.
A finding is kept as a file `crash-…`; inputs that widen the coverage go into --found (a folder outside the repository).
"""

import argparse
import importlib
import os
import sys
import tempfile
from pathlib import Path

CORPUS = Path(__file__).parent / "corpus"


def main() -> None:
    """Read the words, instrument our own modules, and fuzz."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("target")
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--found", type=Path, default=None, help="where new inputs go")
    words = parser.parse_args()
    try:
        atheris = importlib.import_module("atheris")
    except ImportError:
        sys.exit(
            "atheris is not installed here: make a venv, `pip install atheris`, and put the project's packages on its path."
        )
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "workflowplatform.settings")
    with atheris.instrument_imports(include=["engine", "tests.fuzz"]):
        import django

        django.setup()
        from tests.fuzz.targets import TARGETS, one_input
    if words.target not in TARGETS:
        sys.exit(f"targets: {', '.join(TARGETS)}")
    found = words.found or Path(tempfile.mkdtemp(prefix=f"fuzz_{words.target}_"))
    found.mkdir(parents=True, exist_ok=True)
    kept = CORPUS / words.target
    options = [
        sys.argv[0], str(found), *([str(kept)] if kept.exists() else []), f"-max_total_time={words.seconds}",
        "-max_len=600", "-timeout=20", "-rss_limit_mb=2048", f"-artifact_prefix={found}/", "-print_final_stats=1",
    ]  # fmt: skip
    atheris.Setup(options, lambda data: one_input(words.target, data))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
