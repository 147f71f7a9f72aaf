"""One way to change an instance's status outside a slice: nothing but engine.runtime.moves does it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import engine
from engine.errors import Conflict
from engine.models import Instance, RuntimeState
from engine.services.instances.lifecycle import cancel_instance
from engine.services.instances.repair import resume_instance, suspend_instance
from engine.services.templates.versions import activate_version, pause_version
from tests.cast import Cast
from tests.workflows import TIMER, activated, started

STATUS = {"status", "runtime_status"}
UPDATES = ("UPDATE wf_instances SET status", "UPDATE wf_runtime_states SET runtime_status")
CREATING = {"runtime/concurrency_limits.py": {"queue_new_instance"}}
"""Where a row is written for the first time."""


def _status_writes(tree: ast.AST) -> Iterator[int]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(ast.unparse(target) in {"instance.status", "runtime.runtime_status"} for target in targets):
                yield node.lineno
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "update":
            text = ast.unparse(node)
            names = {keyword.arg for keyword in node.keywords} | {part for part in STATUS if f"'{part}'" in text}
            if text.startswith(("Instance.", "RuntimeState.")) and names & STATUS:
                yield node.lineno
        elif isinstance(node, ast.Constant) and any(sql in str(node.value) for sql in UPDATES):
            yield node.lineno


def test_nothing_else_writes_the_status_of_an_instance() -> None:
    root = Path(engine.__file__).parent
    found = []
    for path in sorted(root.rglob("*.py")):
        place = path.relative_to(root).as_posix()
        if place.startswith(("kernel/", "migrations/")) or place == "runtime/moves.py":
            continue
        for node in ast.parse(path.read_text()).body:
            if getattr(node, "name", "") not in CREATING.get(place, ()):
                found += [f"{place}:{line}" for line in _status_writes(node)]
    assert found == []


@pytest.mark.parametrize(
    "code",
    [
        "Instance.objects.filter(pk=1).update(status='running')",
        "RuntimeState.objects.filter(pk=1).update(runtime_status='running')",
        "Instance.objects.filter(pk=1).update(**{'status': 'running'})",
        "instance.status = 'running'",
        "cursor.execute('UPDATE wf_instances SET status = 1')",
    ],
)
def test_the_search_for_writers_finds_one(code: str) -> None:
    assert list(_status_writes(ast.parse(code)))


def _statuses(instance: Instance) -> tuple[str, str, int]:
    runtime = RuntimeState.objects.get(pk=instance.pk)
    return Instance.objects.get(pk=instance.pk).status, runtime.runtime_status, runtime.state_version


def test_a_move_shows_in_instance_runtime_row_and_version(committed_cast: Cast) -> None:
    gwen, ada = committed_cast.actor("gwen"), committed_cast.actor("ada")
    activated(gwen, TIMER)
    instance = started(ada, "timer")
    version = _statuses(instance)[2]
    suspend_instance(actor=ada, instance_id=instance.pk)
    assert _statuses(instance) == ("suspended", "suspended", version + 1)
    resume_instance(actor=ada, instance_id=instance.pk)
    assert _statuses(instance) == ("running", "running", version + 2)


def test_a_queued_instance_is_admitted_and_cancelled_in_both_rows(committed_cast: Cast) -> None:
    gwen, ada = committed_cast.actor("gwen"), committed_cast.actor("ada")
    activated(gwen, TIMER.replace("workflow: timer", "workflow: timer\nlimits: {concurrent: 1}"))
    first, second, third = (started(ada, "timer") for _ in range(3))
    assert _statuses(second)[:2] == _statuses(third)[:2] == ("queued", "queued")
    version = _statuses(third)[2]
    cancel_instance(actor=ada, instance_id=third.pk, reason="not needed")
    assert _statuses(third) == ("cancelled", "cancelled", version + 1)
    cancel_instance(actor=ada, instance_id=first.pk, reason="not needed")
    assert _statuses(second)[:2] == ("running", "running")


def test_a_paused_version_is_resumed_not_activated(committed_cast: Cast) -> None:
    gwen = committed_cast.actor("gwen")
    version = activated(gwen, TIMER)
    pause_version(actor=gwen, name="timer", number=version.number)
    with pytest.raises(Conflict) as refused:
        activate_version(actor=gwen, name="timer", number=version.number)
    assert refused.value.code == "status"
    version.refresh_from_db()
    assert (version.status, version.activated_by_name) == ("paused", "gwen")
