"""One way to change an instance's status outside a slice: nothing but engine.runtime.moves does it."""

import ast
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import transaction

from engine.errors import Conflict
from engine.kernel.signals import Json
from engine.models import Audit, Instance, RuntimeState, Signal
from engine.runtime import claims, moves
from engine.runtime.projection import NEVER
from engine.services.instances.lifecycle import cancel_instance
from engine.services.instances.repair import resume_instance, suspend_instance
from engine.services.templates.versions import activate_version, pause_version
from tests.cast import Cast
from tests.workflows import TIMER, activated, started
from workflowplatform.servers.paths import PROJECT

MOVED = {"status", "runtime_status", "error", "last_error_code", "last_error_json"}
"""What a move changes, in an instance and its runtime row."""
SQL = re.compile(
    r"UPDATE\s+(wf_instances|wf_runtime_states)\b[^;]*?\bSET\b((?!\b(FROM|WHERE)\b)[^;])*?"
    rf"\b({'|'.join(sorted(MOVED))})\"?\s*=",
    re.IGNORECASE,
)
ROOTS = ("engine", "tasks_inbox", "workflowplatform")
CREATING = {"engine/runtime/concurrency_limits.py": {"queue_new_instance"}}
"""Where a row is written for the first time."""
OTHERS = {"schedule", "version", "webhook", "delivery", "task", "row", "folded", "run"}
"""What else has a status or an error and is called by these names."""


def _writes(tree: ast.AST) -> Iterator[int]:
    """Yield the lines that assign what a move changes, or update it by a query or by SQL."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            parts = [part for target in targets for part in getattr(target, "elts", [target])]
            if any(_is_moved(part) for part in parts):
                yield node.lineno
        elif isinstance(node, ast.Call | ast.Constant | ast.JoinedStr) and _is_write(node):
            yield node.lineno


def _is_write(node: ast.Call | ast.Constant | ast.JoinedStr) -> bool:
    if isinstance(node, ast.Call):
        return _is_update(node) or _is_setattr(node)
    return bool(SQL.search(_text(node)))


def _is_moved(target: ast.AST) -> bool:
    return isinstance(target, ast.Attribute) and target.attr in MOVED and ast.unparse(target.value) not in OTHERS


def _is_update(call: ast.Call) -> bool:
    """Return whether a query over instances or runtime rows changes one of these columns."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in {"update", "bulk_update", "update_or_create"}:
        return False
    text = ast.unparse(call)
    names = {keyword.arg for keyword in call.keywords} | {name for name in MOVED if f"'{name}'" in text}
    of_tasks = re.search(
        r"\b(Task|StepRun|Effect|Notification|WebhookDelivery|PendingAnswer|TemplateVersion)\.objects", text
    )
    return bool(names & MOVED) and bool(re.search(r"instance|runtime|state", text, re.I)) and not of_tasks


def _is_setattr(call: ast.Call) -> bool:
    return ast.unparse(call.func) == "setattr" and ast.unparse(call.args[0]) in {"instance", "runtime"}


def _text(node: ast.Constant | ast.JoinedStr) -> str:
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    return "".join(str(part.value) if isinstance(part, ast.Constant) else "?" for part in parts)


def _places() -> Iterator[tuple[str, ast.stmt]]:
    for root in ROOTS:
        for path in sorted((PROJECT / root).rglob("*.py")):
            place = path.relative_to(PROJECT).as_posix()
            if not place.startswith(("engine/kernel/", "engine/migrations/")) and place != "engine/runtime/moves.py":
                yield from ((place, node) for node in ast.parse(path.read_text()).body)


def test_nothing_else_writes_the_status_or_the_error_of_an_instance() -> None:
    found = [
        f"{place}:{line}"
        for place, node in _places()
        if getattr(node, "name", "") not in CREATING.get(place, ())
        for line in _writes(node)
    ]
    assert found == []


