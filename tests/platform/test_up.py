"""The whole product by `bin/up`: ready, findable, supervised, gone when told, back with the same data."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from tests.platform.sandbox import Running, Sandbox, a_sandbox, eventually, running
from workflowplatform.servers import up
from workflowplatform.servers.paths import PROJECT

UP = PROJECT / "bin" / "up"
FIRST_PORT = "18000"


def start_up(sandbox: Sandbox, *words: str) -> Running:
    return Running(sandbox, UP, "--data", sandbox.data, "--port", FIRST_PORT, "--workers", "1", *words)


def ready(started: Running) -> str:
    """Wait for the ready line and answer the address in it."""
    line = started.await_line("ready ", seconds=180)
    assert re.fullmatch(r"ready http://127\.0\.0\.1:\d+", line)
    return line.removeprefix("ready ")


def answers(address: str) -> bool:
    port = urlsplit(address).port
    assert port
    return up._healthy(port)


def processes_of(sandbox: Sandbox, words: str) -> list[int]:
    """Find this product's processes by words of their command line."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if words in command and str(sandbox.root) in (folder / "environ").read_bytes().decode(errors="replace"):
                found.append(int(folder.name))
        except OSError:
            continue
    return found


@dataclass
class Home:
    """A place in which the product runs, and its address."""

    sandbox: Sandbox
    started: Running
    address: str


@pytest.fixture(scope="module")
def product() -> Generator[Home, None, None]:
    """Provide one running product with its demo; a test that kills it starts it again."""
    with a_sandbox() as sandbox:
        started = start_up(sandbox)
        home = Home(sandbox, started, ready(started))
        yield home
        assert home.started.stop() == 0
        assert sandbox.leftovers() == []


def test_ready_product_answers_and_names_its_people(product: Home) -> None:
    assert answers(product.address)
    product.started.await_line("Logs:")
    table = "\n".join(product.started.lines)
    for name in ("gwen", "ada", "adam", "uri", "sam", "stan", "zoe"):
        assert f"demo-{name}" in table


def test_mails_of_the_running_one_link_to_it(product: Home) -> None:
    for words in ("workflowplatform.servers.web", "manage.py worker"):
        number = processes_of(product.sandbox, words)[0]
        told = Path(f"/proc/{number}/environ").read_bytes().split(b"\0")
        assert f"WORKFLOW_PUBLIC_URL={product.address}".encode() in told


def test_printed_environment_reaches_the_running_one(product: Home) -> None:
    done = product.sandbox.run(UP, "--data", product.sandbox.data, "--print-env")
    lines = dict(line.split("=", 1) for line in done.stdout.splitlines())
    assert list(lines) == ["DATABASE_URL", "REDIS_URL", "WORKFLOW_OWNER_DATABASE_URL"]
    with psycopg.connect(lines["DATABASE_URL"]) as connection:
        assert connection.execute("select count(*) from django_migrations").fetchone() != (0,)


def test_second_terminal_finds_the_running_one(product: Home) -> None:
    sandbox = product.sandbox
    code = "from django.db import connection; connection.ensure_connection(); print('found', connection.vendor)"
    done = sandbox.manage("shell", "--no-imports", "-c", code, WORKFLOW_DATA=str(sandbox.data))
    assert "found postgresql" in done.stdout, done.stderr


def test_second_start_on_one_folder_is_refused_with_the_address(product: Home) -> None:
    done = product.sandbox.run(UP, "--data", product.sandbox.data)
    assert done.returncode == 1
    assert product.address in done.stderr
    assert answers(product.address)


@pytest.mark.slow
def test_another_one_runs_side_by_side_on_the_next_port(product: Home) -> None:
    first = product.address
    with a_sandbox() as other:
        with running(other, UP, "--data", other.data, "--port", str(urlsplit(first).port), "--no-demo") as started:
            second = ready(started)
            assert second != first
            assert answers(first)
            assert answers(second)
        assert other.leftovers() == []
    assert answers(first)


def test_only_this_machine_can_connect(product: Home) -> None:
    port = urlsplit(product.address).port
    listening = [line.split()[1] for line in Path("/proc/net/tcp").read_text().splitlines() if " 0A " in line]
    assert [place for place in listening if place.endswith(f":{port:04X}")] == [f"0100007F:{port:04X}"]


@pytest.mark.parametrize("words", ["workflowplatform.servers.web", "manage.py worker"])
def test_killed_process_comes_back(product: Home, words: str) -> None:
    sandbox, address = product.sandbox, product.address
    before = processes_of(sandbox, words)
    assert before
    for pid in before:
        os.kill(pid, signal.SIGKILL)
    assert eventually(lambda: bool(set(processes_of(sandbox, words)) - set(before)))
    assert eventually(lambda: answers(address))


def test_kill_9_leaves_nothing_and_the_next_start_finds_the_data(product: Home) -> None:
    sandbox = product.sandbox
    made = sandbox.manage("tenant", "create", "kept", WORKFLOW_DATA=str(sandbox.data))
    assert made.returncode == 0, made.stderr
    product.started.stop(signal.SIGKILL)
    assert eventually(lambda: sandbox.leftovers() == []), sandbox.leftovers()
    product.started = start_up(sandbox, "--no-demo")
    product.address = ready(product.started)
    assert answers(product.address)
    assert "kept" in _tenants(sandbox)


def _tenants(sandbox: Sandbox) -> list[str]:
    code = "from workflowplatform.accounts.models import Tenant; print(*Tenant.objects.values_list('name', flat=True))"
    return sandbox.manage("shell", "--no-imports", "-c", code, WORKFLOW_DATA=str(sandbox.data)).stdout.split()


def test_stop_while_starting_leaves_nothing(sandbox: Sandbox) -> None:
    started = start_up(sandbox, "--no-demo")
    assert eventually(lambda: (sandbox.data / "running.json").exists())
    assert started.stop(signal.SIGINT) == 0
    assert sandbox.leftovers() == []
    assert not (sandbox.data / "running.json").exists()
