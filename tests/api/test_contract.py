"""Every method and route that the outside may rely on, written out by hand from the contract; `migrate` and retry with
`version` are for later.
"""

from __future__ import annotations

import re
from pathlib import Path

from engine.api.operations_table import OPERATIONS
from engine.api.request_bodies import (
    BulkBody,
    EventBody,
    InstanceSignalBody,
    RetryBody,
    SignalBody,
    SkipBody,
    StartBody,
)
from engine.services.webhooks.events import EVENTS

ROOT = Path(__file__).resolve().parent.parent.parent

CONTRACT = (
    "GET templates/",
    "POST templates/",
    "POST templates/validate/",
    "GET templates/{name}/",
    "GET templates/{name}/versions/{n}/",
    "PUT templates/{name}/versions/{n}/",
    "DELETE templates/{name}/versions/{n}/",
    "POST templates/{name}/versions/{n}/activate/",
    "POST templates/{name}/versions/{n}/pause/",
    "POST templates/{name}/versions/{n}/resume/",
    "POST templates/{name}/versions/{n}/archive/",
    "POST templates/{name}/versions/{n}/simulate/",
    "GET templates/{name}/versions/{n}/diagram.svg",
    "GET templates/{name}/versions/{n}/diff/",
    "GET templates/{name}/versions/{n}/export/",
    "POST instances/",
    "GET instances/",
    "GET instances/{id}/",
    "GET instances/{id}/history/",
    "GET instances/{id}/steps/",
    "GET instances/{id}/diagram.svg",
    "POST instances/{id}/signals/",
    "POST instances/{id}/cancel/",
    "POST instances/{id}/suspend/",
    "POST instances/{id}/resume/",
    "POST instances/{id}/retry/",
    "POST instances/{id}/skip/",
    "POST signals/",
    "POST events/",
    "GET tasks/",
    "GET tasks/{id}/",
    "POST tasks/{id}/claim/",
    "POST tasks/{id}/release/",
    "POST tasks/{id}/assign/",
    "POST tasks/{id}/delegate/",
    "POST tasks/{id}/ask/",
    "POST tasks/{id}/return/",
    "POST tasks/{id}/draft/",
    "POST tasks/{id}/complete/",
    "POST tasks/{id}/comment/",
    "POST tasks/{id}/suspend/",
    "POST tasks/{id}/resume/",
    "POST tasks/{id}/reopen/",
    "POST tasks/{id}/skip/",
    "POST tasks/{id}/redo/",
    "POST tasks/next/",
    "POST tasks/bulk/",
    "GET tasks/{id}/why/",
    "GET substitutions/",
    "POST substitutions/",
    "GET substitutions/{id}/",
    "PUT substitutions/{id}/",
    "DELETE substitutions/{id}/",
    "GET schedules/",
    "POST schedules/",
    "GET schedules/{id}/",
    "PUT schedules/{id}/",
    "DELETE schedules/{id}/",
    "GET schedules/{id}/preview/",
    "GET dead-letters/",
    "POST dead-letters/{id}/replay/",
    "POST dead-letters/{id}/discard/",
    "GET webhooks/",
    "POST webhooks/",
    "GET webhooks/{id}/",
    "PUT webhooks/{id}/",
    "DELETE webhooks/{id}/",
    "GET deliveries/",
    "GET audit/",
    "GET audit/verify/",
    "GET people/",
    "POST people/",
    "GET people/{name}/",
    "PUT people/{name}/",
    "GET roles/",
    "POST roles/",
    "GET roles/{name}/",
    "PUT roles/{name}/",
    "GET tokens/",
    "POST tokens/",
    "DELETE tokens/{key}/",
    "GET calendars/",
    "GET calendars/{name}/",
    "PUT calendars/{name}/",
    "GET secrets/",
    "GET secrets/{name}/",
    "PUT secrets/{name}/",
    "DELETE secrets/{name}/",
    "GET stats/",
    "GET stream/",
    "GET health/",
)

BODIES = {
    StartBody: {"template", "version", "input", "reference"},
    InstanceSignalBody: {"name", "payload", "id"},
    SignalBody: {"name", "key", "payload", "id", "ttl"},
    EventBody: {"name", "id", "payload", "key"},
    RetryBody: {"step", "input"},
    SkipBody: {"step", "output", "reason"},
    BulkBody: {"action", "ids"},
}


def short(route: str) -> str:
    """Write places as the contract does."""
    return re.sub(r"\{\w+_id\}", "{id}", route).replace("{number}", "{n}")


def test_every_promised_operation_is_there() -> None:
    there = {f"{method} {short(route)}" for method, route in OPERATIONS}
    assert set(CONTRACT) - there == set()


def test_every_operation_stands_in_the_guide() -> None:
    text = (ROOT / "docs/rest.md").read_text()
    missing = [
        (method, route)
        for method, route in OPERATIONS
        if not re.search(rf"{method} {re.escape(short(route))}[`?]", text)
    ]
    assert missing == []


def test_every_event_stands_in_the_guide() -> None:
    text = (ROOT / "docs/rest.md").read_text()
    assert [event for event in EVENTS if f"`{event}`" not in text] == []


def test_bodies_take_what_was_promised() -> None:
    assert {body.__name__: set(fields) - set(body().fields) for body, fields in BODIES.items()} == {
        body.__name__: set() for body in BODIES
    }
