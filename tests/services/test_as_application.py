"""What only the application's role is refused: tests ask as the product does, behind the wall, one commit at a time.

Most tests run as the owner of the tables and inside one transaction. What needs a crossing, or begins no transaction of its
own, passes there and breaks in the product.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from engine.models import Audit, Erasure
from engine.services.audit.verification import verify_everything
from engine.services.people.accounts import create_person
from engine.services.people.tokens import create_token
from tests.api.conftest import Caller
from tests.application import as_application
from tests.cast import Cast
from tests.workflows import APPROVAL, activated
from workflowplatform.accounts.models import Tenant, Token, User
from workflowplatform.database import tenancy
from workflowplatform.database.row_security import TABLES

pytestmark = pytest.mark.django_db(transaction=True)

ERASED = pytest.mark.security("a person can be erased and the chains still verify")

PASSWORD = "quite-Long-9-words!x"


@contextmanager
def behind_the_wall() -> Iterator[None]:
    """Be the product: the application's role, which sees nothing before it says for whom."""
    with as_application(outside=tenancy.NOBODY):
        yield


def browser_of(person: User) -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(person, backend="workflowplatform.accounts.backends.PeopleBackend")
    return client


def caller_of(person: User) -> Caller:
    return Caller(create_token(actor=None, person=person, name="tests")[1])


def enter(client: Client, tenant: Tenant) -> None:
    """Let a person of level 6 work in a tenant."""
    assert client.post(f"/admin/accounts/tenant/{tenant.pk}/enter/").status_code == 302


def start_by(client: Client) -> Any:
    """Start a workflow over REST in a browser's session, in the tenant that it has chosen."""
    body = {"template": "approval", "input": {"amount": 12}}
    answer = client.post("/api/v1/instances/", body, content_type="application/json")
    assert answer.status_code == 201, answer.content
    return answer.json()


def tables_that_name(name: str) -> set[str]:
    """Return the tables that still contain a name, in any row of any tenant."""
    with connection.cursor() as cursor:
        cursor.execute(TABLES)
        tables = [table for table, *_ in cursor.fetchall() if table.startswith("wf_")]
        found = set()
        for table in tables:
            cursor.execute(f"SELECT EXISTS (SELECT FROM {table} t WHERE t::text ~ %s)", [rf"\y{name}\y"])
            if cursor.fetchone()[0]:
                found.add(table)
    return found


# Erasing


def second_of_level_five(cast: Cast) -> User:
    return create_person(actor=None, tenant=cast.acme, name="greta", level=5)


@ERASED
def test_two_of_level_five_erase_a_person_in_the_admin(committed_cast: Cast) -> None:
    cast = committed_cast
    first, second = browser_of(cast.gwen), browser_of(second_of_level_five(cast))
    address = f"/admin/accounts/user/{cast.adam.pk}/erase/"
    with behind_the_wall():
        assert first.post(address, {"answer": "by request 4711"}).status_code == 302
        assert second.post(address, {"answer": ""}).status_code == 302
    assert Erasure.objects.get(person_id=cast.adam.pk).done_at is not None
    assert tables_that_name("adam") == set()
    assert verify_everything().broken == ()


@ERASED
def test_two_of_level_five_erase_a_person_over_rest(committed_cast: Cast) -> None:
    cast = committed_cast
    first, second = caller_of(cast.gwen), caller_of(second_of_level_five(cast))
    with behind_the_wall():
        assert first.post("people/adam/erase/", {"reason": "by request 4711"}).status_code == 200
        assert first("DELETE", "people/adam/erase/").status_code == 204
        assert first.post("people/adam/erase/", {"reason": "by request 4711"}).status_code == 200
        answer = second.post("people/adam/erase/", {"reason": "yes"})
        assert (answer.status_code, answer.json()["mentions"]) == (200, [])
    assert tables_that_name("adam") == set()
    assert verify_everything().broken == ()


@ERASED
def test_who_worked_in_another_tenant_is_erased_there_too(committed_cast: Cast) -> None:
    """Level 6 leaves a name wherever it works; the second level 6, who agrees, sees one tenant at a time."""
    cast = committed_cast
    activated(cast.actor("gwen"), APPROVAL)
    yara = create_person(actor=None, tenant=cast.platform, name="yara", level=6)
    xena = create_person(actor=None, tenant=cast.platform, name="xena", level=6)
    leaving, first, second = browser_of(cast.zoe), browser_of(yara), browser_of(xena)
    address = f"/admin/accounts/user/{cast.zoe.pk}/erase/"
    with behind_the_wall():
        enter(leaving, cast.acme)
        start_by(leaving)
    assert Audit.objects.filter(tenant=cast.acme, actor_name="zoe").exists()
    with behind_the_wall():
        assert first.post(address, {"answer": "by request 4711"}).status_code == 302
        assert second.post(address, {"answer": ""}).status_code == 302
    assert Erasure.objects.get(person_id=cast.zoe.pk).done_at is not None
    assert tables_that_name("zoe") == set()
    assert verify_everything().broken == ()


@pytest.mark.security("four eyes hold on every route")
def test_four_eyes_still_know_an_erased_service_account_that_level_6_made_elsewhere(committed_cast: Cast) -> None:
    """Its maker is in another tenant, and would count as another person than the account under its pseudonym."""
    cast = committed_cast
    maker = browser_of(cast.zoe)
    first, second = caller_of(cast.gwen), caller_of(second_of_level_five(cast))
    with behind_the_wall():
        enter(maker, cast.acme)
        body = {"name": "robot", "level": 4, "kind": "service"}
        assert maker.post("/api/v1/people/", body, content_type="application/json").status_code == 201
        assert first.post("people/robot/erase/", {"reason": "not used any more"}).status_code == 200
        assert second.post("people/robot/erase/", {"reason": "yes"}).status_code == 200
    erased = Erasure.objects.get(tenant=cast.acme)
    assert User.objects.get(pk=cast.zoe.pk).same_eyes == [erased.pseudonym]
    assert verify_everything().broken == ()


# Level 6 in another tenant


@pytest.mark.security("tokens have an end")
def test_a_new_password_ends_the_tokens_of_who_works_in_another_tenant(committed_cast: Cast) -> None:
    cast = committed_cast
    cast.zoe.set_password(PASSWORD)
    cast.zoe.save(update_fields=["password"])
    create_token(actor=None, person=cast.zoe, name="hers")
    client = browser_of(cast.zoe)
    with behind_the_wall():
        enter(client, cast.acme)
        new = {"new_password1": f"{PASSWORD}-2", "new_password2": f"{PASSWORD}-2"}
        answer = client.post("/accounts/password/", {"old_password": PASSWORD, "end_tokens": "on", **new})
        assert answer.status_code == 302
    assert not Token.objects.filter(user=cast.zoe).exists()
    assert Audit.objects.filter(subject_id=cast.zoe.pk, action="revoke_token").exists()
