"""Requests that the admin's lists do not offer: choices, orders, histories, popups, selected rows, ways back.

Exact lookups are tested in test_filters. Each of these requests answers with what the list shows to this person, or is
refused, and none of them breaks.
"""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import pytest
from django.contrib import admin
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db import connection
from django.db.models import ForeignKey, ManyToManyField, Model
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from engine.models import Audit, JournalRow, Secret, Template
from engine.services.people.tenants_and_roles import create_role
from engine.services.tenants import settings as tenant_settings
from tests.admin.conftest import SignIn, label, words_of
from tests.cast import Cast
from tests.hooks import codes

PAGES = sorted(admin.site._registry, key=label)
NUL = "%00"
ALWAYS = {"accounts.user", "accounts.token", "engine.instance"}
"""Lists that are asked in every run, for what they could tell; the others with `--all`."""
FIRST = [pytest.param(model, marks=() if label(model) in ALWAYS else pytest.mark.slow) for model in PAGES]


def address_of(model: type[Model], view: str = "changelist", *args: object) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{view}", args=args)


def choices(model: type[Model]) -> Iterator[tuple[str, type[Model]]]:
    """List the relations of a model, in both directions, that lead to a page of the admin."""
    for field in model._meta.get_fields():
        other = field.related_model if field.is_relation else None
        if isinstance(other, type) and admin.site.is_registered(other):
            yield field.name, other


def autocomplete(browser: Client, model: type[Model], field: str, term: str = "") -> Any:
    names = f"app_label={model._meta.app_label}&model_name={model._meta.model_name}&field_name={field}"
    browser.raise_request_exception = False
    return browser.get(f"/admin/autocomplete/?{names}&term={term}")


@pytest.mark.security("admin side routes tell nothing")
@pytest.mark.parametrize("model", PAGES, ids=label)
def test_choices_are_offered_by_forward_relations_of_the_page_and_never_break(
    sign_in: SignIn, acmes: dict[str, Model], model: type[Model]
) -> None:
    browser = sign_in("gwen")
    for field, other in choices(model):
        forward = isinstance(model._meta.get_field(field), ForeignKey | ManyToManyField)
        for term in ("a", f"a{NUL}b"):
            answer = autocomplete(browser, model, field, term)
            assert answer.status_code in ((200, 403, 404) if forward else (403, 404)), (field, term)
            if answer.status_code == 200:
                seen = admin.site._registry[other].get_queryset(answer.wsgi_request)
                shown = {str(pk) for pk in seen.values_list("pk", flat=True)}
                assert {row["id"] for row in answer.json()["results"]} <= shown


@pytest.mark.security("admin side routes tell nothing")
@pytest.mark.parametrize("model", PAGES, ids=label)
def test_choices_of_a_page_that_one_may_not_see_are_refused(sign_in: SignIn, model: type[Model]) -> None:
    browser = sign_in("ada")
    if browser.get(address_of(model)).status_code == 403:
        assert {autocomplete(browser, model, field).status_code for field, _ in choices(model)} <= {403}


@pytest.mark.security("admin side routes tell nothing")
def test_choices_of_tables_without_a_page_are_refused(sign_in: SignIn) -> None:
    browser = sign_in("gwen")
    for names in ("accounts&model_name=membership&field_name=user", "engine&model_name=turn&field_name=tenant"):
        assert browser.get(f"/admin/autocomplete/?app_label={names}").status_code == 403


def sorted_by(model: type[Model]) -> dict[int, str]:
    """Return the columns of a list that can be put in order, with the path by which they are."""
    page, found = admin.site._registry[model], {}
    for number, column in enumerate(page.list_display, start=1):
        shown = getattr(page, str(column), None)
        path = getattr(shown, "admin_order_field", None) if shown is not None else column
        if isinstance(path, str) and path != "__str__":
            found[number] = path.removeprefix("-")
    return found


NEVER_SHOWN = {
    "password", "session_epoch", "digest", "token_key", "ciphertext", "secrets", "snapshot", "payload", "envelope", "input",
    "state", "hash",
}  # fmt: skip


