"""Filters in addresses: a list takes the exact values of the filters it shows, and nothing else.

Django hands whatever an address says to the database. A lookup such as `roles__people__password__startswith` turns a
list into an oracle that reads a password's hash one character at a time. The walk asks every list for everything that its
model's fields and relations could be asked.
"""

import os
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from django.contrib import admin
from django.db.models import Model
from django.test import Client
from django.urls import reverse

from engine.models import Audit
from tests.admin.conftest import SignIn, label
from tests.cast import Cast

PAGES = sorted(admin.site._registry, key=label)
WAYS = (
    "startswith", "istartswith", "endswith", "contains", "icontains", "iexact", "regex", "iregex", "gt", "gte", "lt", "lte",
    "in", "range", "isnull", "year", "year__gte", "date", "month", "has_key", "length__gt", "exact__startswith",
)  # fmt: skip
DEPTH = 3
"""How many relations a path of the walk follows; a password is two away from most lists."""


def address_of(model: type[Model]) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")


def paths(model: type[Model], depth: int = DEPTH, before: str = "", seen: tuple[Any, ...] = ()) -> Iterator[str]:
    """List what a lookup can name, over relations in both directions; a path enters no model twice."""
    for field in model._meta.get_fields():
        name: str = field.name
        yield before + name
        other = field.related_model if field.is_relation else None
        if isinstance(other, type) and depth and other not in seen:
            yield from paths(other, depth - 1, f"{before}{name}__", (*seen, other))


def offered(model: type[Model]) -> set[str]:
    """List the parameters with which a list's own filters are set, written down anew from what it declares."""
    names: set[str] = set()
    for entry in admin.site._registry[model].list_filter:
        if not isinstance(entry, str):
            names.add(entry.parameter_name)  # type: ignore[union-attr]
            continue
        field: Any = model
        for part in entry.split("__"):
            field = (field if isinstance(field, type) else field.related_model)._meta.get_field(part)
        names |= {entry, f"{entry}__exact"}
        if field.is_relation:
            names.add(f"{entry}__id__exact")
        if field.null or field.many_to_many:
            names.add(f"{entry}__isnull")
    return names


def corpus(model: type[Model]) -> list[str]:
    """List every lookup that nobody offered."""
    asked = [name for path in paths(model) for name in (path, f"{path}__exact", *(f"{path}__{way}" for way in WAYS))]
    return sorted(set(asked) - offered(model))


def refused(browser: Client, address: str) -> bool:
    """Ask a list; it refuses like it refuses a word that means nothing."""
    answer = browser.get(address)
    assert answer.status_code in (200, 302, 400, 403), address
    return answer.status_code == 400 or (answer.status_code == 302 and answer["Location"].endswith("?e=1"))


@pytest.mark.parametrize("name", ["ada", "gwen", "zoe"])
def test_no_list_reads_a_password_letter_by_letter(cast: Cast, sign_in: SignIn, name: str) -> None:
    browser = sign_in(name)
    answers: dict[str, int] = {}
    for model in PAGES:
        secret = [path for path in paths(model) if path.split("__")[-1] == "password"]
        near = tuple(name for name in admin.site._registry[model].list_filter if isinstance(name, str))
        for path in sorted(secret, key=lambda path: (not path.startswith(near), len(path)))[:40]:
            address = f"{address_of(model)}?{path}__startswith=p"
            answers[address] = browser.get(address).status_code
    assert len(answers) > 50
    assert {address: status for address, status in answers.items() if status not in (400, 403)} == {}
    assert 400 in answers.values()


@pytest.mark.slow
def test_the_rule_knows_no_lookup_but_the_offered_ones(rf: Any, cast: Cast) -> None:
    """The whole corpus, asked of the rule itself: too many for requests."""
    asked = 0
    for model in PAGES:
        page = admin.site._registry[model]
        passed = [name for name in corpus(model) if page.lookup_allowed(name, "1", rf.get("/"))]
        assert passed == [], model
        asked += len(corpus(model))
    assert asked > 10_000


@pytest.mark.parametrize("name", ["gwen", *(pytest.param(name, marks=pytest.mark.slow) for name in ("ada", "zoe"))])
def test_every_list_refuses_what_it_does_not_offer(
    sign_in: SignIn, acmes: dict[str, Model], cast: Cast, name: str
) -> None:
    browser = sign_in(name)
    if name == "zoe":
        browser.post(reverse("admin:accounts_tenant_enter", args=[cast.acme.pk]))
    many = 25 if os.environ.get("WORKFLOW_TEST_ALL") else 5
    for model in PAGES:
        base = address_of(model)
        if browser.get(base).status_code == 403:
            continue
        lookups = [
            *corpus(model)[:: max(1, len(corpus(model)) // many)],
            "nonsense",
            "nonsense__startswith",
            "__",
            "o__gt",
        ]
        lookups += [f"{entry}__{way}" for entry in offered(model) for way in ("startswith", "regex", "in", "id__gt")]
        assert [lookup for lookup in lookups if not refused(browser, f"{base}?{lookup}=1")] == [], model


OTHER_VALUES = ("9" * 40, "", "1", "running", "ümlaut", "[]", "True", "Infinity", "a,b", "'")


@pytest.mark.parametrize("value", ["\x00", *(pytest.param(one, marks=pytest.mark.slow) for one in OTHER_VALUES)])
def test_any_value_of_an_offered_filter_is_answered(sign_in: SignIn, acmes: dict[str, Model], value: str) -> None:
    browser = sign_in("gwen")
    for model in PAGES:
        for name in offered(model):
            refused(browser, f"{address_of(model)}?{name}={quote(value)}")
            refused(browser, f"{address_of(model)}?{name}={quote(value)}&{name}=1&_facets=True")


@pytest.mark.slow
def test_offered_filters_orders_and_searches_answer(sign_in: SignIn, acmes: dict[str, Any]) -> None:
    browser = sign_in("gwen")
    task, ada = acmes["engine.task"], acmes["accounts.user"]
    assert b"Review the expense" in browser.get("/admin/engine/task/?status__exact=open").content
    assert b"Review the expense" in browser.get("/admin/engine/task/?assignee__isnull=True").content
    assert b"Review the expense" not in browser.get("/admin/engine/task/?status__exact=completed").content
    role = task.instance.tenant.roles.get(name="finance").pk
    shown = browser.get(f"/admin/accounts/user/?roles__id__exact={role}").content
    assert ada.username.encode() in shown
    assert b"uri@" not in shown
    for model in PAGES:
        page, base = admin.site._registry[model], address_of(model)
        if browser.get(base).status_code == 403:
            continue
        columns = range(len(page.list_display) + 2)
        queries = [f"o={sign}{column}" for column in columns for sign in ("", "-")] + [
            "o=password",
            "o=x.-1",
            "q=ada",
            "p=1",
        ]
        assert [query for query in queries if browser.get(f"{base}?{query}").status_code != 200] == [], model


def test_an_export_refuses_what_its_list_refuses(
    sign_in: SignIn, acmes: dict[str, Model], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admin.site._registry[Audit], "list_per_page", 2)
    browser = sign_in("gwen")
    for query in ("actor__password__startswith=p", "tenant__people__password__regex=p", "nonsense=1"):
        assert browser.get(f"/admin/engine/audit/export/?{query}").status_code == 400
    assert browser.get("/admin/engine/audit/export/?p=999").status_code == 400
