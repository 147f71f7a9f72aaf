"""Export and erase people over REST: level 5, two of them, and never by a narrowed token."""

import pytest

from engine.services.people.accounts import create_person
from engine.services.people.tokens import create_token
from tests.api.conftest import Caller, Callers
from tests.cast import Cast
from workflowplatform.accounts.models import User

pytestmark = pytest.mark.security("a person can be erased and the chains still verify")


def test_two_of_level_five_erase_a_person(call: Callers, cast: Cast) -> None:
    create_person(actor=None, tenant=cast.acme, name="greta", level=5)
    gwen, greta = call("gwen"), call("greta")
    assert gwen.post("people/adam/erase/").status_code == 400
    asked = gwen.post("people/adam/erase/", {"reason": "asked for it"})
    assert (asked.status_code, asked.json()["erasure"]["done_at"]) == (200, None)
    assert gwen.post("people/adam/erase/").json()["code"] == "four_eyes"
    assert gwen("DELETE", "people/adam/erase/").status_code == 204
    gwen.post("people/adam/erase/", {"reason": "asked for it"})
    done = greta.post("people/adam/erase/")
    pseudonym = done.json()["erasure"]["pseudonym"]
    assert (done.status_code, gwen.get("people/adam/").status_code) == (200, 404)
    assert gwen.get(f"people/{pseudonym}/").json()["email"] == ""
    assert gwen.get("audit/verify/").json()["ok"] is True
    back = gwen("PUT", f"people/{pseudonym}/", {"active": True})
    assert (back.status_code, back.json()["code"]) == (403, "erased")


def test_people_take_their_own_along(call: Callers, cast: Cast) -> None:
    own = call("uri").post("people/uri/export/").json()
    assert (own["person"]["username"], "password" in own["person"]) == ("uri", False)
    assert call("gwen").post("people/uri/export/").status_code == 200
    assert call("ada").post("people/uri/export/").status_code == 403
    assert call("sam").post("people/uri/export/").status_code == 404


def test_a_narrowed_token_exports_and_erases_nobody(cast: Cast) -> None:
    person = User.objects.get(username="gwen")
    narrowed = Caller(create_token(actor=None, person=person, name="tests", scopes=["read", "operate"])[1])
    for address in ("people/uri/export/", "people/uri/erase/"):
        assert narrowed.post(address).json()["code"] == "scope"


def test_the_audit_is_exported_with_a_signed_end(call: Callers, cast: Cast) -> None:
    for form, kind in {"json": "application/x-ndjson", "csv": "text/csv; charset=utf-8"}.items():
        answer = call("ada").get("audit/export/", format=form, action="create_person")
        lines = answer.getvalue().decode().splitlines()  # type: ignore[attr-defined]
        assert (answer["Content-Type"], len(lines)) == (kind, 5 if form == "json" else 6)
        assert "#signed" in lines[-1]