@pytest.mark.security("admin side routes tell nothing")
@pytest.mark.parametrize("model", FIRST, ids=label)
def test_lists_are_put_in_order_only_by_what_they_show(
    sign_in: SignIn, acmes: dict[str, Model], model: type[Model]
) -> None:
    """Every order of a list is one of its own columns; the rest of what an address can say changes nothing."""
    browser = sign_in("zoe" if label(model) == "accounts.tenant" else "gwen")
    paths = sorted_by(model)
    assert not NEVER_SHOWN & {part for path in paths.values() for part in path.split("__")}
    own = [field for field in model._meta.concrete_fields if not field.primary_key]
    hidden = [field.column for field in own if field.name in NEVER_SHOWN]
    base = address_of(model)
    plain = _orders(browser, base)
    for asked in (
        "password",
        "-password",
        "0",
        "-0",
        "99",
        "1.password",
        "id__password",
        "ordering",
        "--1",
        "1e1",
        "x",
    ):
        assert _orders(browser, f"{base}?o={asked}")[0] in (plain[0], _orders(browser, f"{base}?o=1")[0]), asked
    assert all(name not in order for name in hidden for order in _columns_ordered(browser, base, range(len(paths) + 3)))


def _orders(browser: Client, address: str) -> list[str]:
    """Return the ORDER BY with which a list asks the database."""
    return [re.sub(r"'[^']*'", "", order) for order in _columns_ordered(browser, address, [None])] or [""]


def _columns_ordered(browser: Client, base: str, numbers: Any) -> list[str]:
    found = []
    for number in numbers:
        with _Heard() as heard:
            answer = browser.get(base if number is None else f"{base}?o=-{number}")
        assert answer.status_code == 200
        found += [statement.rpartition("ORDER BY")[2] for statement in heard if "ORDER BY" in statement]
    return found


class _Heard(list[str]):
    """Listen to what is asked of the database."""

    def __enter__(self) -> "_Heard":
        self._listening = connection.execute_wrapper(self._hear)
        self._listening.__enter__()
        return self

    def __exit__(self, *failure: Any) -> None:
        self._listening.__exit__(*failure)

    def _hear(self, execute: Any, statement: Any, *rest: Any) -> Any:
        self.append(str(statement))
        return execute(statement, *rest)


@pytest.mark.security("admin side routes tell nothing")
@pytest.mark.parametrize("model", FIRST, ids=label)
def test_popups_give_keys_and_nothing_else(sign_in: SignIn, acmes: dict[str, Model], model: type[Model]) -> None:
    browser = sign_in("zoe" if label(model) == "accounts.tenant" else "gwen")
    browser.raise_request_exception = False
    row = acmes[label(model)]
    key = model._meta.pk.name
    for field in (field for field in model._meta.concrete_fields if field.name != key):
        for address in (address_of(model), address_of(model, "add"), address_of(model, "change", row.pk)):
            answer = browser.get(f"{address}?_popup=1&_to_field={field.name}")
            assert answer.status_code in ((400, 403) if model is not Template else (302, 400)), (address, field.name)
    assert browser.get(f"{address_of(model)}?_popup=1&_to_field={key}").status_code == 200


@pytest.mark.security("admin side routes tell nothing")
@pytest.mark.parametrize("model", [model for model in PAGES if admin.site._registry[model].actions], ids=label)
def test_acts_on_chosen_rows_take_own_rows_only_and_never_break(
    cast: Cast, sign_in: SignIn, acmes: dict[str, Model], model: type[Model]
) -> None:
    row, base = acmes[label(model)], address_of(model)
    for name in admin.site._registry[model].actions:
        for browser, chosen in ((sign_in("gwen"), ["nonsense"]), (sign_in("gwen"), [str(row.pk), "1", ""])):
            browser.raise_request_exception = False
            answer = browser.post(base, {"action": name.__name__, "_selected_action": chosen})
            assert answer.status_code == 400, (name, chosen)
        theirs, nobodys = (
            sign_in("sam").post(base, {"action": name.__name__, "_selected_action": [pk], "select_across": across})
            for pk, across in ((row.pk, 0), (uuid4(), 0))
        )
        told = [re.sub(r'value="[A-Za-z0-9-]{36,64}"', "", words_of(one)) for one in (theirs, nobodys)]
        assert told[0] == told[1]
        across = words_of(
            sign_in("sam").post(base, {"action": name.__name__, "_selected_action": [row.pk], "select_across": 1})
        )
        assert str(row.pk) not in across
        assert "EXP-1200" not in across
    for odd in (
        {"action": "delete_selected"},
        {"action": "x", "index": "7"},
        {"action": "", "index": "-1"},
        {"index": "x"},
    ):
        browser = sign_in("gwen")
        browser.raise_request_exception = False
        assert browser.post(base, {"_selected_action": [row.pk], **odd}).status_code in (200, 302), odd


