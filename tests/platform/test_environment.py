"""How bin/environment makes, keeps and repairs .venv, on a requirements file of one small package."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.platform.sandbox import Sandbox
from workflowplatform.servers.paths import PROJECT

PACKAGE = "sqlparse"
SCRIPT = 'set -eu\nROOT=$1\n. "$ROOT/bin/environment"\nmake_environment runtime\n'


def small_clone(sandbox: Sandbox) -> Path:
    """Make a clone whose only requirement is one small package."""
    clone = sandbox.root / "clone"
    shutil.copytree(PROJECT / "bin", clone / "bin")
    shutil.copy(PROJECT / "requirements-uv.txt", clone)
    pins = (PROJECT / "requirements.txt").read_text()
    found = re.search(rf"^{PACKAGE}==.*?(?=^[a-z0-9])", pins, re.MULTILINE | re.DOTALL)
    assert found
    (clone / "requirements.txt").write_text(found.group())
    (clone / "requirements-dev.txt").write_text(found.group())
    return clone


def make(sandbox: Sandbox, clone: Path) -> subprocess.CompletedProcess[str]:
    done = sandbox.run("sh", "-c", SCRIPT, "bin/up", clone, PATH=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if "could not be fetched" in done.stderr:
        pytest.skip("no package index can be reached from here")
    return done


def package(clone: Path) -> Path:
    return next(clone.glob(f".venv/lib/python3*/site-packages/{PACKAGE}/sql.py"))


def test_environment_is_made_once(sandbox: Sandbox) -> None:
    clone = small_clone(sandbox)
    assert "Making the environment" in make(sandbox, clone).stderr
    assert package(clone).exists()
    assert make(sandbox, clone).stderr == ""


def test_half_installed_environment_is_repaired(sandbox: Sandbox) -> None:
    clone = small_clone(sandbox)
    make(sandbox, clone)
    package(clone).unlink()
    (clone / ".venv" / ".installed").unlink()
    done = make(sandbox, clone)
    assert done.returncode == 0, done.stderr
    assert package(clone).exists()


def test_environment_whose_python_is_gone_is_made_anew(sandbox: Sandbox) -> None:
    clone = small_clone(sandbox)
    make(sandbox, clone)
    python = clone / ".venv" / "bin" / "python"
    python.unlink()
    python.symlink_to("/nonexistent/python")
    done = make(sandbox, clone)
    assert done.returncode == 0, done.stderr
    assert sandbox.run(python, "-c", f"import {PACKAGE}").returncode == 0


def test_changed_requirements_are_installed(sandbox: Sandbox) -> None:
    clone = small_clone(sandbox)
    make(sandbox, clone)
    with (clone / "requirements.txt").open("a") as file:
        file.write("# changed\n")
    assert "Making the environment" in make(sandbox, clone).stderr


def test_lock_of_a_dead_installer_is_taken_over(sandbox: Sandbox) -> None:
    clone = small_clone(sandbox)
    (clone / ".venv.lock").mkdir()
    dead = subprocess.Popen(["true"])
    dead.wait()
    (clone / ".venv.lock" / "pid").write_text(f"{dead.pid}\n")
    assert make(sandbox, clone).returncode == 0
    assert not (clone / ".venv.lock").exists()
