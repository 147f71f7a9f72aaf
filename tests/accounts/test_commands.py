"""The seeding commands: scripts read standard output, people read standard error, refusals are one sentence."""

import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client
from knox.auth import TokenAuthentication
from pytest_django import Settings

from engine.checks import check_demo_people, check_proxies
from engine.errors import Invalid, WorkflowError
from engine.models import Audit
from tests.cast import Cast
from workflowplatform.accounts.models import Role, Tenant, Token, User
from workflowplatform.servers.errors import CannotStart
from workflowplatform.servers.proxies import checked_proxies


def run(*words: str) -> str:
    out = StringIO()
    call_command(*words, stdout=out, stderr=StringIO())
    return out.getvalue()


def code_of(refusal: CommandError) -> str:
    cause = refusal.__cause__
    assert isinstance(cause, WorkflowError)
    return cause.first_code if isinstance(cause, Invalid) else cause.code


def owner_of(plain: str) -> User:
    person, _ = TokenAuthentication().authenticate_credentials(plain.encode())
    assert isinstance(person, User)
    return person


def test_a_tenant_a_role_and_a_person_from_nothing(db: None) -> None:
    run("tenant", "create", "initech", "--title", "Initech")
    run("role", "create", "legal", "--tenant", "initech")
    run("person", "create", "peter", "--tenant", "initech", "--level", "4", "--role", "legal", "--role", "hr")
    peter = User.objects.get(username="peter")
    assert (str(peter.tenant), peter.level) == ("Initech", 4)
    assert [role.name for role in peter.roles.order_by("name")] == ["hr", "legal"]
    assert Audit.objects.get(subject_id=peter.pk).actor_name == "operator"


def test_person_with_token_prints_the_token_alone(cast: Cast) -> None:
    printed = run("person", "create", "nina", "--tenant", "acme", "--level", "4", "--token")
    assert printed == printed.strip() + "\n"
    assert owner_of(printed.strip()).username == "nina"


def test_token_prints_a_working_token(cast: Cast) -> None:
    assert owner_of(run("token", "Ada").strip()).username == "ada"


def test_password_given_at_the_command_line_signs_in(cast: Cast) -> None:
    run("person", "create", "nina", "--tenant", "acme", "--level", "2", "--password", "a long enough word")
    assert User.objects.get(username="nina").check_password("a long enough word")


@pytest.mark.parametrize(
    ("words", "code", "about"),
    [
        (("tenant", "create", "acme"), "taken", ""),
        (("tenant", "create", "No Good"), "invalid", ""),
        (("role", "create", "legal", "--tenant", "nowhere"), "not_found", "nowhere"),
        (("role", "create", "finance", "--tenant", "acme"), "taken", ""),
        (("person", "create", "nina", "--tenant", "acme", "--level", "7"), "unknown", "7"),
        (
            ("person", "create", "nina", "--tenant", "acme", "--level", "4", "--role", "finanse"),
            "unknown",
            "finanse",
        ),
        (("person", "create", "ada", "--tenant", "acme", "--level", "4"), "taken", ""),
        (("person", "create", "nina", "--tenant", "acme", "--level", "4", "--password", "123"), "invalid", "8"),
        (("person", "create", "nina", "--tenant", "acme", "--level", "6", "--as", "gwen"), "level", "5"),
        (("person", "create", "nina", "--tenant", "globex", "--level", "2", "--as", "gwen"), "level", "6"),
        (("person", "create", "nina", "--tenant", "acme", "--level", "2", "--as", "ada"), "level", "5"),
        (("person", "create", "ada", "--tenant", "acme", "--level", "2", "--as", "zoe"), "taken", ""),
        (("token", "nobody"), "not_found", "nobody"),
    ],
)
def test_bad_input_is_one_sentence_and_nothing_done(cast: Cast, words: tuple[str, ...], code: str, about: str) -> None:
    before = (
        Tenant.objects.count(),
        Role.objects.count(),
        User.objects.count(),
        Token.objects.count(),
        Audit.objects.count(),
    )
    with pytest.raises(CommandError) as refusal:
        run(*words)
    assert code_of(refusal.value) == code
    assert about in str(refusal.value)
    assert "\n" not in str(refusal.value)
    after = (
        Tenant.objects.count(),
        Role.objects.count(),
        User.objects.count(),
        Token.objects.count(),
        Audit.objects.count(),
    )
    assert after == before


