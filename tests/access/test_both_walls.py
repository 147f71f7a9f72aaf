"""Both walls between tenants, each alone: the filters of access without row-level security, and row-level security without them.

Globex's people ask for everything under every address, with the ids and names of Acme. Whichever wall is left, no answer
holds anything of Acme's and no row of Acme's changes. With both walls away the same questions do find Acme: so each was tried.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from typing import Any

import pytest
from django.contrib import admin
from django.db import connection
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from engine.services.people.accounts import create_person
from engine.services.people.tokens import create_token
from tests.api.conftest import Caller
from tests.api.scene import Scene, set_whole_scene
from tests.application import as_application
from tests.cast import Cast, committed_cast  # noqa: F401  the fixture
from tests.without_filters import without_filters
from workflowplatform.database.row_security import TABLES, rule_of

UUID_TEXT = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
OWN_WORDS = ("hush", "gwen@acme", "ada@acme", "APP-12", "hooks.example.com")
"""Texts that only Acme's rows contain."""
LEFT_OUT = re.compile(
    r"^(api/v1/(stream|schema|docs|health)/|admin/(jsi18n|logout|password_change|autocomplete|r/))|anywhere"
)
"""Addresses that show no rows, or never end."""
BODY = {
    "reason": "x",
    "note": "x",
    "outcome": "approve",
    "values": {"note": "x"},
    "to": "sam",
    "text": "x",
    "name": "x",
}


# The walls

WALLS: dict[str, tuple[Callable[[], AbstractContextManager[None]], ...]] = {
    "filters alone": (),
    "row-level security alone": (as_application, without_filters),
    "none": (without_filters,),
}


# Addresses, with the ids and names of Acme


def addresses(names: dict[str, str]) -> Iterator[str]:
    """Write every address of the REST interface, the inbox and the admin."""
    for prefix in ("api/v1/", "inbox/", "admin/"):
        for pattern in _patterns(get_resolver().url_patterns, ""):
            if pattern.startswith(prefix) and not LEFT_OUT.search(pattern):
                yield "/" + re.sub(r"<(?:\w+:)?(\w+)>", partial(_value, names, pattern), pattern)


def _patterns(entries: list[Any], before: str) -> Iterator[str]:
    for entry in entries:
        here = before + str(entry.pattern).removeprefix("^")
        if isinstance(entry, URLResolver):
            yield from _patterns(entry.url_patterns, here)
        elif isinstance(entry, URLPattern):
            yield here


def _value(names: dict[str, str], pattern: str, parameter: re.Match[str]) -> str:
    """Choose the value of an address's parameter: by the folder before it, else by its name."""
    folder = next((word for word in reversed(pattern.partition("<")[0].split("/")) if word), "")
    return names.get(f"{folder}/{parameter[1]}") or names.get(parameter[1]) or names["task_id"]


def acmes(cast: Cast, scene: Scene) -> dict[str, str]:
    token = create_token(actor=None, person=cast.ada, name="mine")[0]
    found = {
        "instance_id": scene.instance, "task_id": scene.task, "schedule_id": scene.schedule, "letter_id": scene.letter,
        "webhook_id": scene.webhook, "delivery_id": scene.delivery, "templates/name": "approval", "secrets/name": "api_key",
        "calendars/name": "office", "people/name": "ada", "roles/name": "finance", "start/name": "approval", "number": "1",
        "key": token.token_key, "name": "cancel", "app_label": "engine",
    }  # fmt: skip
    for model in admin.site._registry:
        row = model._default_manager.filter(tenant_id=cast.acme.pk).first() if _has_tenant(model) else cast.acme
        if row is not None:
            found[f"{model._meta.model_name}/object_id"] = str(row.pk)
    return found


def _has_tenant(model: Any) -> bool:
    return any(field.name == "tenant" for field in model._meta.fields)


# What Acme has


