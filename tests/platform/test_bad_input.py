"""What goes wrong on a newcomer's machine: one sentence, an exit code, nothing lost, nothing left running."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.platform.sandbox import Running, Sandbox
from workflowplatform.servers.paths import PROJECT

TOOLS = ("sh", "dirname", "cat", "cksum", "mkdir", "rm", "sleep", "printf", "tail", "grep", "sed")
NOWHERE = "http://127.0.0.1:9/simple"
OFFLINE = {
    "PIP_CONFIG_FILE": os.devnull,
    "PIP_INDEX_URL": NOWHERE,
    "UV_DEFAULT_INDEX": NOWHERE,
    "UV_HTTP_RETRIES": "0",
    "UV_NO_CONFIG": "1",
}


def refuses(done: subprocess.CompletedProcess[str], *, naming: str) -> None:
    """Assert one clear sentence of what and what to do, and an exit code."""
    assert done.returncode not in (0, None), done.stdout
    assert "Traceback" not in done.stderr
    (sentence,) = [line for line in done.stderr.splitlines() if not line.startswith("Making the environment")]
    assert naming in sentence
    assert sentence.endswith((".", "bin/up", "uv."))
    assert ": " in sentence


def clone_of_the_commands(sandbox: Sandbox) -> Path:
    """Copy what bin/up needs before it has an environment."""
    clone = sandbox.root / "clone"
    shutil.copytree(PROJECT / "bin", clone / "bin")
    for file in PROJECT.glob("requirements*.txt"):
        shutil.copy(file, clone)
    return clone


def path_with(sandbox: Sandbox, *, python: str) -> str:
    """Make a PATH with a few tools and one python3 that is this script."""
    folder = sandbox.root / "path"
    folder.mkdir()
    for tool in TOOLS:
        if found := shutil.which(tool):
            (folder / tool).symlink_to(found)
    (folder / "python3").write_text(python)
    (folder / "python3").chmod(0o755)
    return str(folder)


def test_wrong_python_is_named(sandbox: Sandbox) -> None:
    clone = clone_of_the_commands(sandbox)
    old = f"""#!/bin/sh\nexec "{sys.executable}" -c 'import sys; sys.version_info = (3, 9); exec(sys.argv[1])' "$2"\n"""
    done = sandbox.run(clone / "bin" / "up", PATH=path_with(sandbox, python=old))
    refuses(done, naming="Python 3.11 or newer is needed")
    assert not (clone / ".venv").exists()
    assert not (clone / ".venv.lock").exists()


@pytest.mark.slow
def test_no_network_is_named_and_leaves_the_environment_to_be_repaired(sandbox: Sandbox) -> None:
    clone = clone_of_the_commands(sandbox)
    real = f'#!/bin/sh\nexec "{sys.executable}" "$@"\n'
    done = sandbox.run(clone / "bin" / "up", PATH=path_with(sandbox, python=real), **OFFLINE)
    refuses(done, naming="The packages could not be fetched")
    assert not (clone / ".venv" / ".installed").exists()
    assert not (clone / ".venv.lock").exists()


@pytest.mark.skipif(os.geteuid() == 0 and not shutil.which("setpriv"), reason="needs setpriv to be somebody else")
def test_read_only_clone_is_named(sandbox: Sandbox) -> None:
    clone = clone_of_the_commands(sandbox)
    clone.chmod(0o555)
    done = sandbox.run(*as_ordinary_person(), clone / "bin" / "up")
    refuses(done, naming="cannot be written")
    clone.chmod(0o755)


def as_ordinary_person() -> list[str]:
    """Name the command that drops root's rights, if there are any."""
    if os.geteuid() != 0:
        return []
    nobody = pwd.getpwnam("nobody")
    return ["setpriv", f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}", "--clear-groups"]


def test_data_folder_that_cannot_be_made_is_named(sandbox: Sandbox) -> None:
    (sandbox.root / "file").write_text("")
    refuses(sandbox.manage("up", "--data", "file/below"), naming="cannot be written")


