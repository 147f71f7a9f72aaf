"""The embedded servers: private, findable, gone with their owner."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Generator
from functools import partial
from pathlib import Path

import psycopg
import pytest

from tests.platform.sandbox import Running, Sandbox, a_sandbox, eventually, running
from workflowplatform.servers import paths, processes
from workflowplatform.servers.running import OWNER_ADDRESS, find_running

DEVSERVER = (sys.executable, "-m", "workflowplatform.servers.devserver", "--data")


def start(sandbox: Sandbox) -> Running:
    return Running(sandbox, *DEVSERVER, sandbox.data, PYTHONPATH=str(paths.PROJECT))


def address(server: Running) -> str:
    return server.await_line(f"{OWNER_ADDRESS}=").removeprefix(f"{OWNER_ADDRESS}=")


def write_one_row(url: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute("create table if not exists kept (word text)")
        connection.execute("insert into kept values ('kept')")


def read_rows(url: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url) as connection:
        return connection.execute("select word from kept").fetchall()


def test_kill_9_leaves_no_server_and_loses_no_row(sandbox: Sandbox) -> None:
    first = start(sandbox)
    write_one_row(address(first))
    first.stop(signal.SIGKILL)
    assert eventually(lambda: sandbox.leftovers() == []), sandbox.leftovers()
    with running(sandbox, *DEVSERVER, sandbox.data, PYTHONPATH=str(paths.PROJECT)) as second:
        assert read_rows(address(second)) == [("kept",)]


def test_start_after_kill_9_waits_for_a_server_that_is_still_dying(sandbox: Sandbox) -> None:
    first = start(sandbox)
    write_one_row(address(first))
    dying = int((sandbox.data / "postgres" / "postmaster.pid").read_text().split()[0])
    os.kill(dying, signal.SIGSTOP)
    first.process.kill()
    first.process.wait()
    with running(sandbox, *DEVSERVER, sandbox.data, PYTHONPATH=str(paths.PROJECT)) as second:
        time.sleep(1)  # sleep: while the second waits for the first, nothing of it can be seen
        os.kill(dying, signal.SIGCONT)
        assert read_rows(address(second)) == [("kept",)]
    first.stop()


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_stop_signal_ends_everything_and_removes_the_sockets(sandbox: Sandbox, number: signal.Signals) -> None:
    server = start(sandbox)
    address(server)
    assert server.stop(number) == 0
    assert sandbox.leftovers() == []
    assert find_running(sandbox.data) == {}
    assert list((sandbox.root / "t").iterdir()) == []


@pytest.fixture(scope="module")
def serving() -> Generator[tuple[Sandbox, str], None, None]:
    """Give servers that run, and the owner's address, to those who only look."""
    with a_sandbox() as sandbox:
        with running(sandbox, *DEVSERVER, sandbox.data, PYTHONPATH=str(paths.PROJECT)) as server:
            yield sandbox, address(server)
        assert find_running(sandbox.data) == {}
        assert sandbox.leftovers() == []


def test_second_owner_of_a_folder_is_refused_in_one_sentence(serving: tuple[Sandbox, str]) -> None:
    sandbox, _ = serving
    refused = sandbox.run(*DEVSERVER, sandbox.data, PYTHONPATH=str(paths.PROJECT))
    assert refused.returncode == 1
    assert refused.stderr.startswith("The product already runs on")


def test_running_servers_are_found(serving: tuple[Sandbox, str]) -> None:
    sandbox, url = serving
    assert find_running(sandbox.data)[OWNER_ADDRESS] == url
    assert find_running(sandbox.data).keys() == {"DATABASE_URL", "REDIS_URL", OWNER_ADDRESS}


def test_nothing_is_found_where_nothing_ever_ran(tmp_path: Path) -> None:
    assert find_running(tmp_path / "absent") == {}


def test_sockets_and_cluster_are_closed_to_others(serving: tuple[Sandbox, str]) -> None:
    sandbox, _ = serving
    (sockets,) = (sandbox.root / "t").iterdir()
    for folder in (sockets, sandbox.data / "postgres"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_product_keeps_fsync_on(serving: tuple[Sandbox, str]) -> None:
    with psycopg.connect(serving[1]) as connection:
        assert connection.execute("show fsync").fetchone() == ("on",)


def test_socket_folder_is_short_even_when_the_temporary_one_is_deep(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    deep = sandbox.root / ("d" * 100)
    deep.mkdir(mode=0o755)
    monkeypatch.setattr("tempfile.tempdir", str(deep))
    folder = paths.make_socket_folder()
    request.addfinalizer(partial(paths.remove_socket_folder, folder))
    assert len(str(folder / ".s.PGSQL.5432.lock")) <= paths.LONGEST_SOCKET_PATH


def test_a_strangers_process_number_in_the_lock_file_does_not_stop_the_start(sandbox: Sandbox) -> None:
    first = start(sandbox)
    address(first)
    first.stop()
    stranger = subprocess.Popen(["sleep", "600"], **processes.drop_rights())  # type: ignore[call-overload]
    try:
        (sandbox.data / "postgres" / "postmaster.pid").write_text(f"{stranger.pid}\n{sandbox.data}/postgres\n")
        with running(sandbox, *DEVSERVER, sandbox.data, PYTHONPATH=str(paths.PROJECT)) as second:
            assert address(second)
    finally:
        stranger.kill()
        stranger.wait()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has servers that cannot enter its folders")
def test_folder_closed_to_the_servers_keeps_a_link_to_their_home_and_finds_it_after_a_move(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "ELSEWHERE", sandbox.root / "elsewhere")
    closed = sandbox.root / "closed"
    closed.mkdir(mode=0o700)
    home = paths.DataFolder(closed).server_home()
    assert home.is_relative_to(sandbox.root / "elsewhere")
    moved = closed.rename(sandbox.root / "moved")
    assert paths.DataFolder(moved).server_home() == home
