"""Break each import rule once: a rule that cannot go red keeps nothing.

The imports of the tree are read once; a break is one more import in a copy of what was read. One run of the command itself, over
a copy of the tree in which a line of code breaks each rule, shows that what is true of these imports is true of the code.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import grimp
import pytest
from importlinter.api import read_configuration
from importlinter.contracts.forbidden import ForbiddenContract
from importlinter.contracts.independence import IndependenceContract
from importlinter.contracts.layers import LayersContract

from tests.import_rules import OnlyContract, ReservedContract, within
from tests.run import LINT_IMPORTS
from workflowplatform.servers.paths import PROJECT

FOUND = read_configuration(str(PROJECT / "pyproject.toml"))
SESSION = FOUND["session_options"]
PACKAGES = SESSION["root_packages"]
RULES: dict[str, dict[str, Any]] = {rule["id"]: rule for rule in FOUND["contracts_options"]}
LAYERED = {name: rule for name, rule in RULES.items() if rule["type"] == "layers"}
KINDS: dict[str, Any] = {
    "layers": LayersContract,
    "independence": IndependenceContract,
    "forbidden": ForbiddenContract,
    "only": OnlyContract,
    "reserved": ReservedContract,
}
# rule, the module that breaks it, what it imports
BREAKS = [
    # No layer knows the one above it; modules between which pyproject.toml has a | do not know each other.
    ("layers", "engine.api.errors", "engine.apps"),
    ("layers", "engine.presentation.forms.form", "engine.api.views"),
    ("layers", "engine.dispatch.drain", "engine.presentation.forms.form"),
    ("layers", "engine.streaming.hub", "engine.dispatch.drain"),
    ("layers", "engine.services.tasks.lifecycle", "engine.dispatch.drain"),
    ("layers", "engine.runtime.coordinator", "engine.services.tasks.lifecycle"),
    ("layers", "engine.runtime.commit", "engine.migrations.0001_tables"),
    ("layers", "engine.access.tasks", "engine.runtime.commit"),
    ("layers", "engine.audit.chain", "engine.access"),
    ("layers", "engine.transports.http", "engine.audit.chain"),
    ("layers", "engine.storage.attachments", "engine.transports.http"),
    ("layers", "engine.db.transactions", "engine.transports.http"),
    ("layers", "engine.models.base", "engine.db.transactions"),
    ("layers", "engine.extensions.functions", "engine.models"),
    ("layers", "engine.errors", "engine.extensions.functions"),
    ("layers", "engine.metrics", "engine.errors"),
    ("layers", "engine.conf", "engine.errors"),
    ("layers", "engine.kernel.errors", "engine.conf"),
    ("runtime_layers", "engine.runtime.coordinator", "engine.runtime.replay"),
    ("runtime_layers", "engine.runtime.environment", "engine.runtime.coordinator"),
    ("runtime_layers", "engine.runtime.cross_instance", "engine.runtime.environment"),
    ("runtime_layers", "engine.runtime.concurrency_limits", "engine.runtime.cross_instance"),
    ("runtime_layers", "engine.runtime.moves", "engine.runtime.task_effects"),
    ("runtime_layers", "engine.runtime.throttles", "engine.runtime.moves"),
    ("runtime_layers", "engine.runtime.signal_routing", "engine.runtime.throttles"),
    ("runtime_layers", "engine.runtime.claims", "engine.runtime.network_guard"),
    ("runtime_layers", "engine.runtime.projection.rows", "engine.runtime.signal_routing"),
    ("runtime_layers", "engine.runtime.rate_limits", "engine.runtime.definition_cache"),
    ("runtime_layers", "engine.runtime.commit", "engine.runtime.projection"),
    ("runtime_layers", "engine.runtime.taken_calls", "engine.runtime.commit"),
    ("kernel_layers", "engine.kernel.definition", "engine.kernel.simulator.acts"),
    ("kernel_layers", "engine.kernel.language.normalizer", "engine.kernel.definition"),
    ("kernel_layers", "engine.kernel.interpreter.run_to_wait", "engine.kernel.language.source"),
    ("kernel_layers", "engine.kernel.steps.calls", "engine.kernel.interpreter.run_to_wait"),
    ("kernel_layers", "engine.kernel.machine.machine", "engine.kernel.steps.calls"),
    ("kernel_layers", "engine.kernel.program", "engine.kernel.machine.machine"),
    ("kernel_layers", "engine.kernel.forms", "engine.kernel.program"),
    ("kernel_layers", "engine.kernel.json_safety", "engine.kernel.forms"),
    ("kernel_layers", "engine.kernel.expressions.cel", "engine.kernel.json_safety"),
    ("kernel_layers", "engine.kernel.timing.cron", "engine.kernel.expressions.cel"),
    ("kernel_layers", "engine.kernel.json_text", "engine.kernel.timing.cron"),
    ("kernel_layers", "engine.kernel.findings", "engine.kernel.errors"),
    ("kernel_layers", "engine.kernel.effects", "engine.kernel.errors"),
    ("kernel_layers", "engine.kernel.snapshot", "engine.kernel.effects"),
    ("kernel_layers", "engine.kernel.tasks.rules", "engine.kernel.snapshot"),
    ("kernel_layers", "engine.kernel.signals", "engine.kernel.snapshot"),
    ("kernel_layers", "engine.kernel.transitions", "engine.kernel.signals"),
    ("interfaces", "tasks_inbox.messages", "engine.api.views"),
    ("interfaces", "engine.api.errors", "tasks_inbox.messages"),
    ("engine", "engine.services.tasks.lifecycle", "tasks_inbox.messages"),
    ("engine", "engine.services.tasks.lifecycle", "workflowplatform.urls"),
    ("foundation", "workflowplatform.accounts.models", "engine.models"),
    ("foundation", "workflowplatform.database.hot", "engine.db.transactions"),
    ("kernel", "engine.kernel.language.validation.validator", "django"),
    ("kernel", "engine.kernel.language.validation.validator", "engine.models"),
    ("kernel", "engine.kernel.language.validation.validator", "httpx"),
    ("interpreter", "engine.kernel.interpreter.run_to_wait", "ruamel"),
    ("interpreter", "engine.kernel.machine.step_table", "engine.kernel.language.source"),
    ("interpreter", "engine.kernel.snapshot", "croniter"),
    ("queue", "engine.services.tasks.lifecycle", "rq"),
    ("queue", "engine.db.transactions", "django_rq"),
    ("servers", "workflowplatform.servers.postgres", "django"),
    ("servers", "workflowplatform.servers.up", "engine.services.tasks.lifecycle"),
]


@pytest.fixture(scope="module")
def imports() -> grimp.ImportGraph:
    """Provide who imports whom in the tree as it is."""
    return grimp.build_graph(*PACKAGES, include_external_packages=True, cache_dir=None)


def keeps(graph: grimp.ImportGraph, rule: str) -> bool:
    """Return whether these imports keep a rule; the graph stays as it is."""
    options = RULES[rule]
    contract = KINDS[options["type"]](name=options["name"], session_options=SESSION, contract_options=options)
    return bool(contract.check(deepcopy(graph), verbose=False).kept)


def test_tree_as_it_is_keeps_every_rule(imports: grimp.ImportGraph) -> None:
    assert [rule for rule in RULES if not keeps(imports, rule)] == []


@pytest.mark.parametrize(("rule", "importer", "imported"), BREAKS)
def test_broken_rule_is_red(imports: grimp.ImportGraph, rule: str, importer: str, imported: str) -> None:
    assert {importer, imported} <= imports.modules, "what breaks a rule has to exist"
    broken = deepcopy(imports)
    broken.add_import(importer=importer, imported=imported)
    assert not keeps(broken, rule)


def test_every_rule_is_broken_by_a_test() -> None:
    assert {rule for rule, _, _ in BREAKS} == RULES.keys()


def rows(rule: str) -> list[set[str]]:
    """Return the layers of a rule, from top to bottom: each the modules in it."""
    (container,) = LAYERED[rule]["containers"]
    return [{f"{container}.{name}" for name in re.split(r" [|:] ", row)} for row in LAYERED[rule]["layers"]]


@pytest.mark.parametrize("rule", LAYERED)
def test_every_layer_breaks_its_rule_by_importing_the_layer_above_it(rule: str) -> None:
    layers = rows(rule)
    broken = {
        place
        for place in range(1, len(layers))
        for name, importer, imported in BREAKS
        if name == rule and within(importer, layers[place]) and within(imported, layers[place - 1])
    }
    assert [sorted(layers[place]) for place in range(1, len(layers)) if place not in broken] == []


@pytest.mark.parametrize("rule", LAYERED)
def test_every_layer_of_modules_that_do_not_know_each_other_is_broken_from_inside(rule: str) -> None:
    apart = [row for row, words in zip(rows(rule), LAYERED[rule]["layers"], strict=True) if "|" in words]
    assert apart
    broken = [
        row for row in apart for _, importer, imported in BREAKS if within(importer, row) and within(imported, row)
    ]
    assert [sorted(row) for row in apart if row not in broken] == []


@pytest.mark.parametrize("rule", LAYERED)
def test_module_without_a_layer_is_red(imports: grimp.ImportGraph, rule: str) -> None:
    (container,) = LAYERED[rule]["containers"]
    more = deepcopy(imports)
    more.add_module(f"{container}.stray")
    assert not keeps(more, rule)


# The command itself


@pytest.fixture
def copied_tree(tmp_path: Path) -> Path:
    """Provide a copy of the tree to break."""
    for package in PACKAGES:
        shutil.copytree(PROJECT / package, tmp_path / package, ignore=shutil.ignore_patterns("static", "__pycache__"))
    (tmp_path / "tests").mkdir()
    shutil.copy(PROJECT / "tests" / "import_rules.py", tmp_path / "tests")
    shutil.copy(PROJECT / "pyproject.toml", tmp_path)
    return tmp_path


def one_of_each() -> Iterator[tuple[str, str]]:
    """Yield the first break of each rule: the module, the line that it gets."""
    firsts = {rule: (importer, imported) for rule, importer, imported in reversed(BREAKS)}
    yield from ((importer, f"import {imported}\n") for importer, imported in firsts.values())


def file_of(tree: Path, module: str) -> Path:
    whole = tree / module.replace(".", "/")
    return whole / "__init__.py" if whole.is_dir() else whole.with_suffix(".py")


def test_command_names_every_broken_rule(copied_tree: Path) -> None:
    for module, line in one_of_each():
        with file_of(copied_tree, module).open("a") as code:
            code.write(line)
    command = [sys.executable, "-c", LINT_IMPORTS, "--no-cache"]
    done = subprocess.run(command, cwd=copied_tree, capture_output=True, text=True, check=False)
    assert done.returncode != 0, done.stderr
    said = " ".join(done.stdout.split())
    assert [rule for rule in RULES if f"{RULES[rule]['name']} BROKEN" not in said] == []
