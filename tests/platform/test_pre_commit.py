"""The hooks of .pre-commit-config.yaml do what bin/test does, with what is installed."""

from __future__ import annotations

import shlex
import subprocess
import sys
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.run import CHECKS, FAMILIES
from workflowplatform.servers.paths import PROJECT

PYTHON = ".venv/bin/python"
ONLY_IN_BIN_TEST = {"mypy", "bandit", "migrations", "deployment"}
"""What takes longer than a commit should, or needs the settings of a deployment."""
FOR_ONE_COMMIT = {"--force-exclude", "--fix"}
"""How a hook differs from a check: it gets the names of files, and changes them."""
FOR_THE_WHOLE_TREE = {"--check", "--quiet", "."}


def hooks() -> dict[str, dict[str, Any]]:
    (repository,) = YAML(typ="safe").load(PROJECT / ".pre-commit-config.yaml")["repos"]
    assert repository["repo"] == "local"  # nothing is fetched
    return {hook["name"]: hook for hook in repository["hooks"]}


def command(hook: dict[str, Any]) -> list[str]:
    python, *words = shlex.split(hook["entry"])
    assert (python, hook["language"]) == (PYTHON, "system")
    return words


def test_every_static_check_is_a_hook_or_left_to_bin_test() -> None:
    checks = [name for name in hooks() if name in CHECKS]
    assert {*checks, *ONLY_IN_BIN_TEST} == CHECKS.keys()
    assert not ONLY_IN_BIN_TEST & set(checks)


@pytest.mark.parametrize("name", [name for name in hooks() if name in CHECKS])
def test_a_hook_runs_the_command_of_bin_test(name: str) -> None:
    own = [word for word in command(hooks()[name]) if word not in FOR_ONE_COMMIT]
    assert own == [word for word in CHECKS[name] if word not in FOR_THE_WHOLE_TREE]


@pytest.mark.parametrize("name", [name for name in hooks() if name not in CHECKS])
def test_any_other_hook_runs_tests_of_a_family(name: str) -> None:
    *pytest_words, file = command(hooks()[name])
    assert pytest_words[:2] == ["-m", "pytest"]
    assert (PROJECT / file).is_file()
    assert any(file.startswith(f"{folder}/") for family in FAMILIES for folder in family.folders)


@pytest.mark.parametrize("name", ["ruff format", "ruff check"])
def test_a_hook_that_gets_files_passes(name: str) -> None:
    words = [word for word in command(hooks()[name]) if word != "--fix"]
    words += ["--check"] if name == "ruff format" else []
    done = subprocess.run(
        [sys.executable, *words, "manage.py", "tests/run.py"], cwd=PROJECT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