@pytest.mark.parametrize(
    "code",
    [
        "Instance.objects.filter(pk=1).update(status='running')",
        "RuntimeState.objects.filter(pk=1).update(runtime_status='running')",
        "Instance.objects.filter(pk=1).update(**{'status': 'running'})",
        "Instance.objects.bulk_update(found, ['status'])",
        "access.visible_instances(actor).update(error=None)",
        "RuntimeState.objects.update(last_error_code=None)",
        "instance.status = 'running'",
        "self.parent.status, other = 'running', 1",
        "found.error = None",
        "case.runtime_status: str = 'running'",
        "setattr(instance, name, value)",
        "cursor.execute('UPDATE wf_instances SET status = 1')",
        "cursor.execute('UPDATE wf_instances i SET updated_at = now(), error = NULL')",
        "cursor.execute(f'UPDATE wf_runtime_states r SET {more}, last_error_code = NULL')",
    ],
)
def test_the_search_for_writers_finds_one(code: str) -> None:
    assert list(_writes(ast.parse(code)))


def test_every_name_that_the_search_leaves_out_is_in_use() -> None:
    """A name that no longer has a status could be an instance's tomorrow."""
    targets = (target for _, node in _places() for one in ast.walk(node) for target in getattr(one, "targets", ()))
    parts = (part for target in targets for part in getattr(target, "elts", [target]))
    names = {ast.unparse(part.value) for part in parts if isinstance(part, ast.Attribute) and part.attr in MOVED}
    assert names >= OTHERS


def _statuses(instance: Instance) -> tuple[str, str, int]:
    runtime = RuntimeState.objects.get(pk=instance.pk)
    return Instance.objects.get(pk=instance.pk).status, runtime.runtime_status, runtime.state_version


def _acts(instance: Instance) -> list[tuple[str, Any, Any, str]]:
    rows = Audit.objects.filter(subject_id=instance.pk).order_by("seq").exclude(action__in=NOT_MOVES)
    return list(rows.values_list("action", "old", "new", "cause"))


def _is_held(instance: Instance) -> bool:
    """Return whether the one signal of an instance waits for nothing but a move."""
    (signal,) = Signal.objects.filter(instance=instance)
    assert (signal.held_due_at is None) == (signal.due_at != NEVER)
    return signal.held_due_at is not None


def _errors(instance: Instance) -> tuple[Any, Any, Any]:
    runtime = RuntimeState.objects.get(pk=instance.pk)
    return Instance.objects.get(pk=instance.pk).error, runtime.last_error_code, runtime.last_error_json


NOT_MOVES = ("start_workflow", "execute_step", "hold_step")
PROBLEM: dict[str, Json] = {
    "class": "consistency",
    "code": "dead_letter",
    "message": "lost",
    "step": None,
    "attempt": 1,
    "cause": None,
}


@pytest.fixture
def asleep(committed_cast: Cast) -> Instance:
    """Provide an instance that waits for its timer, the one signal that it has."""
    activated(committed_cast.actor("gwen"), TIMER.replace("PT0.2S", "PT1H"))
    return started(committed_cast.actor("ada"), "timer")


@contextmanager
def claimed(instance: Instance) -> Iterator[Instance]:
    """Provide an instance as it is now, under its claim."""
    with transaction.atomic():
        assert claims.lock([instance.pk])
        yield Instance.objects.get(pk=instance.pk)


def test_suspending_holds_and_resuming_releases(committed_cast: Cast, asleep: Instance) -> None:
    ada, version = committed_cast.actor("ada"), _statuses(asleep)[2]
    suspend_instance(actor=ada, instance_id=asleep.pk, reason="audit")
    assert (_statuses(asleep), _is_held(asleep)) == (("suspended", "suspended", version + 1), True)
    resume_instance(actor=ada, instance_id=asleep.pk, reason="done")
    assert (_statuses(asleep), _is_held(asleep)) == (("running", "running", version + 2), False)
    assert _acts(asleep) == [
        ("suspend_workflow", "running", "suspended", "audit"), ("resume_workflow", "suspended", "running", "done"),
    ]  # fmt: skip


