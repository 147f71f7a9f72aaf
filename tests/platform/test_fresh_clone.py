"""From a fresh clone with empty caches to a running product: as oneself, as another account, and as root in a closed folder."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import time
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.platform.sandbox import Running, Sandbox, a_sandbox, eventually
from workflowplatform.servers.paths import PROJECT

pytestmark = pytest.mark.slow

FIRST_SECONDS = 90.0
SECOND_SECONDS = 8.0
ORDINARY = "nobody"
ORDINARY_PATH = "/usr/local/bin:/usr/bin:/bin"


def clone_into(sandbox: Sandbox) -> Path:
    """Clone what is committed, with caches that hold nothing."""
    clone = sandbox.root / "clone"
    subprocess.run(["git", "clone", "--quiet", "--no-local", str(PROJECT), str(clone)], check=True)
    return clone


@pytest.fixture
def bare_house() -> Generator[Sandbox, None, None]:
    """Return a place whose HOME and package caches are empty."""
    with a_sandbox() as sandbox:
        caches = {name: str(sandbox.root / "home" / name) for name in ("UV_CACHE_DIR", "PIP_CACHE_DIR")}
        yield replace(sandbox, environment=sandbox.environment | caches)
        assert sandbox.leftovers() == []


def seconds_to_ready(sandbox: Sandbox, *command: str | Path) -> tuple[float, Running]:
    began = time.monotonic()
    started = Running(sandbox, *command, "--port", "18200")
    started.await_line("ready ", seconds=180)
    return time.monotonic() - began, started


def show_twice_and_kill(sandbox: Sandbox, command: list[str | Path]) -> None:
    """Start, stop, start again, kill: both in time, nothing left."""
    first, started = seconds_to_ready(sandbox, *command)
    assert started.stop() == 0
    # The best of three: neighbours may take the processor away for a while.
    again = []
    for _ in range(3):
        seconds, started = seconds_to_ready(sandbox, *command)
        started.stop(signal.SIGKILL)
        assert eventually(lambda: sandbox.leftovers() == [], seconds=12), sandbox.leftovers()
        again.append(seconds)
    assert (first <= FIRST_SECONDS, min(again) <= SECOND_SECONDS) == (True, True), (first, again)


def test_fresh_clone_is_ready_in_time_as_oneself(bare_house: Sandbox) -> None:
    show_twice_and_kill(bare_house, [clone_into(bare_house) / "bin" / "up"])


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv"), reason="only root can become somebody else")
def test_fresh_clone_is_ready_in_time_as_an_ordinary_person(bare_house: Sandbox) -> None:
    clone = clone_into(bare_house)
    person = pwd.getpwnam(ORDINARY)
    shutil.rmtree(bare_house.root / "home", ignore_errors=True)
    (bare_house.root / "home").mkdir()
    for place in [bare_house.root, *bare_house.root.rglob("*")]:
        os.chown(place, person.pw_uid, person.pw_gid, follow_symlinks=False)
    dropped = ["setpriv", f"--reuid={person.pw_uid}", f"--regid={person.pw_gid}", "--clear-groups"]
    ordinary = replace(bare_house, environment=bare_house.environment | {"PATH": ORDINARY_PATH})
    show_twice_and_kill(ordinary, [*dropped, clone / "bin" / "up"])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has servers that cannot enter its folders")
def test_root_behind_a_closed_door_keeps_its_data_where_the_servers_can_enter(bare_house: Sandbox) -> None:
    closed = bare_house.root / "closed"
    closed.mkdir(mode=0o700)
    clone = clone_into(replace(bare_house, root=closed))
    link = clone / "var" / "servers"
    try:
        show_twice_and_kill(bare_house, [clone / "bin" / "up"])
        assert not link.resolve().is_relative_to(closed)
        assert (link / "postgres" / "PG_VERSION").exists()
    finally:
        shutil.rmtree(link.resolve(), ignore_errors=True)
