"""How many modules the main paths pass: a reader who follows a start or an answer through the code opens so many files.

Counted are the modules of the engine and the inbox whose functions run. The kernel is left out: it is one call with a structure
of its own. So are the models and the settings, which are what is passed along. ARCHITECTURE.md writes the paths down; they are
compared.
"""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from django.test import Client

from benchmarks.workflows import W1
from engine.dispatch.drain import drain
from engine.models import Instance
from engine.services.templates.versions import activate_version, save_draft
from tests.api.conftest import caller_of
from tests.cast import Cast
from tests.settling import wait_until_due
from tests.workflows import TIMER, activated, only_task, started

ARCHITECTURE = Path(__file__).resolve().parents[2] / "ARCHITECTURE.md"
MOST = 30
OWN, PASSED_ALONG = ("engine.", "tasks_inbox."), ("engine.kernel.", "engine.models.", "engine.conf")


@contextmanager
def walked() -> Iterator[dict[str, list[str]]]:
    """Collect the functions that run meanwhile, by module, in the order of their first calls."""
    found: dict[str, list[str]] = {}

    def note(frame: FrameType, event: str, _value: Any) -> None:
        module, function = frame.f_globals.get("__name__", ""), frame.f_code.co_qualname
        if event != "call" or not module.startswith(OWN) or module.startswith(PASSED_ALONG) or "<" in function:
            return
        if function not in found.setdefault(module, []):
            found[module].append(function)

    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(None)


def walk_of(found: dict[str, list[str]]) -> str:
    """Write a walk as ARCHITECTURE.md does: how many modules, and each with the function by which it is entered first."""
    steps = (f"{module.removeprefix('engine.')}.{functions[0]}" for module, functions in found.items())
    return f"({len(found)}): " + " → ".join(steps)


def written_path(name: str) -> tuple[int, list[str]]:
    """Return the count and the steps that ARCHITECTURE.md names for a path."""
    found = re.search(rf"^\*\*{name}\*\* \((\d+)\): (.+?)\n\n", ARCHITECTURE.read_text(encoding="utf-8"), re.M | re.S)
    assert found, name
    return int(found[1]), " ".join(found[2].split()).split(" → ")


def check(name: str, found: dict[str, list[str]]) -> None:
    """Compare a walk with the path in ARCHITECTURE.md: the count, the modules, and functions that ran in them."""
    walk = walk_of(found)
    assert len(found) <= MOST, walk
    count, steps = written_path(name)
    ran = {
        f"{module.removeprefix('engine.')}.{function}" for module, functions in found.items() for function in functions
    }
    assert (count, set(steps) - ran) == (len(found), set()), f"write in ARCHITECTURE.md: **{name}** {walk}"
    assert len(steps) == count, f"write in ARCHITECTURE.md: **{name}** {walk}"


def test_start_over_rest(cast: Cast) -> None:
    activated(cast.actor("gwen"), W1)
    uri, body = caller_of("uri"), {"template": "w1", "input": {"amount": 1200}}
    uri.post("instances/", body, key="first")
    with walked() as found:
        answer = uri.post("instances/", body, key="second")
    assert answer.status_code == 201
    check("REST start", found)


def test_completion_in_the_inbox(cast: Cast) -> None:
    activated(cast.actor("gwen"), W1)
    client = Client()
    client.force_login(cast.ada)
    for _ in range(2):
        task = only_task(started(cast.actor("uri"), "w1", amount=1200))
        with walked() as found:
            client.post(f"/inbox/tasks/{task.pk}/complete/", {"outcome": "approve", "f.note": "ok"})
        task.refresh_from_db()
        assert task.status == "completed"
    check("Inbox complete", found)


def test_timer_that_is_due(cast: Cast) -> None:
    activated(cast.actor("gwen"), TIMER)
    for _ in range(2):
        wait_until_due(started(cast.actor("gwen"), "timer"))
        with walked() as found:
            drain()
    assert not Instance.objects.live().exists()
    check("Timer due", found)


def test_activation(cast: Cast) -> None:
    gwen = cast.actor("gwen")
    for name in ("first", "second"):
        draft = save_draft(actor=gwen, source=W1.replace("workflow: w1", f"workflow: {name}"))
        with walked() as found:
            version = activate_version(actor=gwen, name=name, number=draft.number)
    assert version.status == "active"
    check("Activate", found)
