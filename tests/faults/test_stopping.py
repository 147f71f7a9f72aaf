"""Told to stop under load, workers and web processes end in time, and nothing is lost, doubled or refused."""

import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from engine.dispatch.drain import drain
from engine.dispatch.rq_status import look_at_workers
from engine.models import Instance, Signal, StepRun
from engine.services.people.tokens import create_token
from tests import workers
from tests.cast import Cast
from tests.faults.rolling import PATIENCE, Web, proxied
from tests.workflows import APPROVAL, activated, started

TIMES = 50
INSTANCES, ROUNDS = 20, 300
STOPS_WITHIN = 10.0
RESTARTS = 3
CALLERS = 4

COUNTING = f"""
workflow: counting
title: Counting
state: {{n: 0}}
steps:
  - id: round
    repeat:
      times: {ROUNDS}
      steps:
        - {{id: pause, wait: {{for: PT0.01S}}}}
        - {{id: ask, call: {{python: {{function: echo, args: {{word: hello}}}}}}}}
        - {{id: count, set: {{n: "${{state.n + 1}}"}}}}
"""

Record = Callable[[str, object], None]


@pytest.mark.slow
@pytest.mark.security("processes stop in time and lose nothing")
def test_workers_told_to_stop_under_load_lose_and_double_nothing(
    committed_cast: Cast, valkey: object, settings: Any, record_property: Record
) -> None:
    settings.WORKFLOW_DISPATCHER = "rq"
    gwen = committed_cast.actor("gwen")
    activated(gwen, COUNTING)
    counted = [started(gwen, "counting") for _ in range(INSTANCES)]
    moved, ends, chance = 0, list[float](), random.Random(50)
    with workers.running("worker", **workers.AS_SHIPPED) as supervisor:
        for _ in range(TIMES):
            pid = chance.choice(children_of(supervisor.pid))
            before = StepRun.objects.count()
            until = time.monotonic() + 10
            while StepRun.objects.count() == before and time.monotonic() < until:
                time.sleep(0.02)
            time.sleep(chance.uniform(0, 0.1))  # sleep: at any point of the work
            moved += StepRun.objects.count() > before
            os.kill(pid, signal.SIGTERM)
            ends.append(seconds_until_gone(pid))
        until = time.monotonic() + 300
        while Signal.objects.exists() and time.monotonic() < until:
            time.sleep(0.5)
    record_property(
        "figure", f"{len(ends)} × SIGTERM under load ({moved} with work in hand): at most {max(ends):.1f} s"
    )
    assert max(ends) <= STOPS_WITHIN
    assert moved > TIMES // 2
    for instance in counted:
        instance.refresh_from_db()
        assert (instance.status, instance.state) == ("completed", {"n": ROUNDS})
        assert StepRun.objects.filter(instance=instance, step="count").count() == ROUNDS
    assert drain().done == 0


def children_of(pid: int) -> list[int]:
    """Return the working processes of a supervisor, once there are two of them: the reserve is not registered."""
    until = time.monotonic() + 30
    while time.monotonic() < until:
        children = set(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))
        found = sorted(children & {worker.pid or 0 for worker in look_at_workers().workers})
        if len(found) == 2:
            return found
        time.sleep(0.05)
    raise AssertionError("there are no two workers")


def seconds_until_gone(pid: int) -> float:
    began = time.monotonic()
    while Path(f"/proc/{pid}").exists():
        assert time.monotonic() - began < 60
        time.sleep(0.02)
    return time.monotonic() - began


@pytest.mark.slow
@pytest.mark.security("processes stop in time and lose nothing")
def test_a_rolling_restart_behind_a_proxy_refuses_nobody(
    committed_cast: Cast, valkey: object, settings: Any, record_property: Record
) -> None:
    settings.WORKFLOW_DISPATCHER = "rq"
    activated(committed_cast.actor("gwen"), APPROVAL)
    _, token = create_token(actor=None, person=committed_cast.uri)
    webs, answers, ends, over = [Web(), Web()], Counter[str](), list[float](), threading.Event()
    try:
        for web in webs:
            web.start()
        with proxied(webs) as port:
            callers = [threading.Thread(target=ask, args=[port, token, over, answers]) for _ in range(CALLERS)]
            for caller in callers:
                caller.start()
            for _ in range(RESTARTS):
                for web in webs:
                    wait_for_more(answers)
                    ends.append(web.end())
                    web.start()
            over.set()
            for caller in callers:
                caller.join(60)
    finally:
        over.set()
        for web in webs:
            web.leave()
    told = f"{len(ends)} restarts, {answers.total()} requests, answers {dict(answers)}, at most {max(ends):.1f} s each"
    record_property("figure", told)
    assert set(answers) == {"200", "201"}
    assert max(ends) <= STOPS_WITHIN
    assert Instance.objects.count() == answers["201"]


def wait_for_more(answers: Counter[str], count: int = 20) -> None:
    """Wait until so many more requests were answered: a restart without load would show nothing."""
    wanted, until = answers.total() + count, time.monotonic() + PATIENCE
    while answers.total() < wanted:
        assert time.monotonic() < until, f"only {answers.total()} of {wanted} answers"
        time.sleep(0.02)


def ask(port: int, token: str, over: threading.Event, answers: Counter[str]) -> None:
    """Read and start, each on a connection of its own, until it is over; count what came of each."""
    headers = {"Authorization": f"Token {token}", "Connection": "close", "Host": "127.0.0.1"}
    with httpx.Client(base_url=f"http://127.0.0.1:{port}/api/v1/", headers=headers, timeout=30) as client:
        while not over.is_set():
            for act in (
                lambda: client.get("tasks/"),
                lambda: client.post("instances/", json={"template": "approval", "input": {"amount": 5}}),
            ):
                try:
                    answers[str(act().status_code)] += 1
                except httpx.HTTPError as error:
                    answers[type(error).__name__] += 1
                time.sleep(0.01)
