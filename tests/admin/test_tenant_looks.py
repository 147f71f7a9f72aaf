"""A person of level 6 who looks at another tenant leaves a row in its audit: one for each person, tenant and day."""

from typing import Any

import pytest
from django.db import connection, transaction

from engine.models import Audit
from engine.services.audit.verification import verify_everything
from tests.admin.conftest import SignIn
from tests.cast import Cast
from workflowplatform.accounts.models import Tenant

pytestmark = pytest.mark.security("level 6 leaves a row in every tenant it looks at")


def looks(tenant: Tenant) -> int:
    return Audit.objects.filter(subject_id=tenant.pk, action="look_into_tenant", actor_name="zoe").count()


def a_day_passes() -> None:
    """Move what was noted into yesterday, past the trigger that keeps it."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(
            "UPDATE wf_audit SET at = at - interval '1 day' WHERE id IN ("
            "SELECT row_id FROM wf_audit_acts WHERE action IN ('enter_tenant', 'look_into_tenant'))"
        )
        cursor.execute("SET LOCAL session_replication_role = origin")


def enter(browser: Any, tenant: Tenant) -> None:
    browser.post(f"/admin/accounts/tenant/{tenant.pk}/enter/")


def test_the_list_of_tenants_is_a_look_at_each_that_it_shows(cast: Cast, sign_in: SignIn) -> None:
    browser = sign_in("zoe")
    browser.get("/admin/accounts/tenant/?q=acme")
    assert (looks(cast.acme), looks(cast.globex)) == (1, 0)
    for _ in range(2):
        browser.get("/admin/accounts/tenant/")
    assert (looks(cast.acme), looks(cast.globex), looks(cast.platform)) == (1, 1, 0)
    a_day_passes()
    browser.get("/admin/accounts/tenant/")
    assert (looks(cast.acme), looks(cast.globex)) == (2, 2)


@pytest.mark.parametrize("page", ["change/", "history/"])
def test_a_tenants_own_pages_are_a_look(cast: Cast, sign_in: SignIn, page: str) -> None:
    browser = sign_in("zoe")
    for _ in range(2):
        assert browser.get(f"/admin/accounts/tenant/{cast.acme.pk}/{page}").status_code == 200
    assert (looks(cast.acme), looks(cast.globex)) == (1, 0)
    row = Audit.objects.get(subject_id=cast.acme.pk, action="look_into_tenant")
    assert (row.tenant_id, row.actor_level) == (cast.acme.pk, 6)
    assert str(cast.acme.pk) in str(row.new)
    assert verify_everything().broken == ()


@pytest.mark.parametrize("address", ["/admin/engine/instance/", "/inbox/", "/api/v1/instances/"])
def test_who_stays_for_days_is_noted_on_each(cast: Cast, sign_in: SignIn, address: str) -> None:
    browser = sign_in("zoe")
    enter(browser, cast.acme)
    browser.get(address)
    assert Audit.objects.filter(subject_id=cast.acme.pk, action="enter_tenant").count() == 1
    noted = looks(cast.acme)
    a_day_passes()
    session = browser.session
    session["looked_on"] = "yesterday"
    session.save()
    for _ in range(3):
        assert browser.get(address).status_code == 200
    assert looks(cast.acme) == noted + 1


def test_everybody_at_home_leaves_nothing(cast: Cast, sign_in: SignIn) -> None:
    for name in ("zoe", "gwen", "ada"):
        browser = sign_in(name)
        for address in ("/admin/", "/inbox/", "/admin/accounts/user/"):
            browser.get(address)
    assert not Audit.objects.filter(action="look_into_tenant").exists()
