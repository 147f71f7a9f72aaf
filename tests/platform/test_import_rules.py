"""Break each import rule in a copy of the tree: a rule that cannot go red keeps nothing."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

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
    # Each layer of the engine knows nothing of the one above it.
    ("layers", "engine/api/errors.py", "import engine.apps"),
    ("layers", "engine/presentation/forms/form.py", "import engine.api.views"),
    ("layers", "engine/dispatch/drain.py", "import engine.presentation.forms.form"),
    ("layers", "engine/streaming/hub.py", "import engine.dispatch.drain"),
    ("layers", "engine/services/tasks/lifecycle.py", "import engine.dispatch.drain"),
    ("layers", "engine/runtime/coordinator.py", "import engine.services.tasks.lifecycle"),
    ("layers", "engine/access/tasks.py", "import engine.runtime.commit"),
    ("layers", "engine/audit/chain.py", "import engine.access"),
    ("layers", "engine/transports/http.py", "import engine.audit.chain"),
    ("layers", "engine/db/transactions.py", "import engine.transports.http"),
    ("layers", "engine/models/base.py", "import engine.db.transactions"),
    ("layers", "engine/extensions/functions.py", "import engine.models"),
    ("layers", "engine/errors.py", "import engine.extensions.functions"),
    ("layers", "engine/kernel/errors.py", "import engine.errors"),
    ("runtime_layers", "engine/runtime/coordinator.py", "import engine.runtime.replay"),
    ("runtime_layers", "engine/runtime/cross_instance.py", "import engine.runtime.coordinator"),
    ("runtime_layers", "engine/runtime/signal_routing.py", "import engine.runtime.concurrency_limits"),
    ("runtime_layers", "engine/runtime/projection/rows.py", "import engine.runtime.signal_routing"),
    ("runtime_layers", "engine/runtime/commit.py", "import engine.runtime.projection"),
    ("kernel_layers", "engine/kernel/language/normalizer.py", "import engine.kernel.definition"),
    ("kernel_layers", "engine/kernel/steps/calls.py", "import engine.kernel.interpreter.run_to_wait"),
    ("kernel_layers", "engine/kernel/machine/machine.py", "import engine.kernel.steps.calls"),
    ("kernel_layers", "engine/kernel/expressions/cel.py", "import engine.kernel.forms"),
    ("kernel_layers", "engine/kernel/timing/cron.py", "import engine.kernel.expressions.cel"),
    ("kernel_layers", "engine/kernel/signals.py", "import engine.kernel.snapshot"),
    ("interfaces", "tasks_inbox/messages.py", "import engine.api.views"),
    ("interfaces", "engine/api/errors.py", "import tasks_inbox.messages"),
    ("engine", "engine/services/tasks/lifecycle.py", "import tasks_inbox.messages"),
    ("engine", "engine/services/tasks/lifecycle.py", "import workflowplatform.urls"),
    ("foundation", "workflowplatform/accounts/models.py", "import engine.models"),
    ("foundation", "workflowplatform/database/hot.py", "import engine.db.transactions"),
    ("kernel", "engine/kernel/language/validation/validator.py", "import django"),
    ("kernel", "engine/kernel/language/validation/validator.py", "import engine.models"),
    ("kernel", "engine/kernel/language/validation/validator.py", "import httpx"),
    ("interpreter", "engine/kernel/interpreter/run_to_wait.py", "import ruamel.yaml"),
    ("interpreter", "engine/kernel/machine/step_table.py", "import engine.kernel.language.source"),
    ("interpreter", "engine/kernel/snapshot.py", "import croniter"),
    ("queue", "engine/services/tasks/lifecycle.py", "import rq"),
    ("queue", "engine/db/transactions.py", "import django_rq"),
    ("servers", "workflowplatform/servers/postgres.py", "import django"),
    ("servers", "workflowplatform/servers/up.py", "import engine.services.tasks.lifecycle"),
]


@pytest.fixture(scope="module")
def copied_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the tree to break."""
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


def _breaks() -> Iterator[Any]:
    """Yield every break; a short run takes the first of each rule."""
    seen = set[str]()
    for rule, file, line in BREAKS:
        marks = [pytest.mark.slow] if rule in seen else []
        seen.add(rule)
        yield pytest.param(rule, file, line, marks=marks)


@pytest.mark.parametrize(("rule", "file", "line"), list(_breaks()))
def test_broken_rule_is_red(copied_tree: Path, rule: str, file: str, line: str) -> None:
    with broken(copied_tree / file, line):
        done = check_imports(copied_tree)
    assert done.returncode != 0
    assert f"{RULES[rule]['name']} BROKEN" in " ".join(done.stdout.split())


def test_every_rule_is_broken_by_a_test() -> None:
    assert {rule for rule, _, _ in BREAKS} == RULES.keys()


def test_module_without_a_layer_is_red(copied_tree: Path) -> None:
    stray = copied_tree / "engine" / "stray.py"
    stray.write_text("")
    try:
        done = check_imports(copied_tree)
    finally:
        stray.unlink()
    assert done.returncode != 0
    assert "stray" in done.stdout
