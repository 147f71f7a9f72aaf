"""Bring the whole product up and keep it up: ``manage.py up``.

The order is servers, migrations, then web, workers and demo data side by side. This process imports no Django: it
must work before there is a database, and it must stay small, because it only waits. Whatever ends it, its children
end too (processes.py).
"""

from __future__ import annotations

import argparse
import http.client
import os
import shutil
import signal
import socket
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import NoReturn

from workflowplatform.servers import external, paths, ports, running
from workflowplatform.servers.demo_people import people_table
from workflowplatform.servers.embedded import Embedded
from workflowplatform.servers.errors import CannotStart
from workflowplatform.servers.processes import STOPS, Child, ProcessGroup
from workflowplatform.servers.supervisor import Service, supervise

READY_SECONDS = 90.0
HEALTH = "/api/v1/health/"


class Stopped(BaseException):
    """Unwind from wherever a stop signal arrives."""


def main(arguments: Sequence[str]) -> int:
    """Run the command; refusals become one sentence and exit code 1."""
    options = _parser().parse_args(arguments)
    data = paths.data_folder(options.data)
    try:
        return _print_addresses(data) if options.print_env else _own_and_run(data, options)
    except CannotStart as refusal:
        _say(str(refusal))
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="up", description="Bring the whole product up and keep it up.")
    parser.add_argument(
        "--port", type=_port, default=8000, metavar="N", help="the next free one is taken if it is not free (8000)"
    )
    parser.add_argument("--data", metavar="DIR", help="where everything is kept (var/)")
    parser.add_argument("--workers", type=_count, default=2, metavar="N", help="drain workers (2)")
    parser.add_argument("--no-demo", action="store_true", help="make no demo tenants, people and templates")
    parser.add_argument("--print-env", action="store_true", help="print the addresses of the running product and end")
    return parser