@pytest.mark.security("admin side routes tell nothing")
@pytest.mark.parametrize("model", FIRST, ids=label)
def test_no_page_shows_djangos_log(cast: Cast, sign_in: SignIn, acmes: dict[str, Model], model: type[Model]) -> None:
    """Rows of its log belong to no tenant; should anybody ever write some, nobody reads them."""
    row, kind = acmes[label(model)], ContentType.objects.get_for_model(model)
    for person in (cast.sam, cast.gwen):
        LogEntry.objects.create(
            user_id=person.pk, content_type=kind, object_id=str(row.pk), object_repr="logged-row", action_flag=CHANGE,
            change_message="logged-words",
        )  # fmt: skip
    browser = sign_in("zoe" if label(model) == "accounts.tenant" else "gwen")
    for address in ("/admin/", f"/admin/{model._meta.app_label}/", address_of(model, "history", row.pk)):
        shown = words_of(browser.get(address))
        assert "logged-" not in shown, address


@pytest.mark.security("admin side routes tell nothing")
def test_a_history_tells_of_its_own_row_and_not_of_what_has_the_same_name(cast: Cast, sign_in: SignIn) -> None:
    gwen = cast.actor("gwen")
    role = create_role(actor=gwen, tenant=cast.acme, name="same")
    secret = tenant_settings.put_secret(actor=gwen, name="same", value="hush-hush")
    calendar = tenant_settings.put_calendar(actor=gwen, name="same", content={"hours": {"mon": ["09:00-17:00"]}})
    browser, told = sign_in("gwen"), {}
    for row in (role, secret, calendar):
        told[label(type(row))] = codes("entry", browser.get(address_of(type(row), "history", row.pk)))
    expected = {"accounts.role": "role", "engine.secret": "secret", "engine.businesscalendar": "calendar"}
    assert {kind: {code.partition("_")[2] for code in found} for kind, found in told.items()} == {
        kind: {word} for kind, word in expected.items()
    }


@pytest.mark.security("admin side routes tell nothing")
@pytest.mark.parametrize("kind", ["person", "template", "instance"])
def test_the_audit_names_nothing_of_another_tenant(
    cast: Cast, sign_in: SignIn, acmes: dict[str, Model], kind: str
) -> None:
    """Should a row of the audit ever name a subject of another tenant, its name is not looked up there."""
    theirs = acmes[{"person": "accounts.user", "template": "engine.template", "instance": "engine.instance"}[kind]]
    JournalRow.objects.create(
        tenant=cast.globex, subject_kind=kind, subject_id=theirs.pk, seq=9001, action="odd_act", actor_name="sam",
        at=timezone.now(), hash="0" * 64,
    )  # fmt: skip
    browser = sign_in("sam")
    shown = words_of(browser.get(address_of(Audit))) + browser.get("/admin/engine/audit/export/").getvalue().decode()
    shown = shown.partition("#signed")[0]  # a signature may contain any characters
    assert "odd_act" in shown
    for word in ("ada", "Expense approval", "EXP-1200"):
        assert not re.search(rf"\b{word}\b", shown)  # hashes and ids may contain any characters


@pytest.mark.security("admin side routes tell nothing")
@pytest.mark.parametrize("view", ["history", "change", "delete"])
def test_a_row_whose_list_one_may_not_see_is_not_told_from_none(
    sign_in: SignIn, acmes: dict[str, Model], view: str
) -> None:
    browser = sign_in("ada")
    statuses = [
        [getattr(browser, method)(address_of(Secret, view, pk)).status_code for method in ("get", "post")]
        for pk in (acmes["engine.secret"].pk, uuid4())
    ]
    assert statuses[0] == statuses[1]


