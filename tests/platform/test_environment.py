"""How bin/environment makes, keeps and repairs .venv, on a requirements file of one small package."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.platform.running_house import House
from workflowplatform.servers.paths import PROJECT

PACKAGE = "sqlparse"
SCRIPT = 'set -eu\nROOT=$1\n. "$ROOT/bin/environment"\nmake_environment runtime\n'


def small_clone(house: House) -> Path:
    """Make a clone whose only requirement is one small package."""
    clone = house.root / "clone"
    shutil.copytree(PROJECT / "bin", clone / "bin")
    shutil.copy(PROJECT / "requirements-uv.txt", clone)
    pins = (PROJECT / "requirements.txt").read_text()
    found = re.search(rf"^{PACKAGE}==.*?(?=^[a-z0-9])", pins, re.MULTILINE | re.DOTALL)
    assert found
    (clone / "requirements.txt").write_text(found.group())
    (clone / "requirements-dev.txt").write_text(found.group())
    return clone


def make(house: House, clone: Path) -> subprocess.CompletedProcess[str]:
    done = house.run("sh", "-c", SCRIPT, "bin/up", clone, PATH=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if "could not be fetched" in done.stderr:
        pytest.skip("no package index can be reached from here")
    return done


def package(clone: Path) -> Path:
    return next(clone.glob(f".venv/lib/python3*/site-packages/{PACKAGE}/sql.py"))


def test_environment_is_made_once(house: House) -> None:
    clone = small_clone(house)
    assert "Making the environment" in make(house, clone).stderr
    assert package(clone).exists()
    assert make(house, clone).stderr == ""


def test_half_installed_environment_is_repaired(house: House) -> None:
    clone = small_clone(house)
    make(house, clone)
    package(clone).unlink()
    (clone / ".venv" / ".installed").unlink()
    done = make(house, clone)
    assert done.returncode == 0, done.stderr
    assert package(clone).exists()


def test_environment_whose_python_is_gone_is_made_anew(house: House) -> None:
    clone = small_clone(house)
    make(house, clone)
    python = clone / ".venv" / "bin" / "python"
    python.unlink()
    python.symlink_to("/nonexistent/python")
    done = make(house, clone)
    assert done.returncode == 0, done.stderr
    assert house.run(python, "-c", f"import {PACKAGE}").returncode == 0


def test_changed_requirements_are_installed(house: House) -> None:
    clone = small_clone(house)
    make(house, clone)
    with (clone / "requirements.txt").open("a") as file:
        file.write("# changed\n")
    assert "Making the environment" in make(house, clone).stderr


def test_lock_of_a_dead_installer_is_taken_over(house: House) -> None:
    clone = small_clone(house)
    (clone / ".venv.lock").mkdir()
    dead = subprocess.Popen(["true"])
    dead.wait()
    (clone / ".venv.lock" / "pid").write_text(f"{dead.pid}\n")
    assert make(house, clone).returncode == 0
    assert not (clone / ".venv.lock").exists()