def _port(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= ports.LAST_PORT:
        raise argparse.ArgumentTypeError(f"{text} is not a port: write a number from 1 to {ports.LAST_PORT}")
    return int(text)


def _count(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a number of workers: write 1 or more")
    return int(text)


def _print_addresses(data: paths.DataFolder) -> int:
    found = running.find_running(data.root)
    if not found:
        raise CannotStart(f"Nothing runs on {data.root}: start bin/up first, or name its folder with --data DIR.")
    sys.stdout.write("".join(f"{name}={found[name]}\n" for name in running.ADDRESSES if name in found))
    return 0


def _own_and_run(data: paths.DataFolder, options: argparse.Namespace) -> int:
    """Run as the folder's one owner, and stop everything in order however this ends."""
    data.prepare()
    ended_badly = data.record.exists()
    for number in STOPS:
        signal.signal(number, _stop)
    with running.own_folder(data):
        group = ProcessGroup()
        try:
            external.refuse_silent_servers(os.environ)
            _run(group, data, options, patience=3.0 if ended_badly else 0.0)
        except Stopped:
            return 0
        finally:
            _ignore_signals()
            group.stop_all()
            running.forget_record(data)


def _stop(_number: int, _frame: FrameType | None) -> NoReturn:
    _ignore_signals()
    raise Stopped


def _ignore_signals() -> None:
    """Ignore signals, so that nothing interrupts the stopping."""
    for number in STOPS:
        signal.signal(number, signal.SIG_IGN)


def _run(group: ProcessGroup, data: paths.DataFolder, options: argparse.Namespace, *, patience: float) -> NoReturn:
    with ports.listen(options.port, patience=patience) as listener:
        embedded = Embedded(group, data)
        services = embedded.start_missing(os.environ)
        running.write_record(data, **embedded.addresses)
        address = f"http://{ports.HOST}:{listener.getsockname()[1]}"
        given = {"WORKFLOW_PUBLIC_URL": address} | os.environ
        product = Product(group, data, given | embedded.addresses | _own_settings(data))
        shutil.rmtree(data.root / "metrics", ignore_errors=True)
        static = product.manage("collectstatic", "--clear", "--no-input", "--verbosity", "0")
        product.finish("migrations", product.manage("migrate", "--no-input", "--verbosity", "0"))
        if os.environ.get("WORKFLOW_STARTUP_VALIDATION") == "strict":
            product.finish("the templates", product.manage("validate_templates"))
        product.finish("the static files", static)
        demo = None if options.no_demo else product.manage("demo")
        services += [product.web(listener), product.workers(options.workers)]
        if demo:
            product.finish("the demo data", demo)
        _await_health(listener, services, data)
        running.write_record(data, **embedded.addresses, url=address)
        _announce(address, data, demo=not options.no_demo)
        supervise(group, services)
    raise AssertionError("supervising ends by an exception only")


def _own_settings(data: paths.DataFolder) -> dict[str, str]:
    """Return the settings of the children: on this folder, over plain HTTP, for this machine only."""
    return {
        "WORKFLOW_DATA": str(data.root),
        "WORKFLOW_LOOPBACK": "1",
        "WORKFLOW_COLLECTED": "1",
        "PYTHONUNBUFFERED": "1",
    }


@dataclass(frozen=True, slots=True)
class Product:
    """Start the product's own processes on servers that already answer."""

    group: ProcessGroup
    data: paths.DataFolder
    environment: dict[str, str]

    def manage(self, *words: str) -> Child:
        """Start one management command."""
        return self._python(words[0], str(paths.PROJECT / "manage.py"), *words)

    def finish(self, what: str, child: Child) -> None:
        """Wait for a command that has to succeed."""
        code = child.process.wait()
        self.group.forget(child)
        if code:
            log = self._log(child.name)
            raise CannotStart(
                f"Preparing {what} failed ({_last_line(log)}): read {log}, fix the problem and start again."
            )

    def web(self, listener: socket.socket) -> Service:
        """Start the web server on a socket that already listens."""

        def start() -> Child:
            module = "workflowplatform.servers.web"
            return self._python("web", "-m", module, str(listener.fileno()), handed_over=[listener.fileno()])

        return Service(name="web", start=start, child=start())

    def workers(self, count: int) -> Service:
        """Start the drain workers under their own supervisor."""

        def start() -> Child:
            return self.manage("worker", "--processes", str(count))

        return Service(name="worker", start=start, child=start())

    def _python(self, name: str, *words: str, handed_over: Sequence[int] = ()) -> Child:
        return self.group.start(
            name,
            [sys.executable, *words],
            log=self._log(name),
            environment=self._environment_of(name),
            folder=paths.PROJECT,
            handed_over=handed_over,
        )

    def _environment_of(self, name: str) -> dict[str, str]:
        """Return the environment of a child; only `migrate` gets the owner's address."""
        return {
            key: value for key, value in self.environment.items() if key != running.OWNER_ADDRESS or name == "migrate"
        }

    def _log(self, name: str) -> Path:
        return self.data.logs / f"{name}.log"


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines() if log.exists() else []
    return lines[-1].strip().rstrip(".") if lines else "it said nothing"


def _await_health(listener: socket.socket, services: Sequence[Service], data: paths.DataFolder) -> None:
    """Wait until the product answers, or raise which process does not stay up."""
    deadline = time.monotonic() + READY_SECONDS
    while not _healthy(listener.getsockname()[1]):
        for service in services:
            if not service.child.alive():
                log = data.logs / f"{service.name}.log"
                raise CannotStart(f"The {service.name} process does not stay up ({_last_line(log)}): read {log}.")
        if time.monotonic() > deadline:
            raise CannotStart(
                f"The product does not answer at {HEALTH} after {READY_SECONDS:g} s: read the logs in {data.logs}."
            )
        time.sleep(0.05)


def _healthy(port: int) -> bool:
    connection = http.client.HTTPConnection(ports.HOST, port, timeout=5)
    try:
        connection.request("GET", HEALTH)
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _announce(address: str, data: paths.DataFolder, *, demo: bool) -> None:
    lines = [f"ready {address}"]
    lines += (
        people_table() if demo else ["Nobody exists yet: manage.py tenant create NAME, then manage.py person create …"]
    )
    lines.append(f"Logs: {data.logs} · Ctrl-C stops everything")
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


def _say(sentence: str) -> None:
    sys.stderr.write(f"{sentence}\n")
    sys.stderr.flush()