@pytest.mark.security("admin side routes tell nothing")
@pytest.mark.parametrize("model", [model for model in PAGES if admin.site._registry[model].buttons], ids=label)
def test_a_button_below_its_level_does_nothing(
    cast: Cast, sign_in: SignIn, acmes: dict[str, Model], model: type[Model]
) -> None:
    browser, row = sign_in("ada"), acmes[label(model)]
    before = model._default_manager.filter(pk=row.pk).values().get(), Audit.objects.count()
    for button in (button for button in admin.site._registry[model].buttons if button.level > 4):
        answer = browser.post(address_of(model, button.name, row.pk), {"answer": "x"})
        assert answer.status_code in (302, 404), button.name
    assert (model._default_manager.filter(pk=row.pk).values().get(), Audit.objects.count()) == before


WAYS_BACK = (
    "//evil.example/",
    "https://evil.example/",
    "next=https://evil.example",
    "%0d%0aX-Evil: 1",
    "_popup=1&x",
    NUL,
)


@pytest.mark.security("admin side routes tell nothing")
@pytest.mark.parametrize("model", FIRST, ids=label)
def test_filters_to_come_back_to_lead_nowhere_else(
    sign_in: SignIn, acmes: dict[str, Model], model: type[Model]
) -> None:
    browser = sign_in("zoe" if label(model) == "accounts.tenant" else "gwen")
    browser.raise_request_exception = False
    row = acmes[label(model)]
    for back in WAYS_BACK:
        for address in (address_of(model), address_of(model, "change", row.pk), address_of(model, "add")):
            answer: Any = browser.get(f"{address}?_changelist_filters={quote(back, safe='%')}")
            assert answer.status_code in (200, 302, 400, 403), (address, back)
            assert not re.search(r'(?:href|action)="(?:https?:)?//evil', words_of(answer)), (address, back)
            assert answer.headers.get("Location", "/admin/").startswith("/admin/"), (address, back)
    for flag in (
        "e=1",
        "e=1&p=x",
        "p=x",
        "p=-1",
        "p=999999",
        "all=",
        "all=1",
        "_facets=x",
        f"q={NUL}",
        "q=" + "x" * 3000,
    ):
        answer = browser.get(f"{address_of(model)}?{flag}")
        assert answer.status_code in (200, 302, 400), flag
        assert answer.headers.get("Location", address_of(model)).startswith(address_of(model)), flag


@pytest.mark.security("admin side routes tell nothing")
@pytest.mark.parametrize("page", ["x", "0", "99", "-1", "1.5", NUL, ""])
def test_the_search_of_the_frame_never_breaks(sign_in: SignIn, page: str) -> None:
    browser = sign_in("gwen")
    browser.raise_request_exception = False
    for word in ("tasks", f"a{NUL}"):
        for extended in ("", "&extended=1"):
            assert browser.get(f"/admin/search/?s={word}&page={page}{extended}").status_code == 400


@pytest.mark.security("admin side routes tell nothing")
def test_the_doors_lead_to_no_other_host(sign_in: SignIn) -> None:
    stranger, browser = Client(), sign_in("gwen")
    for way in ("//evil.example", "https://evil.example", r"\\evil.example", "///evil.example"):
        for person in (stranger, browser):
            for door in ("/admin/login/", "/accounts/login/", "/admin/logout/", "/admin/"):
                place = person.get(f"{door}?next={quote(way)}").headers.get("Location", "/")
                assert place.startswith("/"), (door, way)
                assert not place.startswith(("//", "/\\")), (door, way)


@pytest.mark.security("admin side routes tell nothing")
@pytest.mark.parametrize("model", FIRST, ids=label)
def test_an_address_cannot_fill_a_form_with_rows_of_another_tenant(
    cast: Cast, sign_in: SignIn, acmes: dict[str, Model], model: type[Model]
) -> None:
    browser = sign_in("sam")
    browser.raise_request_exception = False
    keys = {
        "person": acmes["accounts.user"].pk,
        "user": acmes["accounts.user"].pk,
        "template": acmes["engine.template"].pk,
    }
    asked = "&".join(f"{name}={key}" for name, key in keys.items())
    answer = browser.get(f"{address_of(model, 'add')}?{asked}&level=6&roles=x,y&tenant={cast.acme.pk}&name={NUL}")
    assert answer.status_code in (200, 302, 403)
    for word in ("Ada", "Expense approval", str(cast.acme.pk), *(str(key) for key in keys.values())):
        assert word not in words_of(answer)
