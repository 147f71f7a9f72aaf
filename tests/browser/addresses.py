"""Every address of the product that holds an id or a name, read from its own table of routes.

A route added later is in the list by itself; one whose place nobody here can fill fails the test that asks.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from django.urls import URLPattern, URLResolver, get_resolver
from playwright.sync_api import Page

from tests.browser.pages import IDENTITY

PLACE = re.compile(r"<(?:\w+:)?(\w+)>")
ADMIN_LIST = re.compile(r"admin/(\w+/\w+)/<path:object_id>")
LEADING_NOWHERE = frozenset({"uidb64", "anywhere", "url", "app_label"})
"""Places of secrets sent by mail, and of routes that take whatever no other takes: no row is behind them."""
SECRET = re.compile(rb'name="csrfmiddlewaretoken" value="\w+"')
"""What differs between two answers to one question."""


@dataclass(frozen=True, slots=True)
class Ours:
    """What belongs to one tenant, as it is called in addresses."""

    name: str
    instance_id: str
    task_id: str
    rows: Mapping[str, str]
    """An id for each of the admin's lists, such as `engine/task`."""

    def address(self, route: str) -> str:
        """Fill in a route's places."""
        words = {"name": self.name, "instance_id": self.instance_id, "task_id": self.task_id, "number": "1"}
        if listed := ADMIN_LIST.match(route):
            words["object_id"] = self.rows[listed[1]]
        return "/" + PLACE.sub(lambda place: words[place[1]], route)

    def made_up(self) -> Ours:
        """Name what never was, in the same form."""
        rows = {model: "999999999" if row.isdigit() else str(uuid.uuid4()) for model, row in self.rows.items()}
        return Ours(f"{self.name}-nobody", str(uuid.uuid4()), str(uuid.uuid4()), rows)

    def misled(self, address: str) -> str:
        """Lead an address to what never was."""
        return IDENTITY.sub(str(uuid.uuid4()), address).replace(self.name, f"{self.name}-nobody")


def routes_with_places() -> list[str]:
    """List the routes that lead to one row by its id or name."""
    routes = _routes(get_resolver().url_patterns)
    return [route for route in routes if LEADING_NOWHERE.isdisjoint(PLACE.findall(route))]


def _routes(patterns: list[URLPattern | URLResolver], before: str = "") -> Iterator[str]:
    for pattern in patterns:
        route = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _routes(pattern.url_patterns, route)
        elif PLACE.search(route):
            yield route


def row_in_list(page: Page, model: str, holding: str = "") -> str | None:
    """Read an id from one of the admin's lists, as the page's person sees it."""
    page.goto(f"/admin/{model}/")
    link = page.get_by_role("row").filter(has_text=holding).locator("a[href*='/change/']").first
    return link.get_attribute("href").split("/")[-3] if link.count() else None


def methods_at(address: str) -> tuple[str, ...]:
    """Say by which methods to try an address: forms know two."""
    return ("GET", "POST", "PUT", "DELETE") if address.startswith("/api/") else ("GET", "POST")


def answer_at(page: Page, method: str, address: str) -> tuple[int, bytes]:
    """Ask with the session of the page's person: the status, and the body without what repeats the question."""
    token = next((cookie["value"] for cookie in page.context.cookies() if cookie["name"] == "csrftoken"), "")
    body = {} if address.startswith("/api/") and method != "GET" else None
    answer = page.context.request.fetch(address, method=method, data=body, headers={"X-CSRFToken": token})
    said = answer.body()
    for word in address.strip("/").split("/"):
        said = said.replace(word.encode(), b"")
    return answer.status, SECRET.sub(b"", said)
