"""People, roles, tenants and tokens in the admin: every act through a service, every refusal on the page."""

import re
from typing import Any

import pytest
from django.core.mail import EmailMessage
from django.test import Client
from django.urls import reverse

from engine.models import Audit, Task, TaskEvent
from engine.services.people import accounts as people
from engine.services.people.tokens import create_token
from engine.services.tasks.lifecycle import claim_task
from tests.admin.conftest import SignIn, sight_of, words_of
from tests.cast import Cast
from tests.hooks import acts, codes, form_errors, notices, toasts
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.models import Role, Tenant, Token, User
from workflowplatform.admin_site.theme import where

ADD_PERSON = "/admin/accounts/user/add/"


def page(row: Any, view: str = "change") -> str:
    return reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_{view}", args=[row.pk])


def details(person: User, **changed: Any) -> dict[str, Any]:
    held = [role.name for role in person.roles.all()]
    return {"full_name": person.full_name, "email": person.email, "level": person.level, "roles": held} | changed


def test_god_adds_a_person_and_invites_them(
    cast: Cast, sign_in: SignIn, mailoutbox: list[EmailMessage], django_capture_on_commit_callbacks: Any, settings: Any
) -> None:
    settings.WORKFLOW_PUBLIC_URL = "https://workflow.example.com"
    typed = {"name": "nina", "email": "nina@acme.example", "level": "4", "roles": ["finance"], "invite": "on"}
    with django_capture_on_commit_callbacks(execute=True):
        answer = sign_in("gwen").post(ADD_PERSON, typed)
    assert answer.status_code == 302
    nina = User.objects.get(username="nina")
    assert (nina.tenant, nina.level, [role.name for role in nina.roles.all()]) == (cast.acme, 4, ["finance"])
    assert mailoutbox[0].to == ["nina@acme.example"]
    assert "\nhttps://workflow.example.com/accounts/invitation/" in mailoutbox[0].body
    assert list(Audit.objects.filter(subject_id=nina.pk).values_list("action", "actor_name")) == [
        ("create_person", "gwen"),
        ("invite_person", "gwen"),
    ]


def test_level_above_ones_own_is_refused_on_the_page(cast: Cast, sign_in: SignIn) -> None:
    browser = sign_in("gwen")
    added = browser.post(ADD_PERSON, {"name": "nina", "level": "6"})
    raised = browser.post(page(cast.ada), details(cast.ada, level="6"))
    for answer in (added, raised):
        assert answer.status_code == 200
        assert [code for found in form_errors(answer.context["adminform"].form).values() for code in found] == ["level"]
    assert not User.objects.filter(level=6, tenant=cast.acme).exists()


def test_somebody_above_ones_own_level_stays_as_they_are(cast: Cast, sign_in: SignIn) -> None:
    olga = people.create_person(actor=None, tenant=cast.acme, name="olga", level=6, email="olga@acme.example")
    browser = sign_in("gwen")
    answer = browser.post(page(olga), details(olga, level="2", email="gwen@acme.example"))
    assert form_errors(answer.context["adminform"].form) == {"__all__": ["level"]}
    pressed = browser.post(page(olga, "deactivate"), follow=True)
    assert notices(pressed) == ["level"]
    olga.refresh_from_db()
    assert (olga.level, olga.email, olga.is_active) == (6, "olga@acme.example", True)


def test_one_refused_field_keeps_every_other_from_being_saved(cast: Cast, sign_in: SignIn) -> None:
    sign_in("gwen").post(page(cast.ada), details(cast.ada, full_name="Ada L", level="6", roles=["hr"]))
    cast.ada.refresh_from_db()
    assert cast.ada.full_name == ""
    assert {role.name for role in cast.ada.roles.all()} == {"finance", "support"}


def test_each_difference_is_its_own_act(cast: Cast, sign_in: SignIn) -> None:
    sign_in("gwen").post(page(cast.ada), details(cast.ada, full_name="Ada L", level="5", roles=["finance", "hr"]))
    acts = Audit.objects.filter(subject_id=cast.ada.pk).order_by("seq").values_list("action", flat=True)
    assert list(acts)[1:] == ["change_details", "change_level", "grant_role", "revoke_role"]


def test_manager_is_chosen_on_the_page_and_never_in_a_circle(cast: Cast, sign_in: SignIn) -> None:
    browser = sign_in("gwen")
    assert browser.post(page(cast.uri), details(cast.uri, manager="ada")).status_code == 302
    cast.uri.refresh_from_db()
    assert cast.uri.manager_id == cast.ada.pk
    refused = browser.post(page(cast.ada), details(cast.ada, manager="uri"))
    assert form_errors(refused.context["adminform"].form) == {"manager": ["circle"]}
    choices = [name for name, _ in browser.get(page(cast.ada)).context["adminform"].form.fields["manager"].choices]
    assert (sorted(choices), "sam" in choices) == (["", "adam", "gwen", "uri"], False)
    browser.post(page(cast.uri), details(cast.uri, manager=""))
    cast.uri.refresh_from_db()
    assert cast.uri.manager_id is None


