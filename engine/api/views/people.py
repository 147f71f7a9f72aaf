"""People, roles and tokens over REST, and the figures of their tenant."""

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from engine import access
from engine.api.etags import EditedView, matched
from engine.api.filters import narrowed
from engine.api.idempotency import once, refuse_key
from engine.api.pagination import answer_page
from engine.api.request_bodies import (
    ErasureBody,
    NewPersonBody,
    NewRoleBody,
    NewTokenBody,
    NoBody,
    PersonBody,
    ResetBody,
    RoleBody,
    naming,
    read_body,
)
from engine.api.response_shapes import (
    ErasedSerializer,
    NewTokenSerializer,
    PersonSerializer,
    RoleSerializer,
    TokenSerializer,
)
from engine.api.views.base import ApiView
from engine.db.keyset_pagination import BY_NAME, BY_TOKEN, BY_USERNAME
from engine.services.insights import stats
from engine.services.people import accounts as people
from engine.services.people import directory, erasure
from engine.services.people.person_export import export_person
from engine.services.people.tenants_and_roles import create_role, mark_role, rename_role
from engine.services.people.tokens import create_token, revoke_token
from workflowplatform.http.public_links import origin_for


def shape_people(rows: list[Any]) -> list[Any]:
    """Write people."""
    return PersonSerializer.write_all(rows)


def shape_roles(rows: list[Any]) -> list[Any]:
    """Write roles."""
    return RoleSerializer.write_all(rows)


def shape_tokens(rows: list[Any]) -> list[Any]:
    """Write tokens without their text."""
    return TokenSerializer.write_all(rows)


class PeopleView(ApiView):
    made = "{name}/"

    def get(self, request: Request) -> Response:
        """List the people that you can see."""
        rows = narrowed(request, directory.list_people(actor=self.actor), {})
        return Response(answer_page(request, rows, BY_USERNAME, shape_people))

    @once
    def post(self, request: Request) -> Response:
        """Add a person to the tenant; they sign in by invitation, or use a token."""
        body = read_body(request, NewPersonBody)
        made = people.create_person(actor=self.actor, tenant=directory.tenant_of(self.actor), **body)
        return Response(PersonSerializer.write(made), status=201)


class PersonView(EditedView):
    passing = frozenset({"email_held_until"})

    def hold(self, name: str) -> object:
        return directory.hold_person(actor=self.actor, name=name)

    def get(self, request: Request, name: str) -> Response:
        """Show one person."""
        return Response(PersonSerializer.write(directory.find_person(actor=self.actor, name=name)))

    @matched
    def put(self, request: Request, name: str) -> Response:
        """Change the fields that are given: name, level, roles, or whether the account is active."""
        body = read_body(request, PersonBody)
        return Response(PersonSerializer.write(directory.change_person(actor=self.actor, name=name, **body)))


class ResetView(ApiView):
    @once
    def post(self, request: Request, name: str) -> Response:
        """Send a person a link for choosing a password."""
        body = read_body(request, ResetBody)
        person = directory.find_person(actor=self.actor, name=name)
        people.send_reset_link(actor=self.actor, person=person, base_url=origin_for(request._request), **body)
        return Response(PersonSerializer.write(directory.find_person(actor=self.actor, name=name)))


class ConfirmEmailView(ApiView):
    @once
    def post(self, request: Request, name: str) -> Response:
        """Confirm a changed e-mail address as a second person of level 5, so that links are sent there at once."""
        read_body(request, NoBody)
        person = directory.find_person(actor=self.actor, name=name)
        people.confirm_email(actor=self.actor, person=person)
        return Response(PersonSerializer.write(directory.find_person(actor=self.actor, name=name)))


class ErasureView(ApiView):
    def post(self, request: Request, name: str) -> Response:
        """Request the erasure of a person, or approve another person's request, which erases at once."""
        refuse_key(request, "An erasure")
        body = read_body(request, ErasureBody)
        person = directory.find_person(actor=self.actor, name=name)
        done = erasure.seek_erasure(actor=self.actor, person=person, reason=body["reason"])
        return Response(ErasedSerializer.write(done))

    def delete(self, request: Request, name: str) -> Response:
        """Withdraw the request to erase a person."""
        erasure.withdraw_erasure(actor=self.actor, person=directory.find_person(actor=self.actor, name=name))
        return Response(status=204)


class PersonExportView(ApiView):
    def post(self, request: Request, name: str) -> Response:
        """Export all data of a person; the audit records it."""
        refuse_key(request, "A person's data")
        read_body(request, NoBody)
        person = directory.find_person(actor=self.actor, name=name)
        return Response(export_person(actor=self.actor, person=person))


class RolesView(ApiView):
    made = "{name}/"

    def get(self, request: Request) -> Response:
        """List the roles of the tenant."""
        rows = narrowed(request, access.visible_roles(self.actor), {})
        return Response(answer_page(request, rows, BY_NAME, shape_roles))

    @once
    def post(self, request: Request) -> Response:
        """Add a role that tasks can be offered to."""
        body = read_body(request, NewRoleBody)
        made = create_role(actor=self.actor, tenant=directory.tenant_of(self.actor), **body)
        return Response(RoleSerializer.write(made), status=201)


class RoleView(EditedView):
    def hold(self, name: str) -> object:
        return directory.hold_role(actor=self.actor, name=name)

    def get(self, request: Request, name: str) -> Response:
        """Show one role."""
        return Response(RoleSerializer.write(directory.find_role(actor=self.actor, name=name)))

    @matched
    def put(self, request: Request, name: str) -> Response:
        """Change the title of a role, or whether it is confidential."""
        role = directory.find_role(actor=self.actor, name=name)
        body = read_body(request, RoleBody)
        if "title" in body:
            role = rename_role(actor=self.actor, role=role, title=body["title"])
        if "confidential" in body:
            role = mark_role(actor=self.actor, role=role, confidential=body["confidential"])
        return Response(RoleSerializer.write(role))


class TokensView(ApiView):
    made = "{key}/"

    def get(self, request: Request) -> Response:
        """List your own tokens; from level 5, all tokens of the tenant."""
        rows = narrowed(request, access.visible_tokens(self.actor), {})
        return Response(answer_page(request, rows, BY_TOKEN, shape_tokens))

    def post(self, request: Request) -> Response:
        """Create a token. Its text is returned only once, so an Idempotency-Key is not accepted."""
        refuse_key(request, "A new token's text")
        body = read_body(request, NewTokenBody)
        with naming("person"):
            person = directory.find_person(actor=self.actor, name=body.pop("person", None) or self.actor.name)
        token, plain = create_token(actor=self.actor, person=person, **body)
        token.token = plain
        return Response(NewTokenSerializer.write(token), status=201)


class TokenView(ApiView):
    def get(self, request: Request, key: str) -> Response:
        """Show one token without its text."""
        return Response(TokenSerializer.write(directory.find_token(actor=self.actor, key=key)))

    def delete(self, request: Request, key: str) -> Response:
        """Revoke a token."""
        revoke_token(actor=self.actor, token=directory.find_token(actor=self.actor, key=key))
        return Response(status=204)


class StatsView(ApiView):
    def get(self, request: Request) -> Response:
        """Return the figures of the dashboard."""
        return Response(stats.tenant_stats(actor=self.actor))
