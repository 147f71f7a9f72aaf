"""The seeding commands: scripts read standard output, people read standard error, refusals are one sentence."""

import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from knox.auth import TokenAuthentication

from engine.models import Audit
from tests.cast import Cast
from workflowplatform.accounts.models import Role, Tenant, Token, User


def run(*words: str) -> str:
    out = StringIO()
    call_command(*words, stdout=out, stderr=StringIO())
    return out.getvalue()


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
    ("words", "sentence"),
    [
        (("tenant", "create", "acme"), "already exists"),
        (("tenant", "create", "No Good"), "small letters"),
        (("role", "create", "legal", "--tenant", "nowhere"), "There is no tenant nowhere."),
        (("role", "create", "finance", "--tenant", "acme"), "already exists"),
        (("person", "create", "nina", "--tenant", "acme", "--level", "7"), "There is no level 7"),
        (
            ("person", "create", "nina", "--tenant", "acme", "--level", "4", "--role", "finanse"),
            "There is no role finanse.",
        ),
        (("person", "create", "ada", "--tenant", "acme", "--level", "4"), "already exists"),
        (("person", "create", "nina", "--tenant", "acme", "--level", "4", "--password", "123"), "too short"),
        (("person", "create", "nina", "--tenant", "acme", "--level", "6", "--as", "gwen"), "above their own"),
        (("person", "create", "nina", "--tenant", "globex", "--level", "2", "--as", "gwen"), "another tenant"),
        (("person", "create", "nina", "--tenant", "acme", "--level", "2", "--as", "ada"), "Only level 5"),
        (("person", "create", "ada", "--tenant", "acme", "--level", "2", "--as", "zoe"), "already exists"),
        (("token", "nobody"), "There is no person nobody."),
    ],
)
def test_bad_input_is_one_sentence_and_nothing_done(cast: Cast, words: tuple[str, ...], sentence: str) -> None:
    before = (
        Tenant.objects.count(),
        Role.objects.count(),
        User.objects.count(),
        Token.objects.count(),
        Audit.objects.count(),
    )
    with pytest.raises(CommandError, match=sentence) as refusal:
        run(*words)
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
