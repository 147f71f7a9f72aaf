"""Values that only SQL could have written break no page: it shows them as text.

The rule is in workflowplatform/database/stored_json.py. Where the database refuses such a value, that is the better answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

import pytest
from django.apps import apps
from django.db import connection, transaction
from django.db.models import Model

from engine.models import JournalRow, Task
from tests.admin.conftest import SignIn
from tests.admin.test_xss import faults_of
from tests.browser.xss_rows import seed_rows
from workflowplatform.accounts.actor import Actor
from workflowplatform.database.stored_json import as_text, json_in, object_in, objects_in, texts_in

MARK = "<b>xss9</b>"
LISTS: tuple[Any, ...] = (MARK, 7, [7], [None], [[MARK]], [{"odd": MARK}], {"odd": MARK})
BODIES = ("", "{", "7", "[7]", '{"data": 7}', f'{{"data": "{MARK}"}}', MARK)
TASK_LISTS = ("outcomes", "users", "excluded", "familiar", "answered_by", "effective_roles", "ticked")
WORDS = ("{", "{x}", "%d", MARK)
WHOLE = {"workflow": "marked", "title": MARK, "steps": []}
STEP = {"id": "look", "path": "steps/look"}
DEFINITIONS: tuple[Any, ...] = (
    {"steps": 7}, {**WHOLE, "steps": MARK}, {**WHOLE, "steps": [MARK]}, {**WHOLE, "steps": [STEP]},
    {**WHOLE, "steps": [{**STEP, "task": MARK}]}, {**WHOLE, "steps": [{**STEP, "id": [7], "task": {}}]},
    {**WHOLE, "steps": [{**STEP, "task": {}, "on_error": [MARK]}]}, {**WHOLE, "input": MARK}, {**WHOLE, "starters": MARK},
    {**WHOLE, "starters": {"min_level": 99}}, {**WHOLE, "schedule": [MARK]}, {**WHOLE, "event": 7}, {**WHOLE, "on": [MARK]},
)  # fmt: skip
SNAPSHOT = {
    "engineSchemaVersion": 1, "status": "running", "now": "2030-01-01T00:00:00Z", "nextFrame": 9, "start": {},
    "workflowState": {}, "results": {}, "stepStatus": {}, "businessReference": None, "mutexes": {}, "earlySignals": [],
    "continuationBuffer": [], "people": {}, "frames": [], "waits": [],
}  # fmt: skip
SNAPSHOTS: tuple[Any, ...] = (
    SNAPSHOT, {**SNAPSHOT, "waits": 7}, {**SNAPSHOT, "frames": [{"n": 1, "p": MARK, "list": 7}]}, {**SNAPSHOT, "status": [MARK]},
    {**SNAPSHOT, "frames": [{"n": 1, "p": 0, "step": MARK, "wait": "task"}], "waits": [{"token": MARK}]},
)  # fmt: skip
ODD: dict[str, tuple[tuple[Any, ...], tuple[str, ...]]] = {
    "engine.bulkact.action": (WORDS, ("/bulkact/",)),
    "engine.journalrow.action": (WORDS, ("/admin/", "/audit/", "tab=diagram")),
    "engine.secret.origins": (LISTS, ("/secret/",)),
    "engine.webhook.events": (LISTS, ("/webhook/",)),
    "engine.webhook.templates": (LISTS, ("/webhook/",)),
    "engine.webhookdelivery.body": (BODIES, ("/webhookdelivery/",)),
    "engine.templateversion.findings": (
        (*LISTS, [{"code": 7, "line": MARK, "hint": [MARK], "severity": None}]),
        ("/templateversion/",),
    ),
    "engine.templateversion.canonical": (
        (*LISTS, *DEFINITIONS),
        ("/templateversion/", "/inbox/start", "/inbox/tasks/", "/inbox/instances/", "/engine/instance/", "/schedule/"),
    ),
    "engine.runtimestate.snapshot": (
        (*LISTS, {"frames": 7}, {"frames": [MARK]}, *SNAPSHOTS),
        ("tab=engine", "/inbox/tasks/", "/inbox/instances/"),
    ),
    "engine.template.tags": (LISTS, ("/inbox/start/",)),
    "accounts.tenant.http_allow": (LISTS, ("/accounts/tenant/",)),
    "accounts.user.same_eyes": (LISTS, ("/admin/accounts/user/", "/inbox/started/")),
    **dict.fromkeys(
        (f"engine.task.{name}" for name in TASK_LISTS),
        (LISTS, ("/task/", "/inbox/tasks/", "tab=tasks")),
    ),
    "engine.task.form": ((*LISTS, {"properties": MARK}, {"properties": {"note": MARK}}), ("/task/", "/inbox/tasks/")),
    "engine.taskdraft.values": (LISTS, ("/inbox/tasks/",)),
    "engine.startdraft.values": (LISTS, ("/inbox/start/",)),
    "engine.pendinganswer.values": (LISTS, ("/inbox/tasks/",)),
    "engine.task.extra": ((*LISTS, {"checklist": LISTS[4]}, {"four_eyes": MARK}), ("/task/", "/inbox/tasks/")),
}  # fmt: skip
"""Odd values for each field, and in which addresses the pages that read it are."""
SHOWN_RAW = ("engine.bulkact.action", "engine.journalrow.action", "engine.secret.origins", "engine.webhook.events",
             "engine.webhook.templates", "engine.webhookdelivery.body", "engine.templateversion.findings",
             "engine.runtimestate.snapshot",
             "accounts.tenant.http_allow", "engine.task.outcomes")  # fmt: skip
"""Fields whose pages say what the column holds."""
IN_TURN = 4
"""The short form writes every fourth value."""


def write(label: str, value: Any) -> None:
    """Write a value into every row, past every check of ours."""
    model = apps.get_model(label.rpartition(".")[0])
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute(f"ALTER TABLE {model._meta.db_table} DISABLE TRIGGER USER")
        alone = {"acts": None} if model is JournalRow else {}
        model._default_manager.all().update(**{label.split(".")[2]: value}, **alone)
        cursor.execute(f"ALTER TABLE {model._meta.db_table} ENABLE TRIGGER USER")


def pages_with(pages: Iterable[str], words: tuple[str, ...]) -> list[str]:
    """Choose the pages that read a field: those of one claimed task, not of every instance."""
    claimed = Task.objects.filter(status="claimed").first()
    assert claimed is not None
    others = {str(key) for task in Task.objects.exclude(pk=claimed.pk) for key in (task.pk, task.instance_id)}
    chosen = [one for one in pages if any(word in one for word in words if word != "/admin/") or one in words]
    return [one for one in chosen if not any(key in one for key in others)]


@pytest.mark.parametrize("every", [IN_TURN, pytest.param(1, marks=pytest.mark.slow)])
def test_odd_values_are_shown_as_text(gwen: Actor, acmes: dict[str, Model], sign_in: SignIn, every: int) -> None:
    pages = ["/admin/", *seed_rows(gwen)]
    clients = {"gwen": sign_in("gwen"), "zoe": sign_in("zoe")}
    for client in clients.values():
        client.raise_request_exception = False
    wrong: list[tuple[str, str, str, Any]] = []
    tried = [(label, value) for label, (values, _) in ODD.items() for value in values]
    for label, value in [*tried[::every], *((label, ODD[label][0][-1]) for label in SHOWN_RAW)]:
        with transaction.atomic():
            write(label, value)
            shown = ""
            for address in pages_with(pages, ODD[label][1]):
                answer = clients["zoe" if "tenant" in label else "gwen"].get(address)
                page = "" if answer.streaming else answer.content.decode()
                shown += page
                if answer.status_code >= 500 or faults_of(page):
                    wrong.append((label, as_text(value), address, answer.status_code))
            if label in SHOWN_RAW and MARK in as_text(value) and escape(MARK) not in shown:
                wrong.append((label, as_text(value), "no page shows it", 0))
            transaction.set_rollback(True)
    assert wrong == []


def test_readers_take_any_value() -> None:
    assert [texts_in(value) for value in (None, [], ["a", 7], "a", {"a": 1})] == [
        [],
        [],
        ["a", "7"],
        ["a"],
        ['{"a": 1}'],
    ]
    assert [object_in(value, "all") for value in (None, {"a": 1}, 7)] == [{}, {"a": 1}, {"all": 7}]
    assert objects_in([{"id": "a"}, 7], "id") == [{"id": "a"}, {"id": "7"}]
    assert objects_in({"a": 1}, "id") == [{"a": 1, "id": '{"a": 1}'}]
    assert [json_in(text) for text in ("{", '{"a": 1}')] == ["{", {"a": 1}]


@pytest.mark.parametrize("rule", ["odd", 7, [7]])
def test_a_four_eyes_rule_of_another_shape_still_bars_the_starter(rule: Any) -> None:
    eyes = Task(extra={"four_eyes": rule}).rules.four_eyes
    assert eyes is not None
    assert eyes.start
