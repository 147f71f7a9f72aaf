"""A walk over every address of the admin by the god of another tenant: what is ours changes nothing for them.

The addresses come from the resolver; filters, searches, choices and exports from what each page declares. The strongest question
is asked first: does any page read differently once our rows exist?
"""

import re
from collections.abc import Iterator
from typing import Any

from django.contrib import admin
from django.db.models import Model
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from engine.admin.base import TenantAdmin
from engine.models import Audit, Instance, TemplateVersion
from engine.services import people
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


def read(browser: Client, address: str) -> tuple[int, str]:
    """Reduce an answer to what a person could tell it by."""
    answer: Any = browser.get(address)
    content = b"".join(answer.streaming_content).decode() if answer.streaming else words_of(answer)
    content = re.sub(r'value="[A-Za-z0-9]{64}"', "", content)
    content = re.sub(r'name="key" value="[^"]*"', "", content)
    return answer.status_code, content


def test_every_page_keeps_tenants_apart() -> None:
    assert len(PLAIN) > 40
    assert len(OF_ROWS) > 40
    for model, page in admin.site._registry.items():
        assert isinstance(page, TenantAdmin), model


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
    assert "Visiting Acme" in read(browser, "/admin/")[1]
    entered = Audit.objects.get(subject_id=cast.acme.pk, action="enter_tenant")
    assert (entered.actor_name, entered.actor_level) == ("zoe", 6)
    assert sign_in("sam").post(reverse("admin:accounts_tenant_enter", args=[cast.acme.pk])).status_code in (403, 404)
