"""What is sent along each route: whose rows its arguments name, and a body that would be taken."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from tests.isolation.routes import Route
from tests.isolation.scene import Rows

NOBODYS = UUID("01999999-9999-4999-8999-999999999999")
JOB = "no-such-job"
WRONG_LINK = "abcdef-0123456789abcdef0123456789abcdef"
"""The secret half of a mailed link: with the right one anybody is let in, by design; nobody learns whom the wrong one misses."""

REST = "api/v1/"
BODIES: dict[str, Any] = {
    "POST templates/": {"source": "workflow: other\nsteps: [{set: {a: 1}}]"},
    "POST templates/validate/": {"source": "workflow: x"},
    "POST templates/activate/": {"versions": [{"name": "{draft}", "version": 1}]},
    "PUT templates/<name>/versions/<number>/": {"source": "workflow: {draft}\nsteps: [{set: {a: 1}}]"},
    "POST templates/<name>/versions/<number>/simulate/": {"start": {"amount": 5}},
    "POST instances/": {"template": "{template}", "input": {"amount": 1}},
    "POST instances/<instance_id>/cancel/": {"reason": "not needed"},
    "POST instances/<instance_id>/withdraw/": {"reason": "not needed"},
    "POST instances/<instance_id>/comment/": {"text": "Look twice"},
    "POST instances/<instance_id>/skip/": {"reason": "not needed"},
    "POST instances/<instance_id>/signals/": {"name": "go"},
    "POST tasks/<task_id>/complete/": {"outcome": "approve", "values": {"note": "ok"}},
    "POST tasks/<task_id>/assign/": {"user": "{worker}"},
    "POST tasks/<task_id>/delegate/": {"user": "{worker}"},
    "POST tasks/<task_id>/ask/": {"user": "{person}", "question": "Which one?"},
    "POST tasks/<task_id>/return/": {"note": "the red one"},
    "POST tasks/<task_id>/draft/": {"values": {"note": "so far"}},
    "POST tasks/<task_id>/comment/": {"text": "Look twice"},
    "POST tasks/<task_id>/tick/": {"point": "point_1"},
    "POST tasks/<task_id>/snooze/": {"until": "2999-01-07T09:00:00Z"},
    "POST tasks/<task_id>/skip/": {"reason": "not needed"},
    "POST tasks/<task_id>/reopen/": {"reason": "not needed"},
    "POST tasks/bulk/": {"action": "claim", "ids": ["{free_task_id}"]},
    "POST signals/": {"name": "paid", "key": "A7"},
    "POST events/": {"name": "order", "id": "e-1"},
    "POST schedules/": {"template": "{template}", "cron": "0 9 * * *", "input": {"amount": 3}},
    "PUT schedules/<schedule_id>/": {"cron": "30 9 * * *"},
    "PUT secrets/<name>/": {"value": "hush-hush"},
    "PUT calendars/<name>/": {"hours": {"mon": ["09:00-17:00"]}},
    "POST webhooks/": {"url": "https://hooks.example.com/other", "events": ["task.opened"]},
    "PUT webhooks/<webhook_id>/": {"title": "Bookkeeping"},
    "POST webhooks/<webhook_id>/rotate/": {"keep_for": "PT1H"},
    "POST webhooks/<webhook_id>/replay/": {"since": "2020-01-07T09:00:00Z"},
    "POST people/<name>/erase/": {"reason": "asked for it"},
    "POST people/": {"name": "nora", "level": 2, "roles": ["hr"]},
    "PUT people/<name>/": {"full_name": "Some Body"},
    "POST substitutions/": {"person": "{person}", "deputy": None, "from": "2998-01-07", "until": "2998-01-09"},
    "PUT substitutions/<absence_id>/": {"note": "by bike"},
    "POST roles/": {"name": "legal"},
    "PUT roles/<name>/": {"title": "Money"},
    "POST tokens/": {"name": "nightly", "scopes": ["read"], "expires_in": "P30D"},
}
FORMS: dict[str, dict[str, Any]] = {
    "POST inbox/start/<name>/": {"f.amount": "3"},
    "POST inbox/start/<name>/draft/": {"once": "begun1", "f.amount": "3"},
    "POST inbox/start/<name>/draft/discard/": {"once": "begun1"},
    "POST inbox/bulk/": {"action": "claim", "task": "{free_task_id}"},
    "POST inbox/together/": {"task": "{free_task_id}"},
    "POST inbox/filters/": {"name": "late", "query": "view=mine"},
    "POST inbox/filters/<filter_id>/": {"name": "soon"},
    "POST inbox/columns/": {"column": "due", "back": "view=mine"},
    "POST inbox/first/": {"filter": "{filter_id}", "back": "view=mine"},
    "POST inbox/export/": {"query": "view=team"},
    "POST inbox/tasks/<task_id>/complete/": {"outcome": "approve", "f.note": "ok"},
    "POST inbox/tasks/<task_id>/draft/": {"f.note": "so far"},
    "POST inbox/tasks/<task_id>/comment/": {"text": "Look twice"},
    "POST inbox/tasks/<task_id>/assign/": {"person": "{worker}"},
    "POST inbox/tasks/<task_id>/hand_over/": {"choice": "ask", "asked": "{person}", "question": "Which one?"},
    "POST inbox/questions/<question_id>/": {"answer": "the red one"},
    "POST inbox/away/": {"from": "2998-01-07", "until": "2998-01-09"},
    "POST inbox/away/<absence_id>/": {"from": "2998-01-07", "until": "2998-01-09"},
    "POST inbox/tasks/<task_id>/suspend/": {"reason": "not now"},
    "POST inbox/tasks/<task_id>/skip/": {"reason": "not needed"},
    "POST inbox/tasks/<task_id>/snooze/": {"until": "2999-01-07T09:00:00Z"},
    "POST inbox/instances/<instance_id>/comment/": {"text": "Look twice"},
    "POST inbox/instances/<instance_id>/<name>/": {"reason": "not needed"},
    "POST accounts/reset/": {"email": "{person}@nowhere.example"},
    "POST accounts/login/": {"username": "{person}", "password": "wrong"},
    "POST accounts/keys/": {"on": "1"},
    "POST inbox/notifications/": {
        "kinds": "1", "mail_late": "off", "quiet_from": "18:00", "quiet_until": "07:00", "digest_at": "09:00"
    },
    "POST admin/engine/bulkact/begin/": {"action": "suspend", "rows": "{instance_id}", "reason": "x"},
    "POST admin/engine/templateversion/gallery/": {"name": "help-desk"},
    "POST admin/engine/templateversion/import/": {"text": "workflow: other\nsteps: [{set: {a: 1}}]"},
    "POST admin/engine/retentionrule/add/": {"template": "{engine.template}", "completed_for": "1 year"},
    "POST admin/engine/schedule/add/": {
        "template": "{engine.template}", "cron": "0 9 * * *", "timezone": "UTC", "overlap": "skip", "catch_up": "last",
        "input": '{"amount": 3}',
    },
    "POST admin/accounts/token/add/": {"person": "{accounts.user}", "name": "nightly", "lives": "30"},
    "POST admin/accounts/user/add/": {"name": "nora", "level": "2"},
    "POST admin/accounts/role/add/": {"name": "legal"},
    "POST admin/accounts/tenant/add/": {"name": "initech"},
    "POST admin/engine/secret/add/": {"name": "other", "value": "hush-hush"},
    "POST admin/engine/businesscalendar/add/": {"name": "other", "mon": "9-17", "timezone": "UTC"},
    "POST admin/engine/templateversion/add/": {"source": "workflow: other\nsteps: [{set: {a: 1}}]"},
    "POST admin/engine/webhook/add/": {"url": "https://hooks.example.com/in", "events": "task.opened", "title": "x"},
    "POST admin/engine/rolechat/add/": {"role": "finance", "chat": "teams", "address": "https://hooks.example.com/in"},
    "POST admin/engine/rolechat/<object_id>/change/": {"address": "https://hooks.example.com/in"},
    "POST admin/accounts/user/<object_id>/change/": {"full_name": "Some Body", "level": "2"},
    "POST admin/accounts/role/<object_id>/change/": {"title": "Money"},
    "POST admin/accounts/tenant/<object_id>/change/": {"title": "Renamed"},
    "POST admin/engine/secret/<object_id>/change/": {"value": "hush-hush"},
    "POST admin/engine/businesscalendar/<object_id>/change/": {"mon": "9-17", "timezone": "UTC"},
    "POST admin/engine/retentionrule/<object_id>/change/": {"completed_for": "1 year"},
    "POST admin/engine/templateversion/<object_id>/change/": {"source": "workflow: {draft}\nsteps: [{set: {a: 1}}]"},
}  # fmt: skip
EVERY_BUTTON = {"answer": "x", "reason": "x"}
JSON_PAGES = ("look", "picture", "tests")
"""The editor's addresses take JSON, though they are pages of the admin."""

