"""Sign in and out, change, reset and choose passwords, settings: the pages around the inbox."""

import re

import pytest
from django.core import mail
from django.http import HttpResponse
from django.test import Client, override_settings
from pytest_django import Settings

from engine.services.people.accounts import change_level, deactivate_person
from tests.cast import Cast
from tests.hooks import errors, page_name, toasts
from tests.inbox.conftest import SignIn
from workflowplatform.accounts.forms import SetPasswordForm, SettingsForm
from workflowplatform.accounts.mails import invitation_link, send_invitation
from workflowplatform.accounts.models import User

OLD, NEW = "a-Long-enough-1", "another-Long-2"


def with_password(person: User) -> User:
    person.set_password(OLD)
    person.save(update_fields=["password"])
    return person


def sign_in(client: Client, name: str, password: str, **more: str) -> HttpResponse:
    return client.post("/accounts/login/", {"username": name, "password": password, **more})


def test_sign_in_goes_where_one_wanted_to_go(cast: Cast) -> None:
    with_password(cast.ada)
    assert sign_in(Client(), "Ada", OLD)["Location"] == "/inbox/"
    assert sign_in(Client(), "ada", OLD, next="/inbox/start/")["Location"] == "/inbox/start/"
    assert sign_in(Client(), "ada", OLD, next="https://evil.example/")["Location"] == "/inbox/"


def test_wrong_password_keeps_the_name_and_says_what_is_wrong(cast: Cast) -> None:
    with_password(cast.ada)
    answer = sign_in(Client(), "ada", "wrong")
    html = answer.content.decode()
    assert errors(html) == ["invalid_login"]
    assert 'value="ada"' in html
    assert 'value="wrong"' not in html


def test_unknown_and_known_names_get_the_same_answer(cast: Cast) -> None:
    with_password(cast.ada)
    unknown, known = sign_in(Client(), "nobody", "x"), sign_in(Client(), "ada", "x")
    without = re.compile(r"nobody|ada|csrfmiddlewaretoken\S+ value=\S+")
    assert without.sub("", unknown.content.decode()) == without.sub("", known.content.decode())


def test_deactivated_people_do_not_come_in(cast: Cast) -> None:
    with_password(cast.uri)
    deactivate_person(actor=cast.actor("gwen"), person=cast.uri)
    assert sign_in(Client(), "uri", OLD).status_code == 200


def test_sign_out_is_a_post_and_ends_the_session(cast: Cast, browser: SignIn) -> None:
    ada = browser("ada")
    assert ada.get("/accounts/logout/").status_code == 405
    assert ada.post("/accounts/logout/")["Location"] == "/accounts/login/"
    assert ada.get("/inbox/").status_code == 302


def test_change_password(cast: Cast) -> None:
    client, person = Client(), with_password(cast.ada)
    client.force_login(person)
    fields = {"old_password": OLD, "new_password1": NEW, "new_password2": NEW}
    wrong = client.post("/accounts/password/", fields | {"old_password": "x"})
    assert 'id="id_old_password_error"' in wrong.content.decode()
    assert client.post("/accounts/password/", fields)["Location"] == "/inbox/"
    person.refresh_from_db()
    assert person.check_password(NEW)


def test_account_pages_leave_the_audit_chain_alone(cast: Cast) -> None:
    """A page loaded before another person's act must not write the old chain back."""
    person = with_password(User.objects.get(pk=cast.ada.pk))
    form = SetPasswordForm(person, {"new_password1": NEW, "new_password2": NEW})
    settings = SettingsForm({"theme": "dark", "time_zone": "UTC"}, instance=person)
    change_level(actor=cast.actor("gwen"), person=cast.ada, level=3)
    for filled in (form, settings):
        assert filled.is_valid(), filled.errors
        filled.save()
    after = User.objects.get(pk=cast.ada.pk)
    assert (after.level, after.theme) == (3, "dark")
    assert after.audit_seq > person.audit_seq
    assert after.check_password(NEW)


def test_reset_by_mail_works_once(cast: Cast) -> None:
    with_password(cast.ada)
    client = Client()
    assert client.post("/accounts/reset/", {"email": cast.ada.email})["Location"] == "/accounts/reset/sent/"
    link = re.search(r"http://testserver(\S+)", mail.outbox[0].body)
    assert link
    page = client.get(link[1], follow=True)
    assert page_name(page) == "password_reset_confirm"
    place = page.redirect_chain[-1][0]
    assert client.post(place, {"new_password1": NEW, "new_password2": NEW})["Location"] == "/accounts/login/"
    cast.ada.refresh_from_db()
    assert cast.ada.check_password(NEW)
    assert page_name(Client().get(link[1], follow=True)) == "dead_link"


def test_a_reset_leads_to_the_public_address_whatever_host_was_asked(cast: Cast, settings: Settings) -> None:
    with_password(cast.ada)
    settings.WORKFLOW_PUBLIC_URL = "https://workflow.example.com"
    Client().post("/accounts/reset/", {"email": cast.ada.email}, headers={"Host": "localhost:8123"})
    assert "\nhttps://workflow.example.com/accounts/reset/" in mail.outbox[0].body
    assert "localhost" not in mail.outbox[0].body


