"""How much of each package the tests run, and what happens when it is too little."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import coverage_floors, run
from tests.coverage_floors import Measured, too_low
from workflowplatform.servers.paths import PROJECT

ONE_MODULE = "engine/kernel/timing/periods.py"
STARTS_ANOTHER = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import engine.kernel.timing.periods'])"


def test_every_package_has_a_floor_and_every_floor_a_package() -> None:
    packages = [f"engine/{file.parent.name}" for file in (PROJECT / "engine").glob("*/__init__.py")]
    wanted = {"engine", "tasks_inbox", "workflowplatform", *packages} - {"engine/migrations"}
    assert coverage_floors.read_floors().keys() == wanted


@pytest.fixture
def measured(tmp_path: Path) -> Path:
    """Return the folder of a run in which a child process imported one module of the kernel."""
    traced = os.environ | coverage_floors.environment(tmp_path, ["engine/kernel/timing"])
    subprocess.run([sys.executable, "-c", STARTS_ANOTHER], cwd=PROJECT, env=traced, check=True)
    return tmp_path


def test_lines_of_child_processes_count_and_files_nobody_imports_count_as_not_run(measured: Path) -> None:
    found = dict(coverage_floors._files(measured))
    assert found[ONE_MODULE].covered > 0
    assert found["engine/kernel/timing/cron.py"].covered == 0


def test_a_package_below_its_floor_is_named_and_fails_the_run(
    measured: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    floors = {"engine/kernel": 0.0}
    monkeypatch.setattr(run.Run, "coverage", measured)
    lent = run.Run({}, measured, everything=True, extra=(), folders=())
    monkeypatch.setattr(coverage_floors, "read_floors", lambda: floors)
    assert run._show_coverage(lent) == 0
    monkeypatch.setattr(coverage_floors, "read_floors", lambda: floors | {"engine/kernel": 99.0})
    capsys.readouterr()
    assert run._show_coverage(lent) == 1
    assert [row.split()[0] for row in capsys.readouterr().out.splitlines() if "too low" in row] == ["engine/kernel"]


def test_a_run_that_measured_nothing_is_below_every_floor(tmp_path: Path) -> None:
    coverage_floors.environment(tmp_path)
    floors = {"engine/kernel": 90.0, "tasks_inbox": 90.0}
    assert too_low(coverage_floors.measure(tmp_path, floors), floors) == ["engine/kernel", "tasks_inbox"]


@pytest.mark.parametrize(("covered", "low"), [(90, []), (89, ["engine/kernel"])])
def test_the_floor_itself_is_enough(covered: int, low: list[str]) -> None:
    assert too_low({"engine/kernel": Measured(100, covered)}, {"engine/kernel": 90.0}) == low


def test_only_all_measures(tmp_path: Path) -> None:
    def names(*, everything: bool) -> list[str]:
        lent = run.Run({}, tmp_path, everything=everything, extra=(), folders=())
        return [check.name for check in run._plan(lent, None) if check.name.endswith(", measured")]

    assert names(everything=False) == []
    assert names(everything=True) == [f"{family.name}, measured" for family in run.FAMILIES if family.is_measured]
