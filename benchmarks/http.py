"""HTTP: start, claim and complete over REST, each against the same act in this process, in turn."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from benchmarks.bench_tenant import BenchTenant, set_up_tenant
from benchmarks.measuring import percentile
from benchmarks.report import Report, at_most
from benchmarks.workers import PROJECT
from engine.services.instances.lifecycle import start_instance
from engine.services.people.tokens import create_token
from engine.services.tasks.lifecycle import claim_task, complete_task
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.models import User

ACTS = ("start", "claim", "complete")
PATIENCE = 60.0
ANSWER = {"outcome": "approve", "values": {"note": "ok"}}

Times = dict[str, list[float]]


def run(short: bool) -> Report:
    """Play W1 over HTTP and in this process, case by case in turn."""
    bench = set_up_tenant()
    cases = 40 if short else 400
    with serving() as address:
        clients = [client_of(actor, address) for actor in (bench.starter, bench.clerk)]
        for _ in range(10):
            _inside(bench, {})
            _over_http(clients, {})
        inside, outside = _compete(bench, clients, cases)
    rows = tuple(_row(act, inside[act], outside[act]) for act in ACTS)
    added = {act: percentile(outside[act], 0.5) - percentile(inside[act], 0.5) for act in ACTS}
    goals = tuple(at_most(f"{act}: added by HTTP, p50", 10, added[act], "ms") for act in ("start", "complete"))
    told = "HTTP includes the token, throttles, the body's check, the Idempotency-Key and the written answer."
    notes = (f"{cases} cases, one client with one kept connection, uvicorn with one process. {told}",)
    headers = ("act", "in process p50 ms", "p99 ms", "over HTTP p50 ms", "p99 ms", "times")
    return Report("HTTP", "Over HTTP against in process", headers, rows, goals, notes)


def _compete(bench: BenchTenant, clients: list[httpx.Client], cases: int) -> tuple[Times, Times]:
    inside: Times = {act: [] for act in ACTS}
    outside: Times = {act: [] for act in ACTS}
    for _ in range(cases):
        _inside(bench, inside)
        _over_http(clients, outside)
    return inside, outside


def _row(act: str, inside: list[float], outside: list[float]) -> tuple[str, ...]:
    figures = [percentile(times, share) for times in (inside, outside) for share in (0.5, 0.99)]
    return (act, *(f"{figure:.2f}" for figure in figures), f"{figures[2] / figures[0]:.1f}")


def _timed(times: Times, act: str, do: Callable[[], Any]) -> Any:
    began = time.perf_counter()
    result = do()
    times.setdefault(act, []).append(1000 * (time.perf_counter() - began))
    return result


def _inside(bench: BenchTenant, times: Times) -> None:
    begun = _timed(times, "start", lambda: start_instance(actor=bench.starter, template="w1", input={"amount": 1200}))
    task = begun.tasks[0].pk
    _timed(times, "claim", lambda: claim_task(actor=bench.clerk, task_id=task))
    _timed(times, "complete", lambda: complete_task(actor=bench.clerk, task_id=task, **ANSWER))


def _over_http(clients: list[httpx.Client], times: Times) -> None:
    starter, clerk = clients
    body = {"template": "w1", "input": {"amount": 1200}}
    begun = _timed(times, "start", lambda: _post(starter, "instances/", body))
    task = begun["tasks"][0]["id"]
    _timed(times, "claim", lambda: _post(clerk, f"tasks/{task}/claim/", {}))
    _timed(times, "complete", lambda: _post(clerk, f"tasks/{task}/complete/", ANSWER))


def _post(client: httpx.Client, path: str, body: dict[str, Any]) -> Any:
    answer = client.post(path, json=body, headers={"Idempotency-Key": os.urandom(8).hex()})
    answer.raise_for_status()
    return answer.json()


def client_of(actor: Actor, address: str) -> httpx.Client:
    """Return a person's program: a token and a connection that it keeps."""
    _, token = create_token(actor=None, person=User.objects.get(pk=actor.person_id), name="bench")
    return httpx.Client(base_url=address, headers={"Authorization": f"Token {token}"}, timeout=PATIENCE)


@contextmanager
def serving() -> Iterator[str]:
    """Serve the product on the benchmark's own servers for the length of a with-block."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        command = [sys.executable, "-m", "workflowplatform.servers.web", str(listener.fileno())]
        process = subprocess.Popen(command, cwd=PROJECT, env=dict(os.environ), pass_fds=[listener.fileno()])
        try:
            address = f"http://127.0.0.1:{listener.getsockname()[1]}/api/v1/"
            httpx.get(address + "health/", timeout=PATIENCE).raise_for_status()
            yield address
        finally:
            process.terminate()
            process.wait(30)
