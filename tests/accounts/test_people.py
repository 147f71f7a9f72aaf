"""Which person may change which, and what each act leaves behind."""

from datetime import timedelta
from importlib import import_module
from typing import Any

import pytest
from django.contrib.auth import get_user
from django.core.mail import EmailMessage
from django.db import connection
from django.http import HttpRequest
from django.test import Client
from django.utils import timezone

from engine.errors import Invalid, NotFound, Refused
from engine.models import Audit
from engine.services.people import accounts as people
from engine.services.people.tenants_and_roles import change_tenant, choose_tenant, create_role, create_tenant
from engine.services.people.tokens import create_token, revoke_token
from tests.cast import Cast
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.models import Role, Tenant, Token, User


def actions_on(subject: User | Tenant) -> list[str]:
    return list(Audit.objects.filter(subject_id=subject.pk).order_by("seq").values_list("action", flat=True))


def test_new_tenant_has_its_default_roles(cast: Cast) -> None:
    assert set(Role.objects.filter(tenant=cast.acme).values_list("name", flat=True)) == {
        "finance",
        "hr",
        "support",
        "management",
    }


def test_only_level_six_makes_tenants(cast: Cast, gwen: Actor, zoe: Actor) -> None:
    with pytest.raises(Refused) as refusal:
        create_tenant(actor=gwen, name="another")
    assert refusal.value.code == "level"
    assert create_tenant(actor=zoe, name="another").name == "another"


@pytest.mark.parametrize("name", ["", "Acme", "two words", "-x", "ä"])
def test_unfit_tenant_name_is_a_field_error(db: None, name: str) -> None:
    with pytest.raises(Invalid) as refusal:
        create_tenant(actor=None, name=name)
    assert {error.path for error in refusal.value.errors} == {"name"}


def test_origins_without_a_path_are_what_calls_may_be_held_to(cast: Cast, zoe: Actor) -> None:
    change_tenant(actor=zoe, tenant=cast.acme, title="Acme", http_allow=["https://api.example.com:8443"])
    assert Tenant.objects.get(name="acme").http_allow == ["https://api.example.com:8443"]
    for unfit in ("api.example.com", "https://api.example.com/v1", "https://me@api.example.com", "ftp://x", "*"):
        with pytest.raises(Invalid) as refusal:
            change_tenant(actor=zoe, tenant=cast.acme, title="Acme", http_allow=[unfit])
        assert refusal.value.errors[0].path == "http_allow"
    row = Audit.objects.get(subject_id=cast.acme.pk, action="change_tenant")
    assert (row.old, row.new) == ({"http_allow": None}, {"http_allow": ["https://api.example.com:8443"]})


def test_name_taken_in_another_tenant_is_a_field_error(cast: Cast, sam: Actor) -> None:
    with pytest.raises(Invalid) as refusal:
        people.create_person(actor=sam, tenant=cast.globex, name="Gwen", level=2)
    assert refusal.value.errors[0].path == "name"


def test_god_creates_a_person_with_roles(cast: Cast, gwen: Actor) -> None:
    person = people.create_person(
        actor=gwen, tenant=cast.acme, name="Nina", level=4, roles=["finance"], email="n@acme.example"
    )
    assert (person.username, person.level, person.has_usable_password()) == ("nina", 4, False)
    assert [role.name for role in person.roles.all()] == ["finance"]
    row = Audit.objects.get(subject_id=person.pk)
    assert (row.action, row.actor_name, row.actor_level, row.subject_kind) == ("create_person", "gwen", 5, "person")


def test_unknown_role_is_a_field_error_and_nobody_is_created(cast: Cast, gwen: Actor) -> None:
    with pytest.raises(Invalid) as refusal:
        people.create_person(actor=gwen, tenant=cast.acme, name="nina", level=4, roles=["finanse"])
    assert refusal.value.errors[0].path == "roles"
    assert not User.objects.filter(username="nina").exists()


@pytest.mark.parametrize("name", ["ada", "uri"])
def test_below_level_five_nobody_manages_people(cast: Cast, name: str) -> None:
    with pytest.raises(Refused) as refusal:
        people.create_person(actor=cast.actor(name), tenant=cast.acme, name="nina", level=1)
    assert refusal.value.code == "level"


def test_nobody_creates_a_level_above_their_own(cast: Cast, gwen: Actor) -> None:
    with pytest.raises(Refused) as refusal:
        people.create_person(actor=gwen, tenant=cast.acme, name="nina", level=6)
    assert refusal.value.code == "level"


def test_nobody_raises_a_level_above_their_own(cast: Cast, gwen: Actor) -> None:
    with pytest.raises(Refused):
        people.change_level(actor=gwen, person=cast.ada, level=6)
    cast.ada.refresh_from_db()
    assert cast.ada.level == 4
    assert people.change_level(actor=gwen, person=cast.ada, level=5).level == 5