def rows_of(cast: Cast) -> dict[str, Any]:
    """Return a checksum of Acme's rows in every table that has a wall."""
    with connection.cursor() as cursor:
        cursor.execute(TABLES)
        tables = [name for name, _, has_tenant in cursor.fetchall() if has_tenant and rule_of(name, has_tenant)]
        union = " UNION ALL ".join(
            f"SELECT '{table}', md5(coalesce(string_agg(t::text, '|' ORDER BY t::text), '')) FROM {table} t"
            f" WHERE tenant_id = '{cast.acme.pk}'"
            for table in tables
        )
        cursor.execute(union)
        return dict(cursor.fetchall())


def ids_of(cast: Cast) -> set[str]:
    """Return every id that only Acme's rows contain."""
    with connection.cursor() as cursor:
        cursor.execute(TABLES)
        tables = [name for name, _, has_tenant in cursor.fetchall() if has_tenant]
        ids: dict[bool, set[str]] = {True: set(), False: set()}
        for table in tables:
            cursor.execute(f"SELECT tenant_id, t::text FROM {table} t")
            for tenant_id, text in cursor.fetchall():
                ids[tenant_id == cast.acme.pk].update(UUID_TEXT.findall(text))
    return ids[True] - ids[False]


class Asking:
    """Globex's people, who ask for what is Acme's."""

    def __init__(self, cast: Cast) -> None:
        scene = set_whole_scene(cast)
        create_person(actor=None, tenant=cast.globex, name="gus", level=2, roles=["finance"])
        people = {person.username: person for person in type(cast.sam).objects.filter(tenant=cast.globex)}
        self.names = acmes(cast, scene)
        self.ids = ids_of(cast)
        self.callers = {name: Caller(create_token(actor=None, person=people[name])[1]) for name in people}
        self.browsers = {name: Client(raise_request_exception=False) for name in people}
        for name, browser in self.browsers.items():
            browser.force_login(people[name], backend="django.contrib.auth.backends.ModelBackend")

    def ask(self, method: str, who: str, address: str) -> tuple[int, set[str]]:
        """Ask, and answer the status and what of Acme's was told that was not in the question."""
        if address.startswith("/api/"):
            answer = self.callers[who](method, address, BODY if method == "POST" else None)
        else:
            answer = self.browsers[who].generic(method, address, **({"data": "x=x"} if method == "POST" else {}))
        body = b"".join(answer.streaming_content) if answer.streaming else answer.content
        text = body.decode("utf-8", "replace").replace(address, "")
        told = self.ids.intersection(UUID_TEXT.findall(text)) | {word for word in OWN_WORDS if word in text}
        return answer.status_code, told - set(UUID_TEXT.findall(address))


ASKED = {"short": (("GET", "sam"),), "whole": (("GET", "sam"), ("GET", "gus"), ("POST", "sam"), ("POST", "gus"))}


@pytest.mark.security("each wall between tenants holds alone")
@pytest.mark.parametrize("walls", ["filters alone", "row-level security alone"])
@pytest.mark.parametrize("form", ["short", pytest.param("whole", marks=pytest.mark.slow)])
def test_one_wall_is_enough(
    walls: str,
    form: str,
    committed_cast: Cast,  # noqa: F811
    record_property: Callable[[str, Any], None],
) -> None:
    asking = Asking(committed_cast)
    before = rows_of(committed_cast)
    asked, found = 0, []
    with ExitStack() as standing:
        for wall in WALLS[walls]:
            standing.enter_context(wall())
        for address in addresses(asking.names):
            for method, who in ASKED[form]:
                status, told = asking.ask(method, who, address)
                asked += 1
                if told or status >= 500:
                    found.append((method, who, address, status, sorted(told)[:3]))
    record_property("figure", f"{walls}: {asked} requests, {len(found)} that told or broke anything")
    assert found == []
    assert rows_of(committed_cast) == before
    assert asked > 150


@pytest.mark.security("each wall between tenants holds alone")
def test_without_both_walls_the_same_questions_find_acme(committed_cast: Cast) -> None:  # noqa: F811
    asking = Asking(committed_cast)
    with without_filters():
        leaking = [address for address in [*addresses(asking.names)][::3] if asking.ask("GET", "sam", address)[1]]
    assert len(leaking) > 10
    assert {address.split("/")[1] for address in leaking} == {"api", "inbox", "admin"}
