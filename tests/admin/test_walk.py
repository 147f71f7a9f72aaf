"""A walk over every address of the admin by the god of another tenant: what is ours changes nothing for them.

The addresses come from the resolver; filters, searches, choices and exports from what each page declares. The strongest question
is asked first: does any page read differently once our rows exist?
"""

import re
from collections.abc import Iterator
from html import unescape
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import pytest
from django.contrib import admin
from django.db.models import ForeignKey, Model
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from engine.admin.base import TenantAdmin
from engine.admin.permissions import NOBODY, RIGHTS
from engine.models import Audit, Instance, TemplateVersion
from engine.services.people import accounts as people
from tests.admin.conftest import SignIn, label, words_of
from tests.cast import Cast

OURS_ONLY = ("acmes-", "acmes_", "EXP-1200", "Expense approval", "Review the expense")
LEAVES = frozenset({"admin:logout", "admin:jsi18n", "admin:login", "admin:password_change"})
"""Addresses that are no pages, or lead out of the admin."""
ARGUMENT = re.compile(r"<(?:\w+:)?(\w+)>|\(\?P<(\w+)>[^)]*\)")


def routes(patterns: Any = None, before: str = "", inside: bool = False) -> Iterator[tuple[str, str]]:
    """List every address under admin/ as (route, name)."""
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        route = before + str(pattern.pattern).removeprefix("^").removesuffix("$").removesuffix(r"\Z")
        if isinstance(pattern, URLResolver) and (inside or route.startswith("admin/")):
            yield from routes(pattern.url_patterns, route, True)
        elif isinstance(pattern, URLPattern) and inside:
            yield route, f"admin:{pattern.name}"


ROUTES = [(route, name) for route, name in routes() if name not in LEAVES and "(?P<url>" not in route]
PLAIN = sorted({f"/{route}" for route, _ in ROUTES if not ARGUMENT.search(route) and "(" not in route})
OF_ROWS = sorted({(f"/{route}", name) for route, name in ROUTES if ARGUMENT.search(route)})
PAGES = sorted(admin.site._registry, key=label)


def declared(model: type[Model]) -> Iterator[str]:
    """List the addresses that follow from what a page declares: filters, searches, orders, choices, exports."""
    page: Any = admin.site._registry[model]
    base = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
    for entry in page.list_filter:
        named = entry[0] if isinstance(entry, tuple) else entry
        name = getattr(named, "parameter_name", None) or f"{named}__exact"
        for value in ("running", "task", "instance", "people", "active", "1", str(uuid4())):
            yield f"{base}?{name}={value}"
    if page.search_fields:
        yield from (f"{base}?q={quote(word)}" for word in ("EXP-1200", "acmes", "ada", "band=high", "Expense"))
    yield from (f"{base}?o={number}" for number in range(1, len(page.list_display) + 1))
    yield from (f"{base}{more}" for more in ("?all=", "?p=1", "?e=1", "?_facets=True"))
    for field in model._meta.fields:
        if isinstance(field, ForeignKey):
            asked = f"app_label={model._meta.app_label}&model_name={model._meta.model_name}&field_name={field.name}"
            yield from (f"/admin/autocomplete/?{asked}&term={term}" for term in ("", "ada", "exp"))
    if model is Audit:
        yield from (f"{base}export/?format={form}&q=ada" for form in ("csv", "json"))


def read(browser: Client, address: str) -> tuple[int, str]:
    """Reduce an answer to what a person could tell it by."""
    answer: Any = browser.get(address)
    content = b"".join(answer.streaming_content).decode() if answer.streaming else words_of(answer)
    content = re.sub(r'value="[A-Za-z0-9]{64}"', "", content)
    content = re.sub(r'name="key" value="[^"]*"', "", content)
    content = re.sub(r"#signed.*", "", content)  # an export says when it was signed
    return answer.status_code, content


def test_every_page_keeps_tenants_apart() -> None:
    assert len(PLAIN) > 40
    assert len(OF_ROWS) > 40
    for model, page in admin.site._registry.items():
        assert isinstance(page, TenantAdmin), model


@pytest.mark.parametrize("every", [7, pytest.param(1, marks=pytest.mark.slow)])
def test_no_page_reads_differently_to_another_tenant_once_our_rows_exist(
    cast: Cast, sign_in: SignIn, request: pytest.FixtureRequest, every: int
) -> None:
    browser = sign_in("sam")
    addresses = [*PLAIN, *(address for model in PAGES for address in declared(model))][::every]
    before = {address: read(browser, address) for address in addresses}
    rows: dict[str, Model] = request.getfixturevalue("acmes")
    after = {address: read(browser, address) for address in addresses}
    assert [address for address in addresses if before[address] != after[address]] == []
    told = {
        address: content for address, (_, content) in after.items() if "q=" not in address and "gallery" not in address
    }
    shown = [address for address, content in told.items() for word in OURS_ONLY if word in content]
    assert shown == []
    assert {status for status, _ in after.values()} <= {200, 302, 400, 403, 404, 405}
    keys = {str(row.pk) for row in rows.values() if not isinstance(row, Audit)}
    assert not [address for address, (_, content) in after.items() if any(key in content for key in keys)]


def offered(browser: Client, model: type[Model]) -> set[str]:
    """List the addresses that a list offers to who sees its rows: every value of every filter, every order and page."""
    base = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
    shown = read(browser, f"{base}?_facets=True")[1]
    return {base + unescape(query) for query in re.findall(r'href="(\?[^"]+)"', shown)}


