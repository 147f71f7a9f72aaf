"""Children of a group: stopped in order, insisted on, brought back."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.platform.sandbox import Running, Sandbox, eventually
from workflowplatform.servers import supervisor
from workflowplatform.servers.paths import PROJECT
from workflowplatform.servers.processes import Child, ProcessGroup

SLEEPER = [sys.executable, "-c", "import time; time.sleep(600)"]
DEAF = [
    sys.executable,
    "-c",
    "import signal, time; signal.signal(15, signal.SIG_IGN); print('deaf', flush=True); time.sleep(600)",
]


@pytest.fixture
def group() -> Generator[ProcessGroup, None, None]:
    """Provide a group that is empty again afterwards."""
    owned = ProcessGroup()
    yield owned
    owned.stop_all()


def test_child_that_ignores_the_farewell_is_killed(group: ProcessGroup, tmp_path: Path) -> None:
    log = tmp_path / "log"
    child = group.start("deaf", DEAF, log=log)
    assert eventually(lambda: b"deaf" in log.read_bytes())
    group.stop(child, patience=0.2)
    assert child.process.returncode == -signal.SIGKILL


def test_childs_own_children_end_with_it(group: ProcessGroup, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    code = (
        "import subprocess, time; started = subprocess.Popen(['sleep', '600']); "
        f"open({str(note)!r}, 'w').write(str(started.pid)); time.sleep(600)"
    )
    child = group.start("parent", [sys.executable, "-c", code])
    assert eventually(lambda: note.exists() and note.read_text() != "")
    group.stop(child)
    assert eventually(lambda: not _runs(int(note.read_text())))


def test_owner_killed_with_9_takes_even_a_deaf_child_along(sandbox: Sandbox) -> None:
    code = (
        "from workflowplatform.servers.processes import ProcessGroup; import time; "
        f"ProcessGroup().start('deaf', {DEAF!r}); print('started', flush=True); time.sleep(600)"
    )
    owner = Running(sandbox, sys.executable, "-c", code, PYTHONPATH=str(PROJECT))
    owner.await_line("deaf")
    owner.stop(signal.SIGKILL)
    assert eventually(lambda: sandbox.leftovers() == []), sandbox.leftovers()


def test_child_can_be_stopped_though_its_owner_blocked_the_signal(group: ProcessGroup) -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    try:
        child = group.start("sleeper", SLEEPER)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    group.stop(child, patience=5)
    assert child.process.returncode == -signal.SIGTERM


def test_dead_service_comes_back_after_its_delay(group: ProcessGroup) -> None:
    def start() -> Child:
        return group.start("sleeper", SLEEPER)

    service = supervisor.Service(name="sleeper", start=start, child=start())
    first = service.child.process
    first.kill()
    first.wait()
    now = time.monotonic()
    supervisor.look_after(group, service, now=now)
    assert not service.child.alive()
    supervisor.look_after(group, service, now=now + supervisor.FIRST_DELAY)
    assert service.child.alive()
    assert service.child.process.pid != first.pid


def test_delay_doubles_up_to_its_end() -> None:
    assert [supervisor.back_off(deaths) for deaths in (1, 2, 3, 20)] == [0.5, 1.0, 2.0, 30.0]


def test_healthy_time_forgives_earlier_deaths(group: ProcessGroup) -> None:
    service = supervisor.Service(
        name="sleeper", start=lambda: service.child, child=group.start("sleeper", SLEEPER), deaths=6
    )
    service.child.process.kill()
    service.child.process.wait()
    supervisor.look_after(group, service, now=service.started_at + supervisor.HEALTHY_SECONDS + 1)
    assert service.deaths == 1


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
