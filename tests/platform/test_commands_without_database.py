"""A command that has no database to work on says so in one sentence, and what to do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from workflowplatform.servers.paths import PROJECT

COMMANDS = ("token gwen", "worker --processes 1", "migrate", "changepassword gwen")
MORE_COMMANDS = (
    "demo", "tenant create acme", "role create finance --tenant acme", "person create gwen --tenant acme --level 5",
    "verify_audit", "dead_letters", "retention --dry-run", "validate_templates", "workflow export hello --tenant acme",
)  # fmt: skip


def run(words: str, data: Path, **given: str) -> subprocess.CompletedProcess[str]:
    mine = {name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "REDIS_URL")}
    environment = mine | {"WORKFLOW_DATA": str(data), "SECRET_KEY": "k", **given}
    return subprocess.run(
        [sys.executable, "manage.py", *words.split()],
        cwd=PROJECT, env=environment, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def one_sentence(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 1, done
    (line,) = done.stderr.splitlines()
    return line


@pytest.mark.parametrize(
    "words", [*COMMANDS, *(pytest.param(words, marks=pytest.mark.slow) for words in MORE_COMMANDS)]
)
def test_without_a_known_database_there_is_one_sentence(words: str, tmp_path: Path) -> None:
    assert one_sentence(run(words, tmp_path)).endswith("No database is known: start bin/up, or set DATABASE_URL.")


@pytest.mark.parametrize("words", ["token gwen", pytest.param("migrate", marks=pytest.mark.slow)])
def test_a_database_that_is_away_is_named_with_its_cause(words: str, tmp_path: Path) -> None:
    away = run(words, tmp_path, DATABASE_URL="postgresql://me:hidden@127.0.0.1:9/workflow?connect_timeout=2")
    told = one_sentence(away)
    assert told.startswith("The database does not answer: ")
    assert told.endswith("check DATABASE_URL.")
    assert "hidden" not in told


def test_an_address_of_something_else_is_refused(tmp_path: Path) -> None:
    assert "is not of PostgreSQL" in one_sentence(run("token gwen", tmp_path, DATABASE_URL="mysql://me@host/x"))


def test_who_wants_the_traceback_gets_it(tmp_path: Path) -> None:
    assert "Traceback" in run("token gwen --traceback", tmp_path).stderr