def test_supergod_named_as_actor_crosses_and_is_audited(cast: Cast) -> None:
    run("person", "create", "nina", "--tenant", "acme", "--level", "2", "--as", "zoe")
    assert Audit.objects.get(subject_id=cast.acme.pk, action="enter_tenant").actor_name == "zoe"


def test_a_refused_command_exits_unclean_without_a_traceback() -> None:
    manage = Path(__file__).resolve().parents[2] / "manage.py"
    done = subprocess.run(
        [sys.executable, str(manage), "person", "create", "x", "--tenant", "nowhere"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert done.stdout == ""
    assert "Traceback" not in done.stderr


def test_reset_link_lets_a_person_choose_a_password_and_is_audited(cast: Cast, settings: Settings) -> None:
    settings.WORKFLOW_PUBLIC_URL = "http://testserver"
    link = run("reset_link", "uri").strip()
    assert link.startswith("http://testserver/accounts/invitation/")
    client = Client()
    place = client.get(link, follow=True).redirect_chain[-1][0]
    client.post(place, {"new_password1": "a long enough word", "new_password2": "a long enough word"})
    assert User.objects.get(username="uri").check_password("a long enough word")
    assert "/accounts/reset/" in run("reset_link", "uri")
    rows = Audit.objects.filter(subject_id=cast.uri.pk, actor_name="operator").order_by("seq")
    assert [(row.action, row.new.get("made_by")) for row in rows][1:] == [
        ("invite_person", "command line"),
        ("send_reset", "command line"),
    ]


def test_service_account_is_created_and_gets_no_link(cast: Cast) -> None:
    token = run("person", "create", "robot", "--tenant", "acme", "--level", "2", "--kind", "service", "--token").strip()
    assert owner_of(token).kind == "service"
    for words in (("reset_link", "robot"), ("person", "create", "r2", "--tenant", "acme", "--level", "2", "--kind",
                                            "service", "--password", "a long enough word")):  # fmt: skip
        with pytest.raises(CommandError) as refusal:
            run(*words)
        assert code_of(refusal.value) == "service"


def test_token_of_a_new_person_is_the_operators_whoever_creates_them(cast: Cast) -> None:
    printed = run("person", "create", "nina", "--tenant", "acme", "--level", "4", "--token", "--as", "gwen")
    assert Token.objects.get(user=owner_of(printed.strip())).made_by == "command line"


@pytest.mark.security("demo passwords open nothing outside")
def test_deploy_check_refuses_demo_passwords(cast: Cast) -> None:
    assert check_demo_people() == []
    cast.gwen.set_password("demo-gwen")
    cast.gwen.save(update_fields=["password"])
    (found,) = check_demo_people()
    assert (found.id, found.is_serious()) == ("workflow.E012", True)
    User.objects.filter(pk=cast.gwen.pk).update(is_active=False)
    assert check_demo_people() == []


def test_deploy_check_asks_for_the_proxies_behind_one(settings: Settings) -> None:
    assert check_proxies() == []
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    assert [found.id for found in check_proxies()] == ["workflow.W003"]
    settings.WORKFLOW_PROXIES = ["127.0.0.1"]
    assert check_proxies() == []


def test_proxies_that_are_no_networks_stop_the_start() -> None:
    assert checked_proxies(["10.0.0.1/24", "::1", "unix"]) == ["10.0.0.1/24", "::1", "unix"]
    for word in ("proxy.example.com", "10.0.0.0/33", "*"):
        with pytest.raises(CannotStart, match="WORKFLOW_PROXIES"):
            checked_proxies([word])