def test_an_incident_holds_its_signals_until_it_is_resolved(committed_cast: Cast, asleep: Instance) -> None:
    version = _statuses(asleep)[2]
    with claimed(asleep) as instance:
        moves.raise_incident(instance, PROBLEM)
    assert (_statuses(asleep), _is_held(asleep)) == (("incident", "incident", version + 1), True)
    assert _errors(asleep) == (PROBLEM, "dead_letter", PROBLEM)
    with claimed(asleep) as instance:
        moves.resolve_incident(instance, actor=committed_cast.actor("ada"), reason="looked at")
        assert (instance.status, instance.error) == ("running", None)
    assert (_statuses(asleep), _is_held(asleep)) == (("running", "running", version + 2), False)
    assert _errors(asleep) == (None, None, None)
    assert _acts(asleep) == [
        ("raise_incident", "running", {"message": "lost"}, ""), ("resume_workflow", "incident", "running", "looked at"),
    ]  # fmt: skip


def test_resolving_the_incident_of_a_suspended_instance_is_a_move_too(committed_cast: Cast, asleep: Instance) -> None:
    """Its signals wait on, for the person who suspended it."""
    ada = committed_cast.actor("ada")
    with claimed(asleep) as instance:
        moves.raise_incident(instance, PROBLEM)
        moves.suspend(instance, actor=ada, reason="first look")
    version = _statuses(asleep)[2]
    with claimed(asleep) as instance:
        moves.resolve_incident(instance, actor=ada, reason="looked at")
    assert (_statuses(asleep), _is_held(asleep)) == (("suspended", "suspended", version + 1), True)
    assert _errors(asleep) == (None, None, None)
    assert _acts(asleep)[-1] == ("resolve_incident", "suspended", "suspended", "looked at")
    with claimed(asleep) as instance:
        moves.resume(instance, actor=ada, reason="")
    assert (_statuses(asleep), _is_held(asleep)) == (("running", "running", version + 2), False)


@pytest.mark.parametrize("status", ["running", "cancelled"])
def test_only_an_incident_and_a_suspended_instance_are_resolved(
    committed_cast: Cast, asleep: Instance, status: str
) -> None:
    ada = committed_cast.actor("ada")
    if status == "cancelled":
        cancel_instance(actor=ada, instance_id=asleep.pk, reason="not needed")
    before = _statuses(asleep)
    with pytest.raises(AssertionError, match="not a legal move"), claimed(asleep) as instance:
        moves.resolve_incident(instance, actor=ada, reason="")
    assert _statuses(asleep) == before


def test_a_queued_instance_is_admitted_and_cancelled_in_both_rows(committed_cast: Cast) -> None:
    gwen, ada = committed_cast.actor("gwen"), committed_cast.actor("ada")
    activated(gwen, TIMER.replace("workflow: timer", "workflow: timer\nlimits: {concurrent: 1}"))
    first, second, third = (started(ada, "timer") for _ in range(3))
    assert _statuses(second)[:2] == _statuses(third)[:2] == ("queued", "queued")
    version = _statuses(third)[2]
    cancel_instance(actor=ada, instance_id=third.pk, reason="not needed")
    assert _statuses(third) == ("cancelled", "cancelled", version + 1)
    assert _acts(third) == [("cancel_workflow", "queued", "cancelled", "not needed")]
    cancel_instance(actor=ada, instance_id=first.pk, reason="not needed")
    assert _statuses(second)[:2] == ("running", "running")
    assert ("admit_workflow", "queued", "running", "") in _acts(second)
    assert not _is_held(second)


def test_a_paused_version_is_resumed_not_activated(committed_cast: Cast) -> None:
    gwen = committed_cast.actor("gwen")
    version = activated(gwen, TIMER)
    pause_version(actor=gwen, name="timer", number=version.number)
    with pytest.raises(Conflict) as refused:
        activate_version(actor=gwen, name="timer", number=version.number)
    assert refused.value.code == "status"
    version.refresh_from_db()
    assert (version.status, version.activated_by_name) == ("paused", "gwen")