def test_nobody_changes_somebody_above_their_own_level(cast: Cast, gwen: Actor) -> None:
    above = people.create_person(actor=None, tenant=cast.acme, name="olga", level=6)
    for act in (
        lambda: people.change_level(actor=gwen, person=above, level=2),
        lambda: people.deactivate_person(actor=gwen, person=above),
        lambda: people.change_details(actor=gwen, person=above, full_name="", email="mine@acme.example"),
        lambda: create_token(actor=gwen, person=above),
        lambda: people.invite_person(actor=gwen, person=above, base_url="https://w.example"),
    ):
        with pytest.raises(Refused) as refusal:
            act()
        assert refusal.value.code == "level"


def test_level_of_the_target_is_read_at_the_moment_of_the_act(cast: Cast, gwen: Actor) -> None:
    """A row fetched before another person's promotion does not smuggle the old level past the rule."""
    stale = User.objects.get(username="ada")
    people.change_level(actor=None, person=cast.ada, level=6)
    with pytest.raises(Refused):
        people.change_level(actor=gwen, person=stale, level=2)


def test_own_level_is_for_others_to_change(cast: Cast, gwen: Actor) -> None:
    with pytest.raises(Refused) as refusal:
        people.change_level(actor=gwen, person=cast.gwen, level=4)
    assert refusal.value.code == "self"


@pytest.mark.parametrize("level", [0, 7, -1])
def test_levels_outside_one_to_six_are_field_errors(cast: Cast, level: int) -> None:
    with pytest.raises(Invalid):
        people.change_level(actor=None, person=cast.ada, level=level)


def test_another_tenants_people_do_not_exist(cast: Cast, sam: Actor) -> None:
    for act in (
        lambda: people.change_level(actor=sam, person=cast.ada, level=2),
        lambda: people.deactivate_person(actor=sam, person=cast.ada),
        lambda: people.grant_role(actor=sam, person=cast.ada, role="hr"),
        lambda: create_token(actor=sam, person=cast.ada),
        lambda: people.create_person(actor=sam, tenant=cast.acme, name="nina", level=2),
        lambda: create_role(actor=sam, tenant=cast.acme, name="legal"),
    ):
        with pytest.raises(NotFound):
            act()


def test_supergod_manages_another_tenant_only_after_entering_it(cast: Cast, zoe: Actor) -> None:
    with pytest.raises(NotFound):
        people.change_level(actor=zoe, person=cast.ada, level=5)
    inside = choose_tenant(actor=zoe, tenant=cast.acme)
    people.change_level(actor=inside, person=cast.ada, level=5)
    entered = Audit.objects.get(subject_id=cast.acme.pk, action="enter_tenant")
    assert (entered.actor_name, entered.actor_level, entered.tenant_id) == ("zoe", 6, cast.acme.pk)


def test_going_home_is_no_crossing(cast: Cast, zoe: Actor) -> None:
    inside = choose_tenant(actor=zoe, tenant=cast.acme)
    assert choose_tenant(actor=inside, tenant=cast.platform) == zoe
    assert "enter_tenant" not in actions_on(cast.platform)


def test_only_level_six_enters_another_tenant(cast: Cast, gwen: Actor) -> None:
    with pytest.raises(Refused):
        choose_tenant(actor=gwen, tenant=cast.globex)
    assert "enter_tenant" not in actions_on(cast.globex)


def test_roles_are_granted_and_revoked_once(cast: Cast, gwen: Actor) -> None:
    for _ in range(2):
        people.grant_role(actor=gwen, person=cast.uri, role="hr")
    for _ in range(2):
        people.revoke_role(actor=gwen, person=cast.uri, role="hr")
    assert actions_on(cast.uri) == ["create_person", "grant_role", "revoke_role"]
    assert not cast.uri.roles.exists()


def test_details_record_only_what_changed(cast: Cast, gwen: Actor) -> None:
    people.change_details(actor=gwen, person=cast.uri, full_name="Uri Adler", email=cast.uri.email)
    row = Audit.objects.get(subject_id=cast.uri.pk, action="change_details")
    assert (row.old, row.new) == ({"full_name": ""}, {"full_name": "Uri Adler"})


def test_nobody_is_superuser_and_staff_begins_at_level_four(cast: Cast) -> None:
    people_of_the_house = User.objects.all()
    assert {person.level >= 4 for person in people_of_the_house} == {True, False}
    for person in people_of_the_house:
        assert person.is_superuser is False
        assert person.is_staff is (person.level >= 4)


def test_weak_password_is_a_field_error(cast: Cast) -> None:
    with pytest.raises(Invalid) as refusal:
        people.create_person(actor=None, tenant=cast.acme, name="nina", level=2, password="12345")
    assert {error.path for error in refusal.value.errors} == {"password"}


def test_token_text_is_given_once_and_kept_hashed(cast: Cast, gwen: Actor, ada: Actor) -> None:
    token, plain = create_token(actor=ada, person=cast.ada, name="ci", expires_in=timedelta(days=1))
    assert plain not in str(Token.objects.filter(pk=token.pk).values().get())
    assert (token.tenant_id, token.name) == (cast.acme.pk, "ci")
    assert token.expiry is not None
    revoke_token(actor=gwen, token=token)
    assert not Token.objects.exists()
    assert actions_on(cast.ada)[1:] == ["create_token", "revoke_token"]


