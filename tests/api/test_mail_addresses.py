"""A changed mail address opens nobody's account: the old one is told, and links wait a day or for a second level 5."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.core.mail import EmailMessage
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from engine.errors import Refused
from engine.models import Audit
from engine.services.people import accounts as people
from engine.services.people.tokens import create_token
from tests.api.conftest import Callers
from tests.cast import Cast
from tests.hooks import notices, page_name
from workflowplatform.accounts.actor import Actor, actor_of
from workflowplatform.accounts.models import Token, User

OURS = "gwens-other@acme.example"
PASSWORD = "a-Long-enough-1"


@pytest.fixture
def ada_works(cast: Cast) -> User:
    """A person with a password, in a tenant with a second person of level 5 who was there before."""
    people.create_person(actor=None, tenant=cast.acme, name="greta", level=5)
    User.objects.update(created_at=timezone.now() - timedelta(days=3))
    cast.ada.set_password(PASSWORD)
    cast.ada.save(update_fields=["password"])
    return cast.ada


def browser_of(name: str) -> Client:
    client = Client()
    client.force_login(User.objects.get(username=name), backend="django.contrib.auth.backends.ModelBackend")
    return client


def actor(name: str) -> Actor:
    return actor_of(User.objects.get(username=name))


def by_rest(call: Callers) -> None:
    assert call("gwen")("PUT", "people/ada/", {"email": OURS}).status_code == 200


def by_admin(call: Callers) -> None:
    ada = User.objects.get(username="ada")
    typed = {"full_name": "", "email": OURS, "level": 4, "roles": ["finance", "support"]}
    page = reverse("admin:accounts_user_change", args=[ada.pk])
    assert browser_of("gwen").post(page, typed).status_code == 302


@pytest.mark.security("a changed mail address opens nothing for a day")
@pytest.mark.parametrize("change", [by_rest, by_admin])
def test_changed_address_is_told_to_the_old_one_and_opens_nothing_for_a_day(
    ada_works: User, call: Callers, mailoutbox: list[EmailMessage], django_capture_on_commit_callbacks: Any, change: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        change(call)
    (told,) = mailoutbox
    assert told.to == ["ada@acme.example"]
    assert "Gwen" in str(told.body)
    assert OURS not in str(told.body)
    mailoutbox.clear()
    with django_capture_on_commit_callbacks(execute=True):
        assert Client().post("/accounts/reset/", {"email": OURS})["Location"] == "/accounts/reset/sent/"
        refused = call("gwen").post("people/ada/reset/", {})
        pressed = browser_of("gwen").post(reverse("admin:accounts_user_reset", args=[ada_works.pk]), follow=True)
        invited = browser_of("gwen").post(reverse("admin:accounts_user_invite", args=[ada_works.pk]), follow=True)
        with pytest.raises(Refused):
            people.invite_person(actor=actor("gwen"), person=ada_works, base_url="")
    assert (refused.status_code, refused.json()["code"]) == (403, "email_waits")
    for answer in (pressed, invited):
        assert [message.level_tag for message in answer.context["messages"]] == ["error"]
    assert mailoutbox == []
    asked = Audit.objects.get(subject_id=ada_works.pk, action="ask_reset")
    assert asked.new["refused"]
    User.objects.filter(pk=ada_works.pk).update(email_changed_at=timezone.now() - timedelta(hours=25))
    Client().post("/accounts/reset/", {"email": OURS})
    assert [mail.to for mail in mailoutbox] == [[OURS]]


@pytest.mark.security("a changed mail address opens nothing for a day")
@pytest.mark.parametrize("door", ["rest", "admin"])
def test_second_level_five_confirms_the_address(
    ada_works: User, call: Callers, mailoutbox: list[EmailMessage], door: str
) -> None:
    by_rest(call)
    page = reverse("admin:accounts_user_change", args=[ada_works.pk])
    assert (
        reverse("admin:accounts_user_confirm_email", args=[ada_works.pk])
        in browser_of("greta").get(page).content.decode()
    )
    shown = call("gwen").get("people/ada/").json()
    assert shown["email_held_until"]

    def confirm(who: str) -> tuple[int, str]:
        if door == "rest":
            answer = call(who).post("people/ada/confirm-email/", {})
            return answer.status_code, answer.json().get("code", "")
        page = reverse("admin:accounts_user_confirm_email", args=[ada_works.pk])
        page_after = browser_of(who).post(page, follow=True)
        return 0, next(iter(notices(page_after)), "")

    assert confirm("gwen")[1] == "four_eyes"
    assert confirm("adam")[1] == "level"
    User.objects.filter(username="greta").update(created_at=timezone.now())
    assert confirm("greta")[1] == "four_eyes"
    User.objects.filter(username="greta").update(created_at=timezone.now() - timedelta(days=3))
    assert confirm("greta")[1] == ""
    row = Audit.objects.get(subject_id=ada_works.pk, action="confirm_email")
    assert (row.actor_name, row.new) == ("greta", {"email": OURS, "changed_by": "gwen"})
    assert call("gwen").get("people/ada/").json()["email_held_until"] is None
    assert call("greta").post("people/ada/confirm-email/", {}).status_code == 409
    Client().post("/accounts/reset/", {"email": OURS})
    assert [mail.to for mail in mailoutbox] == [[OURS]]


def test_nobody_confirms_their_own_address(ada_works: User, call: Callers) -> None:
    people.change_level(actor=None, person=ada_works, level=5)
    by_rest(call)
    assert call("ada").post("people/ada/confirm-email/", {}).json()["code"] == "self"


def test_link_sent_before_the_change_is_dead(ada_works: User, call: Callers, mailoutbox: list[EmailMessage]) -> None:
    Client().post("/accounts/reset/", {"email": ada_works.email})
    link = next(word for word in str(mailoutbox[0].body).split() if word.startswith("http://testserver/"))
    by_rest(call)
    assert page_name(Client().get(link, follow=True)) == "dead_link"


def test_address_of_somebody_who_never_came_in_may_be_corrected(
    cast: Cast, call: Callers, mailoutbox: list[EmailMessage], django_capture_on_commit_callbacks: Any
) -> None:
    people.create_person(actor=None, tenant=cast.acme, name="nina", level=2, email="nnia@acme.example")
    with django_capture_on_commit_callbacks(execute=True):
        call("gwen")("PUT", "people/nina/", {"email": "nina@acme.example"})
        assert call("gwen").post("people/nina/reset/", {}).status_code == 200
    assert sorted(mail.to[0] for mail in mailoutbox) == ["nina@acme.example", "nnia@acme.example"]


# Links instead of typed passwords


@pytest.mark.security("nobody acts as another person")
def test_administrators_send_links_and_type_no_passwords(
    ada_works: User, call: Callers, mailoutbox: list[EmailMessage], django_capture_on_commit_callbacks: Any
) -> None:
    for path, body in (("people/", {"name": "nora", "level": 2}), ("people/ada/", {})):
        method = "POST" if path == "people/" else "PUT"
        assert call("gwen")(method, path, body | {"password": PASSWORD}).status_code == 400
    for page in ("/admin/accounts/user/add/", reverse("admin:accounts_user_change", args=[ada_works.pk])):
        assert not re.search(r'(type|name)="password', browser_of("gwen").get(page).content.decode())
    create_token(actor=None, person=ada_works, name="ci")
    with django_capture_on_commit_callbacks(execute=True):
        assert call("gwen").post("people/ada/reset/", {"end_tokens": True}).status_code == 200
        pressed = browser_of("gwen").post(reverse("admin:accounts_user_reset", args=[ada_works.pk]), follow=True)
        assert [message.level_tag for message in pressed.context["messages"]] == ["success"]
    assert [mail.to for mail in mailoutbox] == [["ada@acme.example"]] * 2
    assert not Token.objects.filter(user=ada_works).exists()
    acts = Audit.objects.filter(subject_id=ada_works.pk, action="send_reset").values_list("actor_name", flat=True)
    assert list(acts) == ["gwen", "gwen"]
    assert call("adam").post("people/ada/reset/", {}).json()["code"] == "level"
    assert call("sam").post("people/ada/reset/", {}).status_code == 404
