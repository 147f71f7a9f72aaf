"""Every address of the product that leads to a case by an id or a name, read from its own table of routes.

A route added later is in the list by itself. Places that a case does not fill are named here; a new one fails
test_addresses.py until it is listed.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

from django.urls import URLPattern, URLResolver, get_resolver
from playwright.sync_api import Page

from tests.browser.pages import IDENTITY

PLACE = re.compile(r"<(?:\w+:)?(\w+)>")
ADMIN = re.compile(r"admin/(\w+)/(\w+)/")
PLACES_OF_A_CASE = frozenset({"name", "number", "instance_id", "task_id", "object_id"})
OTHER_PLACES = frozenset(
    {
        "uidb64",
        "token",
        "anywhere",
        "url",
        "app_label",
        "schedule_id",
        "letter_id",
        "attachment_id",
        "filter_id",
        "absence_id",
        "batch_id",
        "report_id",
        "question_id",
        "file_id",
        "draft_file_id",
        "key",
        "webhook_id",
        "delivery_id",
        "act_id",
        "job_id",
        "queue_index",
        "result_id",
    }
)
"""Secrets sent by mail, routes that take whatever no other takes, rows that a case does not have, and RQ's own."""
ADMIN_LISTS_OF_A_CASE = frozenset({"template", "templateversion", "instance", "task"})
OTHER_ADMIN_LISTS = frozenset(
    {
        "audit",
        "bulkact",
        "businesscalendar",
        "deadletter",
        "queues",
        "notification",
        "retentionrule",
        "role",
        "rolechat",
        "schedule",
        "secret",
        "signal",
        "tenant",
        "token",
        "user",
        "webhook",
        "webhookdelivery",
        "workers",
    }
)
"""tests/admin tries the rows of every list."""
OTHER_NAMES = ("api/v1/secrets/", "api/v1/calendars/", "api/v1/people/", "api/v1/roles/")
"""Routes whose name is not a template's."""
BODIES = {
    "signals": {"name": "knock"},
    "skip": {"step": "check", "reason": "not needed"},
    "cancel": {"reason": "not needed"},
    "comment": {"text": "Look twice"},
    "1": {"source": "workflow: mine"},
}
"""What REST wants to hear at addresses that end so; elsewhere it wants nothing. A malformed one would be refused first."""
BODIES_OF_TASKS = {
    "ask": {"user": "sam", "question": "Which one?"},
    "assign": {"user": "sam"},
    "comment": {"text": "Look twice"},
    "delegate": {"user": "sam"},
    "skip": {"reason": "not needed"},
    "snooze": {"until": "2999-01-07T09:00:00Z"},
    "tick": {"point": "point_1"},
}
SECRET = re.compile(rb'name="csrfmiddlewaretoken" value="\w+"')
"""What differs between two answers to one question."""


@dataclass(frozen=True, slots=True)
class Case:
    """What one case is called in addresses."""

    name: str
    template: str
    templateversion: str
    instance: str
    task: str

    def address(self, route: str) -> str:
        """Fill in a route's places."""
        words = {"name": self.name, "number": "1", "instance_id": self.instance, "task_id": self.task}
        if listed := ADMIN.match(route):
            words["object_id"] = getattr(self, listed[2])
        return "/" + PLACE.sub(lambda place: words[place[1]], route)

    def made_up(self, address: str) -> str:
        """Lead an address to what never was."""
        return IDENTITY.sub(str(uuid.uuid4()), address).replace(self.name, f"{self.name}-nobody")


def routes_to_cases() -> list[str]:
    """List the routes that lead to a template, a version, an instance or a task by its id or name."""
    return [route for route in routes_with_places() if _leads_to_a_case(route)]


def _leads_to_a_case(route: str) -> bool:
    listed = ADMIN.match(route)
    elsewhere = route.startswith(OTHER_NAMES) or (listed and listed[2] not in ADMIN_LISTS_OF_A_CASE)
    return not elsewhere and PLACES_OF_A_CASE.issuperset(PLACE.findall(route))


def routes_with_places() -> list[str]:
    """List all routes that have a place to fill."""
    return [route for route in routes_of("") if PLACE.search(route)]


def routes_of(*rooms: str) -> list[str]:
    """List all routes that begin so."""
    return [route for route in _routes(get_resolver().url_patterns) if route.startswith(rooms)]


def _routes(patterns: list[URLPattern | URLResolver], before: str = "") -> Iterator[str]:
    for pattern in patterns:
        route = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _routes(pattern.url_patterns, route)
        else:
            yield route


def answers_at(page: Page, address: str) -> dict[str, tuple[int, bytes]]:
    """Ask an address by every method it may know, with the session of the page's person."""
    methods = ("GET", "POST", "PUT", "DELETE") if re.search(r"/versions/\d+/$", address) else ("GET", "POST")
    return {method: _answer(page, method, address) for method in methods}


def _answer(page: Page, method: str, address: str) -> tuple[int, bytes]:
    """Return the status, and the body without what repeats the question."""
    token = next((cookie["value"] for cookie in page.context.cookies() if cookie["name"] == "csrftoken"), "")
    last = address.strip("/").split("/")[-1]
    bodies = BODIES_OF_TASKS if "/tasks/" in address else BODIES
    body = bodies.get(last, {}) if address.startswith("/api/") and method in ("POST", "PUT") else None
    answer = page.context.request.fetch(address, method=method, data=body, headers={"X-CSRFToken": token})
    said = answer.body()
    for word in address.strip("/").split("/"):
        said = said.replace(word.encode(), b"")
    return answer.status, SECRET.sub(b"", said)