def test_everybody_makes_and_ends_their_own_tokens(cast: Cast, uri: Actor, ada: Actor) -> None:
    token, _ = create_token(actor=uri, person=cast.uri, name="mine")
    with pytest.raises(Refused):
        revoke_token(actor=ada, token=token)
    revoke_token(actor=uri, token=token)
    assert not Token.objects.exists()


def test_unknown_scope_is_refused(cast: Cast) -> None:
    with pytest.raises(Invalid) as refusal:
        create_token(actor=None, person=cast.ada, scopes=["read", "everything"])
    assert refusal.value.errors[0].code == "unknown"


def test_invitation_is_mailed_after_commit_with_a_link_that_sets_a_password(
    cast: Cast, gwen: Actor, mailoutbox: list[EmailMessage], django_capture_on_commit_callbacks: Any, client: Client
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        person = people.invite_person(actor=gwen, person=cast.uri, base_url="http://testserver")
        assert mailoutbox == []
    assert person.invited_at is not None
    (mail,) = mailoutbox
    assert mail.to == ["uri@acme.example"]
    link = next(word for word in str(mail.body).split() if word.startswith("http://testserver/"))
    page = client.get(link, follow=True)
    client.post(
        page.request["PATH_INFO"], {"new_password1": "a long enough word", "new_password2": "a long enough word"}
    )
    assert User.objects.get(username="uri").check_password("a long enough word")


def test_invitation_without_an_address_is_a_field_error(cast: Cast, gwen: Actor) -> None:
    person = people.create_person(actor=gwen, tenant=cast.acme, name="nina", level=2)
    with pytest.raises(Invalid) as refusal:
        people.invite_person(actor=gwen, person=person, base_url="http://testserver")
    assert refusal.value.errors[0].path == "email"


def test_mail_server_that_fails_leaves_the_person_to_be_invited_again(
    cast: Cast, gwen: Actor, settings: Any, django_capture_on_commit_callbacks: Any, caplog: pytest.LogCaptureFixture
) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 1
    with django_capture_on_commit_callbacks(execute=True):
        people.invite_person(actor=gwen, person=cast.uri, base_url="http://testserver")
    assert "invitation not sent" in caplog.text
    assert "uri@acme.example" not in caplog.text


def test_deactivation_ends_sessions_and_tokens_for_good(cast: Cast, gwen: Actor, client: Client) -> None:
    client.force_login(cast.ada, backend="django.contrib.auth.backends.ModelBackend")
    create_token(actor=None, person=cast.ada)
    people.deactivate_person(actor=gwen, person=cast.ada)
    assert not Token.objects.filter(user=cast.ada).exists()
    people.reactivate_person(actor=gwen, person=cast.ada)
    request = HttpRequest()
    request.session = client.session
    assert not get_user(request).is_authenticated
    assert actions_on(cast.ada)[-2:] == ["deactivate_person", "reactivate_person"]


def test_nobody_deactivates_themselves(cast: Cast, gwen: Actor) -> None:
    with pytest.raises(Refused) as refusal:
        people.deactivate_person(actor=gwen, person=cast.gwen)
    assert refusal.value.code == "self"


def test_a_deactivated_person_gets_no_token_and_no_invitation(cast: Cast, gwen: Actor) -> None:
    people.deactivate_person(actor=gwen, person=cast.uri)
    for act in (
        lambda: create_token(actor=None, person=cast.uri),
        lambda: people.invite_person(actor=gwen, person=cast.uri, base_url="http://testserver"),
    ):
        with pytest.raises(Refused) as refusal:
            act()
        assert refusal.value.code == "inactive"


def test_upgrade_names_the_makers_of_tokens_and_ends_those_made_for_others(cast: Cast) -> None:
    migration = import_module("engine.migrations.0030_token_makers")
    own, _ = create_token(actor=cast.actor("uri"), person=cast.uri, expires_in=timedelta(days=300))
    shell, _ = create_token(actor=None, person=cast.ada, expires_in=timedelta(days=300))
    others, _ = create_token(actor=cast.actor("adam"), person=cast.adam, expires_in=timedelta(days=300))
    made = Audit.objects.get(subject_id=cast.adam.pk, action="create_token")
    Token.objects.update(made_by="")
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute("UPDATE wf_audit SET actor_name = 'gwen' WHERE id = %s", [made.row_id])
        cursor.execute("SET LOCAL session_replication_role = origin")
        cursor.execute(
            migration.NAME.replace("FROM wf_audit a", "FROM wf_audit_acts a")
        )  # the table was then what the view is
        cursor.execute(migration.END)
    found = {token.pk: token for token in Token.objects.all()}
    assert [found[token.pk].made_by for token in (own, shell, others)] == ["uri", "command line", "gwen"]
    lives = [(found[token.pk].expiry - timezone.now()).days for token in (own, shell, others)]  # type: ignore[operator]
    assert lives == [299, 299, 29]