@pytest.mark.parametrize("values", ["one of each", pytest.param("all", marks=pytest.mark.slow)])
def test_filters_by_our_rows_answer_another_tenant_like_filters_by_made_up_ones(
    sign_in: SignIn, acmes: dict[str, Model], values: str
) -> None:
    ours, theirs = sign_in("gwen"), sign_in("sam")
    keys = {str(row.pk) for row in acmes.values() if not isinstance(row, Audit)}
    addresses = sorted(address for model in PAGES for address in offered(ours, model))
    if values == "one of each":
        addresses = list({kind_of(address, keys): address for address in addresses}.values())
    tried = []
    for address in addresses:
        answer = read(theirs, address)
        assert [word for word in OURS_ONLY if word in answer[1]] == [], address
        for key in (key for key in keys if key in address):
            nothing = str(uuid4())
            made_up = read(theirs, address.replace(key, nothing))
            told = [content.replace(key, "KEY").replace(nothing, "KEY") for _, content in (answer, made_up)]
            assert (answer[0], told[0]) == (made_up[0], told[1]), address
            assert read(ours, address) != read(ours, address.replace(key, nothing)), address
            tried.append(address)
    assert {address.split("/")[3] for address in tried} >= {"task", "token", "user"}


def kind_of(address: str, keys: set[str]) -> tuple[str, bool]:
    """Key a filter by its name and by whether they name a row of ours, not by their values."""
    return re.sub(r"=[^&]*", "", address), any(key in address for key in keys)


def filled(route: str, key: object) -> str:
    return ARGUMENT.sub(str(key), route)


def test_the_walk_finds_what_is_there_for_those_who_may_see(sign_in: SignIn, acmes: dict[str, Model]) -> None:
    """Without this the walks above could pass on a site that shows nothing to anybody."""
    browser = sign_in("gwen")
    shown = "".join(read(browser, address)[1] for address in PLAIN if address.endswith("/") and "/engine/" in address)
    for word in ("acmes_key", "EXP-1200", "Expense approval", "Review the expense", "acmes_office", "acmes-reason"):
        assert word in shown


def test_level_three_comes_through_no_door_of_the_admin(cast: Cast, sign_in: SignIn, acmes: dict[str, Model]) -> None:
    people.change_level(actor=None, person=cast.adam, level=3)
    browser = sign_in("adam")
    through = [address for address in PLAIN if browser.get(address).status_code not in (302, 403, 404, 405)]
    assert through == []
    key = acmes["engine.instance"].pk
    for route, _ in OF_ROWS:
        for method in ("get", "post"):
            assert getattr(browser, method)(filled(route, key if "<int:" not in route else 0)).status_code in (
                403,
                404,
                405,
            ), route


@pytest.mark.parametrize("name", ["ada", "gwen"])
def test_the_table_of_levels_is_what_the_pages_do(
    cast: Cast, sign_in: SignIn, acmes: dict[str, Model], name: str
) -> None:
    browser, level = sign_in(name), cast.actor(name).level
    for model in PAGES:
        rights, base = RIGHTS[label(model)], f"admin:{model._meta.app_label}_{model._meta.model_name}"
        key = acmes[label(model)].pk
        seen = browser.get(reverse(f"{base}_changelist")).status_code
        assert seen == (200 if level >= rights.view else 403), model
        added = browser.post(reverse(f"{base}_add"), {}).status_code
        assert (added != 403) == (level >= rights.add) or added == 302, model
        changed = browser.post(reverse(f"{base}_change", args=[key]), {}).status_code
        assert (changed in (302, 403, 404)) if level < rights.change else changed in (200, 302), model
        deleted = browser.post(reverse(f"{base}_delete", args=[key]), {"post": "yes"}).status_code
        assert deleted in (403, 404), model
        assert rights.delete == NOBODY


def test_level_four_operates_but_does_not_author(sign_in: SignIn, acmes: dict[str, Model]) -> None:
    browser = sign_in("ada")
    version: Any = acmes["engine.templateversion"]
    page: Any = admin.site._registry[TemplateVersion]
    for button in page.buttons:
        browser.post(reverse(f"admin:engine_templateversion_{button.name}", args=[version.pk]), {"answer": "x"})
    version.refresh_from_db()
    assert version.status == "active"
    assert TemplateVersion.objects.count() == 1
    instance: Any = acmes["engine.instance"]
    browser.post(reverse("admin:engine_instance_suspend", args=[instance.pk]), {"answer": "x"})
    assert Instance.objects.get(pk=instance.pk).status == "suspended"


def test_level_six_chooses_a_tenant_and_that_is_on_record(cast: Cast, sign_in: SignIn, acmes: dict[str, Model]) -> None:
    browser = sign_in("zoe")
    assert "EXP-1200" not in read(browser, "/admin/engine/instance/")[1]
    browser.post(reverse("admin:accounts_tenant_enter", args=[cast.acme.pk]))
    assert "EXP-1200" in read(browser, "/admin/engine/instance/")[1]
    assert "Acme" in read(browser, "/admin/")[1]
    entered = Audit.objects.get(subject_id=cast.acme.pk, action="enter_tenant")
    assert (entered.actor_name, entered.actor_level) == ("zoe", 6)
    assert sign_in("sam").post(reverse("admin:accounts_tenant_enter", args=[cast.acme.pk])).status_code in (403, 404)