def test_a_lead_is_chosen_on_the_page_among_the_roles_held_and_goes_with_the_role(cast: Cast, sign_in: SignIn) -> None:
    browser = sign_in("gwen")
    refused = browser.post(page(cast.ada), details(cast.ada, roles=["finance"], leads=["hr"]))
    assert form_errors(refused.context["adminform"].form) == {"leads": ["not_held"]}
    browser.post(page(cast.ada), details(cast.ada, roles=["finance"], leads=["finance"]))
    assert cast.ada.memberships.get(leads=True).role.name == "finance"
    assert browser.get(page(cast.ada)).context["adminform"].form.initial["leads"] == ["finance"]
    browser.post(page(cast.ada), details(cast.ada, roles=[], leads=["finance"]))
    assert not cast.ada.memberships.exists()
    acts = Audit.objects.filter(subject_id=cast.ada.pk).order_by("seq").values_list("action", flat=True)
    assert list(acts)[1:] == ["revoke_role", "lead_role", "revoke_role"]


def test_role_of_another_tenant_is_no_choice(cast: Cast, sign_in: SignIn) -> None:
    Role.objects.create(tenant=cast.globex, name="secret", title="Secret of Globex")
    browser = sign_in("gwen")
    assert "Secret of Globex" not in words_of(browser.get(page(cast.ada)))
    answer = browser.post(page(cast.ada), details(cast.ada, roles=["secret"]))
    assert answer.status_code == 200
    assert not cast.ada.roles.filter(name="secret").exists()


def test_deactivate_and_reactivate_by_button(cast: Cast, sign_in: SignIn) -> None:
    theirs = sign_in("ada")
    assert theirs.get("/admin/").status_code == 200
    answer = sign_in("gwen").post(page(cast.ada, "deactivate"), follow=True)
    assert toasts(answer) == ["user.deactivate"]
    assert theirs.get("/admin/").status_code == 302
    sign_in("gwen").post(page(cast.ada, "reactivate"))
    cast.ada.refresh_from_db()
    assert cast.ada.is_active
    assert theirs.get("/admin/").status_code == 302


def test_deactivated_persons_claimed_tasks_go_back_to_everybody(
    cast: Cast, sign_in: SignIn, ada: Actor, task: Task
) -> None:
    claim_task(actor=ada, task_id=task.pk)
    sign_in("gwen").post(page(cast.ada, "deactivate"))
    task.refresh_from_db()
    assert (task.status, task.assignee) == ("open", None)
    released = TaskEvent.objects.get(task=task, kind="released")
    assert (released.actor_name, "Ada" in released.cause) == ("gwen", True)
    assert Audit.objects.get(subject_id=cast.ada.pk, action="deactivate_person").new["tasks_released"] == 1


def test_level_four_reads_people_and_changes_nobody(cast: Cast, sign_in: SignIn) -> None:
    browser = sign_in("ada")
    assert "uri@acme.example" in words_of(browser.get(page(cast.uri)))
    assert browser.get(ADD_PERSON).status_code == 403
    assert browser.post(page(cast.uri), details(cast.uri, level="4")).status_code == 403
    assert notices(browser.post(page(cast.uri, "deactivate"), follow=True)) == ["level"]
    cast.uri.refresh_from_db()
    assert (cast.uri.level, cast.uri.is_active) == (2, True)


def test_roles_are_added_and_renamed_but_keep_their_name(cast: Cast, sign_in: SignIn) -> None:
    browser = sign_in("gwen")
    browser.post("/admin/accounts/role/add/", {"name": "legal", "title": ""})
    legal = Role.objects.get(name="legal", tenant=cast.acme)
    browser.post(page(legal), {"name": "other", "title": "Legal department"})
    legal.refresh_from_db()
    assert (legal.name, legal.title) == ("legal", "Legal department")
    assert codes("entry", browser.get(page(legal, "history"))) == ["rename_role", "create_role"]
    browser.post(page(legal), {"title": "Legal department", "confidential": "on"})
    legal.refresh_from_db()
    assert legal.confidential
    assert codes("entry", browser.get(page(legal, "history")))[0] == "mark_role"
    twice = browser.post("/admin/accounts/role/add/", {"name": "legal"})
    assert form_errors(twice.context["adminform"].form) == {"name": ["taken"]}


