"""DBOS: durable workflow functions on PostgreSQL, in its own system database on the same server.

W1 is one workflow for each case, the pattern of its documentation for a human in the loop: it sets an event that shows
the task, waits for a message with `recv`, twice, and ends. A claim and an answer are messages, sent with `send`. "Steps" runs the
template's seven automatic steps as `@DBOS.step`, each with its own checkpoint, as ours records each; "inline" computes
them in the workflow's own code, without checkpoints, which is the least that this pattern costs.

W2 sleeps with `DBOS.sleep`, then calls a step with two retries. DBOS keeps no failed attempt; ours records each.

In its favour: who may claim or answer is not checked, nothing is audited, no list of tasks is kept, and its clients learn
that a case has come as far as it should from the same process, not by polling. PostgreSQL notifies it of messages (LISTEN), which
is its default.
"""

import sys
import threading
from collections import Counter, defaultdict
from typing import Any

from dbos import DBOS, DBOSConfig

from benchmarks.peers.client import Place, serve

PATIENCE = 60
_opened: defaultdict[str, threading.Event] = defaultdict(threading.Event)
"""Set when a case waits for a person; in this process only."""
_asked: Counter[str] = Counter()


def net(amount: int) -> float:
    return amount * 0.8


def tax(amount: int, without: float) -> float:
    return amount - without


def kind() -> str:
    return "request"


def is_large(amount: int) -> bool:
    return amount > 1000


def large(value: bool) -> bool:
    return value


def approved(answer: dict[str, Any]) -> bool:
    return bool(answer["outcome"] == "approve")


def closed() -> bool:
    return True


AUTOMATIC = (net, tax, kind, is_large, large, approved, closed)


def approval(amount: int, steps: dict[str, Any]) -> dict[str, Any]:
    """Be W1, with the automatic steps that are given."""
    state = {"net": steps["net"](amount)}
    state["tax"] = steps["tax"](amount, state["net"])
    state["kind"] = steps["kind"]()
    state["large"] = steps["large"](steps["is_large"](amount))
    case = str(DBOS.workflow_id)
    DBOS.set_event("task", {"title": f"Review {amount}", "roles": ["finance"], "outcomes": ["approve", "reject"]})
    _opened[case].set()
    state["clerk"] = DBOS.recv("claim", timeout_seconds=PATIENCE)
    _opened[case + "/claimed"].set()
    answer = DBOS.recv("answer", timeout_seconds=PATIENCE)
    state["approved"] = steps["approved"](answer)
    state["closed"] = steps["closed"]()
    return state


INLINE = {step.__name__: step for step in AUTOMATIC}
STEPS = {step.__name__: DBOS.step()(step) for step in AUTOMATIC}


@DBOS.workflow()
def approval_with_steps(amount: int) -> dict[str, Any]:
    return approval(amount, STEPS)


@DBOS.workflow()
def approval_inline(amount: int) -> dict[str, Any]:
    return approval(amount, INLINE)


@DBOS.step(retries_allowed=True, max_attempts=3, interval_seconds=0.01, backoff_rate=1.0)
def third_time(case: str) -> dict[str, int]:
    _asked[case] += 1
    if _asked[case] < 3:
        raise ConnectionError("not yet")
    return {"attempt": _asked.pop(case)}


@DBOS.workflow()
def timer_and_call() -> dict[str, Any]:
    DBOS.sleep(0.01)
    return {"asked": third_time(str(DBOS.workflow_id)), "done": True}


def w1(units: int) -> None:
    workflow = approval_with_steps if sys.argv[5] == "steps" else approval_inline
    for _ in range(units):
        handle = DBOS.start_workflow(workflow, 1200)
        case = handle.workflow_id
        _await(case)
        DBOS.send(case, "clerk", topic="claim")
        _await(case + "/claimed")
        DBOS.send(case, {"outcome": "approve", "values": {"note": "ok"}}, topic="answer")
        assert handle.get_result()["approved"] is True


def _await(moment: str) -> None:
    if not _opened[moment].wait(PATIENCE):
        raise RuntimeError(f"{moment} was not reached")
    del _opened[moment]


def w2(units: int) -> None:
    handles = [DBOS.start_workflow(timer_and_call) for _ in range(units)]
    assert all(handle.get_result()["done"] for handle in handles)


def main() -> None:
    """Launch DBOS and serve W1 and W2."""
    place = Place.told()
    config: DBOSConfig = {
        "name": "peer",
        "system_database_url": f"postgresql://{place.user}@/{place.database}?host={place.host}",
        "executor_id": f"client-{place.number}",
        "application_version": "1",
        "log_level": "ERROR",
        "run_migrations": place.number == 0,
    }
    DBOS(config=config)
    DBOS.launch()
    serve({"w1": w1, "w2": w2})


if __name__ == "__main__":
    main()