def test_reset_tells_nobody_which_addresses_exist(cast: Cast) -> None:
    answer = Client().post("/accounts/reset/", {"email": "nobody@nowhere.example"})
    assert answer["Location"] == "/accounts/reset/sent/"
    assert mail.outbox == []


def test_invited_person_chooses_a_password_and_is_in(cast: Cast) -> None:
    link = invitation_link(cast.uri, base_url="http://testserver")
    send_invitation(cast.uri, link)
    assert link in mail.outbox[0].body
    client = Client()
    page = client.get(link, follow=True)
    assert page_name(page) == "invitation"
    answer = client.post(page.redirect_chain[-1][0], {"new_password1": NEW, "new_password2": NEW})
    assert answer["Location"] == "/inbox/"
    assert client.get("/inbox/").status_code == 200
    assert page_name(Client().get(link, follow=True)) == "dead_link"


def test_an_invitation_is_no_reset_and_dies_with_deactivation(cast: Cast) -> None:
    link = invitation_link(cast.uri, base_url="")
    as_reset = link.replace("/invitation/", "/reset/")
    assert page_name(Client().get(as_reset, follow=True)) == "dead_link"
    deactivate_person(actor=cast.actor("gwen"), person=cast.uri)
    assert page_name(Client().get(link, follow=True)) == "dead_link"


def test_single_keys_are_switched_off_for_the_person_not_the_browser(cast: Cast, browser: SignIn) -> None:
    ada = browser("ada")
    assert "data-shortcuts-on=" in ada.get("/inbox/").content.decode()
    assert re.search(r"data-shortcuts-on=\S+ checked", ada.get("/inbox/").content.decode())
    assert ada.post("/accounts/keys/", {"on": "0"}).status_code == 204
    assert not re.search(r"data-shortcuts-on=\S+ checked", browser("ada").get("/inbox/").content.decode())
    assert re.search(r"data-shortcuts-on=\S+ checked", browser("adam").get("/inbox/").content.decode())
    assert (ada.get("/accounts/keys/").status_code, Client().post("/accounts/keys/").status_code) == (405, 302)


def test_settings_change_language_and_keys(cast: Cast, browser: SignIn) -> None:
    sent = {"theme": "auto", "time_zone": "UTC", "language": "de"}
    page = browser("ada").post("/accounts/settings/", sent, follow=True).content.decode()
    assert toasts(page) == ["settings.saved"]
    assert '<html lang="de"' in page
    cast.ada.refresh_from_db()
    assert (cast.ada.language, cast.ada.single_keys) == ("de", False)
    assert browser("ada").post("/accounts/settings/", sent | {"language": "xx"}).status_code == 200


def test_settings_change_look_and_zone(cast: Cast, browser: SignIn) -> None:
    ada = browser("ada")
    answer = ada.post("/accounts/settings/", {"theme": "dark", "time_zone": "Europe/Vienna"}, follow=True)
    assert 'data-theme="dark"' in answer.content.decode()
    cast.ada.refresh_from_db()
    assert cast.ada.time_zone == "Europe/Vienna"
    assert ada.post("/accounts/settings/", {"theme": "dark", "time_zone": "Mars/Base"}).status_code == 200


@pytest.mark.parametrize("address", ["/inbox/", "/inbox/start/", "/inbox/started/", "/accounts/settings/", "/nowhere/"])
def test_pages_hold_nothing_that_the_policy_forbids(cast: Cast, browser: SignIn, address: str) -> None:
    html = browser("ada").get(address).content.decode()
    assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:|<script(?![^>]*\ssrc=)", html)


@override_settings(DEBUG=False)
def test_a_broken_page_answers_in_the_products_look(
    cast: Cast, review: str, browser: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    def break_down(*_args: object) -> None:
        raise RuntimeError("broken on purpose")

    monkeypatch.setattr("tasks_inbox.views.lists.count_lists", break_down)
    client = browser("ada")
    client.raise_request_exception = False
    answer = client.get("/inbox/")
    assert answer.status_code == 500
    assert page_name(answer) == "broken"
    assert "broken on purpose" not in answer.content.decode()


def test_too_many_attempts_are_told_in_the_products_look(cast: Cast, settings: Settings) -> None:
    settings.AXES_FAILURE_LIMIT = 2
    with_password(cast.ada)
    client = Client()
    for _attempt in range(2):
        answer = sign_in(client, "ada", "wrong")
    assert answer.status_code == 429
    assert page_name(answer) == "locked_out"
    assert sign_in(client, "ada", OLD).status_code == 429


def test_pages_say_the_language_they_are_written_in(cast: Cast) -> None:
    for wished, spoken in (("de", "de"), ("fr", "en")):
        html = Client().get("/accounts/login/", headers={"Accept-Language": wished}).content.decode()
        assert f'<html lang="{spoken}"' in html