def test_token_text_is_shown_once_and_left_in_no_cookie(cast: Cast, sign_in: SignIn) -> None:
    browser = sign_in("gwen")
    robot = people.create_person(actor=cast.actor("gwen"), tenant=cast.acme, name="robot", level=4, kind="service")
    answer = browser.post("/admin/accounts/token/add/", {"person": str(robot.pk), "name": "ci", "lives": "30"})
    shown = re.search(r'id="token">([0-9a-f]{64})<', words_of(answer))
    assert shown
    token = Token.objects.get()
    assert (token.user, token.name, token.made_by) == (robot, "ci", "gwen")
    for address in ("/admin/accounts/token/", page(token), page(token, "history")):
        assert shown[1] not in words_of(browser.get(address))
    assert shown[1] not in str(browser.cookies)
    browser.post(page(token, "revoke"))
    assert not Token.objects.exists()


def test_level_four_has_tokens_of_their_own_only(cast: Cast, sign_in: SignIn) -> None:
    gwens, _ = create_token(actor=None, person=cast.gwen, name="hers")
    browser = sign_in("ada")
    assert browser.get(page(gwens)).status_code == 404
    refused = browser.post("/admin/accounts/token/add/", {"person": str(cast.gwen.pk), "name": "x", "lives": "30"})
    assert refused.status_code == 200
    assert (
        browser.post("/admin/accounts/token/add/", {"person": str(cast.ada.pk), "name": "x", "lives": ""}).status_code
        == 200
    )
    assert list(Token.objects.filter(name="x").values_list("user__username", flat=True)) == ["ada"]


def test_supergod_founds_a_tenant_and_enters_it_audited(cast: Cast, sign_in: SignIn) -> None:
    browser = sign_in("zoe")
    browser.post("/admin/accounts/tenant/add/", {"name": "initech", "title": "Initech"})
    initech = Tenant.objects.get(name="initech")
    assert initech.roles.count() == 4
    assert "ada" not in sight_of(browser.get("/admin/accounts/user/"))
    browser.post(page(cast.acme, "enter"))
    assert "ada" in sight_of(browser.get("/admin/accounts/user/"))
    shown = browser.get("/admin/")
    assert "Acme" in where(shown.wsgi_request)
    assert where(shown.wsgi_request) in words_of(shown)
    assert Audit.objects.get(subject_id=cast.acme.pk, action="enter_tenant").actor_name == "zoe"
    browser.post(page(cast.platform, "enter"))
    assert "ada" not in sight_of(browser.get("/admin/accounts/user/"))


@pytest.mark.parametrize("name", ["gwen", "ada"])
def test_tenants_are_level_sixs(cast: Cast, sign_in: SignIn, name: str) -> None:
    browser = sign_in(name)
    assert browser.get("/admin/accounts/tenant/").status_code == 403
    assert browser.post("/admin/accounts/tenant/add/", {"name": "mine"}).status_code == 403
    assert browser.post(page(cast.globex, "enter")).status_code == 404
    assert "chosen_tenant" not in browser.session


def test_person_who_lost_level_six_is_home_again(cast: Cast, sign_in: SignIn) -> None:
    browser = sign_in("zoe")
    browser.post(page(cast.acme, "enter"))
    people.change_level(actor=None, person=cast.zoe, level=5)
    assert "ada" not in sight_of(browser.get("/admin/accounts/user/"))


@pytest.mark.security("a person can be erased and the chains still verify")
def test_one_asks_for_an_erasure_and_another_agrees(cast: Cast, sign_in: SignIn) -> None:
    people.create_person(actor=None, tenant=cast.acme, name="greta", level=5)
    cast_greta = User.objects.get(username="greta")
    first, second = sign_in("gwen"), Client()
    second.force_login(cast_greta, backend="django.contrib.auth.backends.ModelBackend")
    assert "withdraw" not in acts(first.get(page(cast.adam)))
    first.post(page(cast.adam, "erase"), {"answer": "by request 4711"})
    shown = second.get(page(cast.adam))
    assert "by request 4711" in sight_of(shown)
    assert "withdraw" in acts(shown)
    first.post(page(cast.adam, "erase"), {"answer": "again"})
    assert User.objects.get(pk=cast.adam.pk).username == "adam"
    answer = second.post(page(cast.adam, "erase"), {"answer": ""}, follow=True)
    assert toasts(answer) == ["user.erase.done"]
    assert "former-" in sight_of(answer)
    offered = acts(first.get(page(cast.adam)))
    assert "adam" not in sight_of(first.get("/admin/accounts/user/"))
    assert offered.isdisjoint({"withdraw", "erase"})
    first.post(page(cast.adam, "reactivate"))
    assert not User.objects.get(pk=cast.adam.pk).is_active
