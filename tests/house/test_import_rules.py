"""Break each import rule in a copy of the tree: a rule that cannot go red keeps nothing."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.run import LINT_IMPORTS
from workflowplatform.servers.paths import PROJECT

PACKAGES = ("engine", "tasks_inbox", "workflowplatform")
RULES = {
    rule["id"]: rule
    for rule in tomllib.loads((PROJECT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
}
# rule, the file that breaks it, the line it breaks it with
BREAKS = [
    ("travel", "engine/models/base.py", "import engine.access"),
    ("travel", "workflowplatform/accounts/models.py", "import engine.models"),
    ("travel", "engine/db/outbox.py", "import engine.access"),
    ("travel", "engine/db/outbox.py", "import engine.dispatch.rq"),
    ("travel", "engine/runtime/commit.py", "import engine.runtime.coordinator"),
    ("travel", "engine/runtime/coordinator.py", "import engine.services.tasks.lifecycle"),
    ("travel", "engine/runtime/cross_instance.py", "import engine.runtime.coordinator"),
    ("travel", "engine/runtime/signal_routing.py", "import engine.runtime.concurrency_limits"),
    ("travel", "engine/runtime/projection/rows.py", "import engine.runtime.signal_routing"),
    ("travel", "engine/services/tasks/lifecycle.py", "import engine.dispatch.drain"),
    ("travel", "engine/dispatch/drain.py", "import engine.api.views"),
    ("travel", "engine/dispatch/drain.py", "import engine.presentation.forms.form"),
    ("travel", "tasks_inbox/presenters/field_labels.py", "import workflowplatform.urls"),
    ("doors", "tasks_inbox/presenters/field_labels.py", "import engine.api.views"),
    ("doors", "engine/api/errors.py", "import tasks_inbox.presenters.field_labels"),
    ("kernel", "engine/kernel/language/validation/validator.py", "import django"),
    ("kernel", "engine/kernel/language/validation/validator.py", "import engine.models"),
    ("kernel", "engine/kernel/language/validation/validator.py", "import httpx"),
    ("interpreter", "engine/kernel/interpreter/run_to_wait.py", "import ruamel.yaml"),
    ("interpreter", "engine/kernel/machine/step_table.py", "import engine.kernel.language.source"),
    ("interpreter", "engine/kernel/snapshot.py", "import croniter"),
    ("queue", "engine/services/tasks/lifecycle.py", "import rq"),
    ("queue", "engine/db/outbox.py", "import django_rq"),
    ("servers", "workflowplatform/servers/postgres.py", "import django"),
    ("servers", "workflowplatform/servers/up.py", "import engine.services.tasks.lifecycle"),
]


@pytest.fixture(scope="module")
def copied_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a copy of the tree to break."""
    copy = tmp_path_factory.mktemp("tree")
    for package in PACKAGES:
        shutil.copytree(PROJECT / package, copy / package, ignore=shutil.ignore_patterns("static", "__pycache__"))
    (copy / "tests").mkdir()
    shutil.copy(PROJECT / "tests" / "import_rules.py", copy / "tests")
    shutil.copy(PROJECT / "pyproject.toml", copy)
    return copy


@contextmanager
def broken(file: Path, line: str) -> Iterator[None]:
    """Add one import to a file for the length of a block."""
    before = file.read_text()
    file.write_text(f"{before}\n{line}\n")
    try:
        yield
    finally:
        file.write_text(before)


def check_imports(tree: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", LINT_IMPORTS, "--no-cache"]
    return subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)


def test_tree_as_it_is_keeps_every_rule(copied_tree: Path) -> None:
    done = check_imports(copied_tree)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"Contracts: {len(RULES)} kept, 0 broken." in done.stdout


@pytest.mark.parametrize(("rule", "file", "line"), BREAKS)
def test_broken_rule_is_red(copied_tree: Path, rule: str, file: str, line: str) -> None:
    with broken(copied_tree / file, line):
        done = check_imports(copied_tree)
    assert done.returncode != 0
    assert f"{RULES[rule]['name']} BROKEN" in " ".join(done.stdout.split())


def test_every_rule_is_broken_by_a_test() -> None:
    assert {rule for rule, _, _ in BREAKS} == RULES.keys()
