"""A product of its own under pressure: a web process, workers, a PostgreSQL that can be filled, and callers that insist."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psycopg
from django.db import connection

from benchmarks.faults.own_servers import OwnServers, own_house
from benchmarks.faults.waiting import a_house, steady_faults, wait_for_ends
from engine.models import Instance
from engine.services.people.tokens import create_token
from tests.faults.test_web_returns import web
from tests.workers import environment, running
from workflowplatform.servers.paths import server_account
from workflowplatform.servers.postgres import SUPERUSER

PATIENCE = 40.0
HEALED_WITHIN = 5.0
"""Seconds after the cause is gone until requests and workers are well again."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What one request was told."""

    status: int
    code: str
    retry_after: str
    kind: str
    took: float


@dataclass(slots=True)
class Product:
    """The product under test and how its trouble is made."""

    servers: OwnServers
    api: str
    token: str
    log: Path
    answers: list[Answer] = field(default_factory=list)
    started: dict[str, str] = field(default_factory=dict)

    def start(self, key: str, timeout: float = PATIENCE) -> Answer:
        """Ask once for a start under a key."""
        body = {"template": "steady", "input": {"n": 1}, "reference": key}
        headers = {"Authorization": f"Token {self.token}", "Idempotency-Key": key}
        began = time.monotonic()
        told = httpx.post(f"{self.api}instances/", json=body, headers=headers, timeout=timeout)
        said = told.json()
        answer = Answer(
            told.status_code, said.get("code", ""), told.headers.get("Retry-After", ""),
            told.headers["Content-Type"], time.monotonic() - began,
        )  # fmt: skip
        self.answers.append(answer)
        if told.status_code == 201:
            assert self.started.setdefault(key, said["id"]) == said["id"]
        return answer

    def insist(self, key: str, seconds: float = PATIENCE) -> float:
        """Ask until it is done; return how long that took."""
        began = time.monotonic()
        while self.start(key).status != 201:
            assert time.monotonic() - began < seconds, f"{key} was refused for {seconds:g} s: {self.answers[-1]}"
            time.sleep(0.1)
        return time.monotonic() - began

    def page(self) -> httpx.Response:
        """Ask as a person would whose session has to be looked up."""
        return httpx.get(self.api.replace("/api/v1/", "/inbox/"), cookies={"sessionid": "s" * 32}, timeout=PATIENCE)

    def health(self) -> tuple[int, float]:
        """Ask after the health; return its status and how long the answer took."""
        began = time.monotonic()
        return httpx.get(f"{self.api}health/", timeout=PATIENCE).status_code, time.monotonic() - began

    def said(self) -> str:
        """Return what web and workers logged so far."""
        return self.log.read_text()

    def faults(self) -> list[str]:
        """Wait until everything started has ended; say what is lost or doubled."""
        faults = [] if wait_for_ends(PATIENCE) else ["some never ended"]
        faults += steady_faults([])
        rows = Counter(Instance.objects.values_list("reference", flat=True))
        faults += [f"{key} was started {count} times" for key, count in rows.items() if count != 1]
        lost = set(self.started) - set(rows)
        return faults + [f"{key} was answered and is not there" for key in lost]

    def operate(self, *statements: str) -> None:
        """Do something as the database's superuser."""
        with psycopg.connect(host=str(self.servers.sockets), user=SUPERUSER, dbname="postgres", autocommit=True) as own:
            for statement in statements:
                own.execute(statement)


@contextmanager
def a_product(prepare: Callable[[OwnServers], None] = lambda servers: None, **extra: str) -> Iterator[Product]:
    """Run one, with a worker, on servers of its own; `prepare` may change the database before anybody uses it."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        servers = stack.enter_context(own_house())
        prepare(servers)
        token = create_token(actor=None, person=a_house().ada, name="trial")[1]
        log = folder / "log"
        with log.open("ab") as kept, told_to(kept.fileno()):
            settings = {**environment(), "WORKFLOW_WAKE_SECONDS": "0.5", "WORKFLOW_DIAGRAMS": "0", **extra}
            address = settings.pop("DATABASE_URL")
            api = stack.enter_context(web(address, **settings))
            stack.enter_context(running("worker", WORKFLOW_WAKE_SECONDS="0.5", WORKFLOW_DIAGRAMS="0", **extra))
        product = Product(servers, api, token, log)
        await_service(product)
        connection.close()
        yield product


@contextmanager
def told_to(handle: int) -> Iterator[None]:
    """Let processes started in this block write what they log there."""
    kept = {number: os.dup(number) for number in (1, 2)}
    for number in kept:
        os.dup2(handle, number)
    try:
        yield
    finally:
        for number, before in kept.items():
            os.dup2(before, number)
            os.close(before)


def await_service(product: Product) -> None:
    """Wait until the web serves and a worker works."""
    give_up = time.monotonic() + PATIENCE
    while time.monotonic() < give_up:
        with suppress(httpx.HTTPError):
            if product.health()[0] == 200:
                break
        time.sleep(0.1)
    product.insist("first")
    assert wait_for_ends(PATIENCE)


@contextmanager
def asking(product: Product, callers: int = 3) -> Iterator[None]:
    """Let callers start instances one after the other, each until it is answered, for the length of a block."""
    stop = threading.Event()

    def call(name: int) -> None:
        number = 0
        while not stop.is_set():
            product.insist(f"caller{name}-{number}")
            number += 1

    threads = [threading.Thread(target=call, args=(name,)) for name in range(callers)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join(PATIENCE)
        assert not any(thread.is_alive() for thread in threads)


def refused(answers: Sequence[Answer]) -> list[Answer]:
    """Return those that were not served."""
    return [answer for answer in answers if answer.status != 201]


@contextmanager
def small_disk(megabytes: int) -> Iterator[Path]:
    """Provide a file system of its own that is soon full; only root may mount one."""
    folder = Path(tempfile.mkdtemp(prefix="wf-small-"))
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=777", "none", folder], capture_output=True
    )
    try:
        if mounted.returncode:
            raise PermissionError(mounted.stderr.decode())
        if account := server_account():
            os.chown(folder, account.pw_uid, account.pw_gid)
        yield folder
    finally:
        if not mounted.returncode:
            subprocess.run(["umount", "-l", folder], check=True)
        shutil.rmtree(folder, ignore_errors=True)


def hog(product: Product, database: str, user: str) -> list[psycopg.Connection[Any]]:
    """Take every connection that the server has for ordinary roles."""
    taken: list[psycopg.Connection[Any]] = []
    with suppress(psycopg.OperationalError):
        while len(taken) < 500:
            taken.append(psycopg.connect(host=str(product.servers.sockets), user=user, dbname=database))
    return taken
