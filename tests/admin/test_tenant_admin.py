"""The one TenantAdmin: every page derives from it, and no address tells about another tenant."""

import re
from typing import Any
from uuid import uuid4

import pytest
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group
from django.core.exceptions import ImproperlyConfigured
from django.db.models import Model
from django.test import Client, RequestFactory
from django.urls import reverse
from unfold.admin import ModelAdmin

from engine.admin.base import TenantAdmin
from engine.admin.permissions import RIGHTS
from engine.models import Audit, Instance, Task
from engine.services.people import accounts as people
from tests.admin.conftest import SignIn, label, words_of
from tests.cast import Cast
from workflowplatform.accounts.models import Role

PAGES = sorted(admin.site._registry, key=lambda model: model._meta.label_lower)


def test_what_cannot_be_undone_is_told_before_it_is_done() -> None:
    dangers = [
        (model, button) for model, page in admin.site._registry.items() for button in page.buttons if button.danger
    ]
    assert len(dangers) > 6
    assert [(model, button.name) for model, button in dangers if not button.preview] == []


def test_every_page_derives_from_tenant_admin() -> None:
    assert PAGES
    for model, page in admin.site._registry.items():
        assert isinstance(page, TenantAdmin), model


def test_every_page_has_its_row_in_the_table_of_levels() -> None:
    assert {label(model) for model in PAGES} == set(RIGHTS)


def test_a_page_of_ours_that_derives_from_something_else_is_refused() -> None:
    class Careless(ModelAdmin):
        __module__ = "engine.admin.careless"

    with pytest.raises(ImproperlyConfigured, match="Careless"):
        admin.site.register(Group, Careless)


def test_pages_of_other_apps_are_left_out() -> None:
    class Foreign(ModelAdmin):
        __module__ = "elsewhere.admin"

    admin.site.register(Group, Foreign)
    assert not admin.site.is_registered(Group)
    assert {model._meta.app_label for model in PAGES} == {"accounts", "engine"}


@pytest.mark.parametrize("model", PAGES, ids=label)
def test_own_rows_are_there(sign_in: SignIn, acmes: dict[str, Model], model: type[Model]) -> None:
    """The isolation matrix means something only if the same addresses answer those who may see."""
    browser = sign_in("zoe" if label(model) == "accounts.tenant" else "gwen")
    row = acmes[label(model)]
    name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
    for view in ("change", "history"):
        assert browser.get(reverse(f"{name}_{view}", args=[row.pk]), follow=True).status_code == 200


@pytest.mark.parametrize("model", [model for model in PAGES if label(model) != "accounts.tenant"], ids=label)
def test_lists_and_filters_show_nothing_of_another_tenant(
    sign_in: SignIn, acmes: dict[str, Model], model: type[Model]
) -> None:
    shown = words_of(sign_in("sam").get(reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")))
    for word in ("Acme", "Ada", "Gwen", "Expense", "EXP-1200", "acmes-", "Review the expense"):
        assert word not in shown
    for row in acmes.values():
        assert str(row.pk) not in shown or isinstance(row, Audit)


@pytest.mark.parametrize("name", ["gwen", "ada"])
@pytest.mark.parametrize(
    "query", ["password__startswith=pbkdf2", "session_epoch=0", "tenant__name=acme", "tasks__title=x"]
)
def test_addresses_filter_only_by_what_the_page_offers(sign_in: SignIn, name: str, query: str) -> None:
    assert sign_in(name).get(f"/admin/accounts/user/?{query}").status_code == 400


def test_foreign_keys_and_autocomplete_offer_the_own_tenants_rows(
    cast: Cast, sign_in: SignIn, rf: RequestFactory
) -> None:
    request = rf.get("/")
    request.actor = cast.actor("sam")  # type: ignore[attr-defined]
    page: Any = admin.site._registry[Task]
    offered = page.formfield_for_foreignkey(Task._meta.get_field("assignee"), request).queryset
    assert {person.username for person in offered} == {"sam", "stan"}
    asked = sign_in("sam").get("/admin/autocomplete/?app_label=engine&model_name=task&field_name=assignee&term=")
    assert {row["text"] for row in asked.json()["results"]} == {"Sam", "Stan"}


def test_strangers_sign_in_first() -> None:
    for address in ("/admin/", "/admin/accounts/user/", f"/admin/accounts/user/{uuid4()}/change/", "/admin/login/"):
        answer = Client().get(address)
        assert answer.status_code == 302
        assert answer.headers["Location"].startswith("/accounts/login/?next=/admin/")


def test_below_level_four_there_is_no_admin(cast: Cast, sign_in: SignIn) -> None:
    people.change_level(actor=None, person=cast.adam, level=3)
    for name in ("uri", "adam"):
        for address in ("/admin/", "/admin/accounts/user/", f"/admin/accounts/user/{cast.uri.pk}/change/"):
            assert sign_in(name).get(address).status_code == 403


@pytest.mark.parametrize("model", PAGES, ids=label)
def test_level_four_adds_nothing_but_own_tokens_and_schedules(sign_in: SignIn, model: type[Model]) -> None:
    answer = sign_in("ada").get(reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_add"))
    expected = {"accounts.token": 200, "engine.schedule": 200, "engine.template": 302}.get(label(model), 403)
    assert answer.status_code == expected


def test_content_policy_is_relaxed_in_the_admin_alone(sign_in: SignIn) -> None:
    browser = sign_in("gwen")
    admins = browser.get("/admin/").headers["Content-Security-Policy"]
    assert "style-src 'self' 'unsafe-inline'" in admins
    assert admins.count("unsafe") == 1
    assert "unsafe" not in Client().get("/accounts/login/").headers["Content-Security-Policy"]


def test_pages_name_no_other_host_and_hold_no_inline_script(sign_in: SignIn, acmes: dict[str, Model]) -> None:
    browser = sign_in("gwen")
    for model in PAGES:
        if label(model) != "accounts.tenant":
            name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
            for address in (reverse(f"{name}_changelist"), reverse(f"{name}_change", args=[acmes[label(model)].pk])):
                answer = browser.get(address, follow=True)
                assert answer.status_code == 200, address
                shown = words_of(answer)
                assert not re.search(r'(src|href)="(https?:)?//', shown), address
                assert not re.search(r"<script(?![^>]*\b(src|type=\"application/json\"))", shown), address


def test_djangos_own_log_stays_empty(cast: Cast, sign_in: SignIn) -> None:
    browser = sign_in("gwen")
    browser.post("/admin/accounts/role/add/", {"name": "legal"})
    browser.post("/admin/accounts/user/add/", {"name": "nina", "level": "2"})
    assert Role.objects.filter(name="legal").exists()
    assert not LogEntry.objects.exists()


def test_lists_ask_a_constant_number_of_questions(
    cast: Cast, sign_in: SignIn, case: Instance, django_assert_max_num_queries: Any
) -> None:
    browser = sign_in("gwen")
    for number in range(12):
        people.create_person(actor=None, tenant=cast.acme, name=f"p{number}", level=2, roles=["hr", "finance"])
    for address in ("user", "role"):
        with django_assert_max_num_queries(11):
            browser.get(f"/admin/accounts/{address}/")
    for address in ("instance", "task", "template", "audit", "bulkact"):
        with django_assert_max_num_queries(11):
            browser.get(f"/admin/engine/{address}/")