NAMES = {"templates": "template", "secrets": "secret", "calendars": "calendar", "people": "person", "roles": "role"}
ON_THE_DRAFT = ("PUT", "DELETE", "activate/")
ON_THE_INCIDENT = ("retry/", "skip/")


def values_of(rows: Rows | None, route: Route, method: str) -> dict[str, Any]:
    """Give every argument of a route its value among the rows of a tenant; without rows, values that nobody has."""
    known = _named(rows, route, method) if rows else _nobodys(route)
    return known | {"queue_index": 0, "job_id": JOB, "result_id": JOB, "url": "nowhere", "anywhere": "nowhere/"} | {
        "app_label": "engine", "number": 1,
    }  # fmt: skip


def _named(rows: Rows, route: Route, method: str) -> dict[str, Any]:
    known = {**rows.pk, **rows.named, "token": WRONG_LINK}
    address = route.address
    word = address.removeprefix(REST).partition("/")[0]
    known["name"] = "suspend" if "inbox/instances" in address else known[NAMES.get(word, "template")]
    if word == "templates" and (method in ON_THE_DRAFT or address.endswith(ON_THE_DRAFT)):
        known["name"] = known["draft"]
    if "instances/<instance_id>" in address and address.endswith(ON_THE_INCIDENT):
        known["instance_id"] = known["incident_id"]
    if address.startswith("admin/") and "<object_id>" in address:
        known["object_id"] = _row_of_page(rows, address)
    if address.startswith("admin/queues"):
        known["key"] = JOB
    return known | {"draft": rows.named["draft"]}


