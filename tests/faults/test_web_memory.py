"""A web process that has grown is replaced on its own socket: no request is refused, and it stays below its limit."""

from __future__ import annotations

import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.cast import Cast
from tests.web_processes import a_web
from tests.workers import children_of

PATIENCE = 90.0
GENERATIONS = 3
CALLERS = 2


def until(is_so: Callable[[], bool], what: str) -> None:
    """Wait for something that must come."""
    ends = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < ends, what
        time.sleep(0.05)


def is_there(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


@contextmanager
def asked_all_the_time(address: str, *, is_kept: bool) -> Iterator[Counter[str]]:
    """Let callers ask one request after the other, on connections that they keep or on new ones; count the answers."""
    answers, over = Counter[str](), threading.Event()
    headers = {} if is_kept else {"Connection": "close"}

    def ask() -> None:
        with httpx.Client(base_url=address, headers=headers, timeout=PATIENCE) as client:
            while not over.is_set():
                try:
                    answers[str(client.get("health/").status_code)] += 1
                except httpx.HTTPError as error:
                    answers[type(error).__name__] += 1

    callers = [threading.Thread(target=ask) for _ in range(CALLERS)]
    for caller in callers:
        caller.start()
    try:
        yield answers
    finally:
        over.set()
        for caller in callers:
            caller.join(PATIENCE)


@pytest.mark.security("bombs leave the web process small and the neighbours served")
@pytest.mark.parametrize("is_kept", [True, False], ids=["kept connections", "new connections"])
def test_a_process_beyond_its_limit_is_replaced_and_no_request_is_lost(committed_cast: Cast, is_kept: bool) -> None:
    """With a limit of one megabyte each process has grown too large as soon as it serves."""
    with a_web(WORKFLOW_WEB_MEMORY="1") as web, asked_all_the_time(web.address, is_kept=is_kept) as answers:
        seen: set[int] = set()

        def generations() -> int:
            seen.update(web.serving())
            return len(seen)

        until(lambda: generations() > GENERATIONS, f"only {len(seen)} processes served")
        ended = min(seen)
        until(lambda: ended not in web.serving(), "the first process did not retire")
    assert set(answers) == {"200"}
    assert answers["200"] > GENERATIONS


def test_a_process_below_its_limit_stays(committed_cast: Cast) -> None:
    with a_web(WORKFLOW_WEB_MEMORY="0") as web:
        before = web.serving()
        for _ in range(5):
            assert httpx.get(web.address + "health/", timeout=PATIENCE).status_code == 200
        assert web.serving() == before
        assert len(before) == 1


def test_a_killed_process_comes_back_and_told_to_stop_all_end(committed_cast: Cast) -> None:
    with a_web(processes=2) as web:
        until(lambda: len(web.serving()) == 2, "there are no two processes")
        killed = web.serving()[0]
        web.kill(killed)
        until(lambda: len(web.serving()) == 2 and killed not in web.serving(), "the killed process did not come back")
        assert httpx.get(web.address + "health/", timeout=PATIENCE).status_code == 200
        left = web.serving()
        web.process.send_signal(signal.SIGTERM)
        assert web.process.wait(PATIENCE) == 0
        until(lambda: not any(map(is_there, left)), "a process outlived its parent")


def test_none_outlives_a_parent_that_is_killed(committed_cast: Cast) -> None:
    with a_web() as web:
        left = web.serving()
        web.process.kill()
        until(lambda: not any(map(is_there, left)), "a process outlived its parent")


def test_one_that_cannot_start_ends_the_whole_with_its_reason(committed_cast: Cast) -> None:
    with a_web(is_awaited=False, WORKFLOW_PUBLIC_URL="example.com/app") as web:
        assert web.process.wait(PATIENCE) == 1
    assert children_of(web.process.pid) == []