def test_full_range_of_ports_is_named(sandbox: Sandbox) -> None:
    with contextlib.ExitStack() as stack:
        for port in range(65530, 65536):
            with contextlib.suppress(OSError):
                stack.enter_context(socket.create_server(("127.0.0.1", port)))
        done = sandbox.manage("up", "--data", str(sandbox.data), "--port", "65530")
    refuses(done, naming="Every port from 65530 to 65535 is taken")
    assert sandbox.leftovers() == []


@pytest.mark.parametrize("url", ["postgresql://ada:secret@127.0.0.1:1/none", "mysql://ada:secret@127.0.0.1/none"])
def test_database_url_that_does_not_answer_is_named_without_its_password(sandbox: Sandbox, url: str) -> None:
    done = sandbox.manage("up", "--data", str(sandbox.data), DATABASE_URL=url)
    refuses(done, naming="DATABASE_URL")
    assert "secret" not in done.stderr + done.stdout


def test_redis_url_that_does_not_answer_is_named_without_its_password(sandbox: Sandbox) -> None:
    done = sandbox.manage("up", "--data", str(sandbox.data), REDIS_URL="redis://:secret@127.0.0.1:1/0")
    refuses(done, naming="REDIS_URL")
    assert "secret" not in done.stderr + done.stdout


@pytest.mark.parametrize(
    "file", ["global/pg_control", *(pytest.param(name, marks=pytest.mark.slow) for name in ("PG_VERSION", "pg_wal"))]
)
def test_corrupt_data_folder_is_named_and_left_alone(sandbox: Sandbox, file: str) -> None:
    make_cluster(sandbox)
    broken = sandbox.data / "postgres" / file
    break_it(broken)
    before = fingerprint(sandbox.data / "postgres" / "base")
    refuses(
        sandbox.manage("up", "--data", str(sandbox.data)),
        naming=f"The data folder {sandbox.data}/postgres cannot be used",
    )
    assert fingerprint(sandbox.data / "postgres" / "base") == before
    assert sandbox.leftovers() == []


def make_cluster(sandbox: Sandbox) -> None:
    module = "workflowplatform.servers.devserver"
    server = Running(sandbox, sys.executable, "-m", module, "--data", sandbox.data, PYTHONPATH=str(PROJECT))
    server.await_line("DATABASE_URL=")
    server.stop()


def break_it(place: Path) -> None:
    """Lose a folder, or fill a file with what it cannot hold."""
    if place.is_dir():
        shutil.rmtree(place)
    elif place.name == "PG_VERSION":
        place.unlink()
    else:
        place.write_bytes(b"?" * place.stat().st_size)


def fingerprint(folder: Path) -> dict[str, int]:
    return {str(file.relative_to(folder)): file.stat().st_size for file in folder.rglob("*") if file.is_file()}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_cluster_of_another_account_is_named_and_left_alone(sandbox: Sandbox) -> None:
    make_cluster(sandbox)
    os.chown(sandbox.data / "postgres", 12345, 12345)
    refuses(sandbox.manage("up", "--data", str(sandbox.data)), naming="belongs to account 12345")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has servers that cannot enter its folders")
def test_cluster_that_the_servers_can_no_longer_reach_is_named(sandbox: Sandbox) -> None:
    make_cluster(sandbox)
    sandbox.data.chmod(0o700)
    refuses(sandbox.manage("up", "--data", str(sandbox.data)), naming="cannot enter")
    assert not (sandbox.data / "servers").exists()


def test_cluster_of_another_major_is_named(sandbox: Sandbox) -> None:
    make_cluster(sandbox)
    (sandbox.data / "postgres" / "PG_VERSION").write_text("9\n")
    refuses(sandbox.manage("up", "--data", str(sandbox.data)), naming="was made by PostgreSQL 9")


@pytest.mark.parametrize("words", [["--port", "0"], ["--port", "x"], ["--workers", "0"], ["--unknown"]])
def test_wrong_option_is_refused_before_anything_starts(sandbox: Sandbox, words: list[str]) -> None:
    done = sandbox.manage("up", "--data", str(sandbox.data), *words)
    assert done.returncode == 2
    assert not sandbox.data.exists()


def test_print_env_without_a_running_product_says_so(sandbox: Sandbox) -> None:
    done = sandbox.manage("up", "--data", str(sandbox.data), "--print-env")
    refuses(done, naming="Nothing runs on")
    assert done.stdout == ""