def _row_of_page(rows: Rows, address: str) -> Any:
    _, app, model, *rest = address.split("/")
    if model == "templateversion" and rest[-2] in ("change", "activate", "discard", "try"):
        return rows.pk["draft"]
    if model == "instance" and rest[-2] in ("retry", "skip"):
        return rows.pk["incident"]
    return rows.pk[f"{app}.{model}"]


def _nobodys(route: Route) -> dict[str, Any]:
    known = _Nobody()
    if route.address.startswith("admin/engine/audit/"):
        known["object_id"] = 999_999_999
    if route.address.startswith("admin/accounts/token/"):
        known["object_id"] = "f" * 128
    word = route.address.removeprefix(REST).partition("/")[0]
    known["name"] = "suspend" if "inbox/instances" in route.address else known[NAMES.get(word, "template")]
    return known


class _Nobody(dict[str, Any]):
    """Answer every name with something that nobody has."""

    named = {
        "template": "nobody-approval", "draft": "nobody-idea", "person": "nobody-level-2", "worker": "nobody-level-3",
        "secret": "nobody_key", "calendar": "nobody_office", "role": "nobody-role", "key": "nobody12", "uidb64": "bm9ib2R5",
        "token": WRONG_LINK,
    }  # fmt: skip

    def __missing__(self, name: str) -> Any:
        return self.named.get(name, NOBODYS)

    def __or__(self, more: dict[str, Any]) -> _Nobody:
        joined = _Nobody(self)
        joined.update(more)
        return joined


def body_of(route: Route, method: str, values: dict[str, Any]) -> tuple[Any, bool]:
    """Return what is sent, and whether as JSON."""
    if method not in ("POST", "PUT", "PATCH"):
        return None, False
    written = f"{method} {route.address}"
    if route.address.startswith(REST):
        return _filled(BODIES.get(written.replace(REST, "", 1), {}), values), True
    if route.address.startswith("admin/engine/templateversion/") and route.address.split("/")[3] in JSON_PAGES:
        return {"source": "workflow: x"}, True
    return _filled(FORMS.get(written, EVERY_BUTTON), values), False


def names_rows(route: Route, method: str) -> bool:
    """Return whether a request names rows at all, by its address or by what it sends."""
    written = f"{method} {route.address.removeprefix(REST)}"
    sent = str(BODIES.get(written) or FORMS.get(f"{method} {route.address}") or "")
    held = set(route.arguments) - {"queue_index", "job_id", "result_id", "url", "anywhere", "app_label"}
    if route.address.startswith("admin/queues"):
        return False
    return bool(held) or any("{" + name in sent for name in PLACES)


def named_values(route: Route, method: str, values: dict[str, Any]) -> set[str]:
    """List what a request names, to be left out of what it is answered."""
    sent = str(body_of(route, method, values)[0] or "")
    named = {str(values[name]) for name in (*route.arguments, *(place.removesuffix("}") for place in PLACES))}
    return {name for name in named if name in sent or name in route.filled(values)}


PLACES = (
    "template}", "draft}", "person}", "worker}", "free_task_id}", "instance_id}", "filter_id}", "engine.template}",
    "accounts.user}",
)  # fmt: skip


def _filled(sent: Any, values: dict[str, Any]) -> Any:
    if isinstance(sent, dict):
        return {name: _filled(value, values) for name, value in sent.items()}
    if isinstance(sent, list):
        return [_filled(value, values) for value in sent]
    return _text(sent, values) if isinstance(sent, str) else sent


def _text(sent: str, values: dict[str, Any]) -> str:
    for place in PLACES:
        if "{" + place in sent:
            sent = sent.replace("{" + place, str(values[place.removesuffix("}")]))
    return sent
