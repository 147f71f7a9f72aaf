"""What a tenant's workflows need, over REST: secrets, whose values only go in, and business calendars."""

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from engine.api.etags import EditedView, matched
from engine.api.filters import narrowed
from engine.api.pagination import answer_page
from engine.api.request_bodies import CalendarBody, SecretBody, read_body
from engine.api.serializers import CalendarSerializer, SecretSerializer
from engine.api.views.base import ApiView
from engine.db.keyset_pagination import BY_NAME
from engine.services.tenants import settings as tenant_settings


def shape_secrets(rows: list[Any]) -> list[Any]:
    """Write secrets without their values."""
    return SecretSerializer.write_all(rows)


def shape_calendars(rows: list[Any]) -> list[Any]:
    """Write calendars."""
    return CalendarSerializer.write_all(rows)


class SecretsView(ApiView):
    def get(self, request: Request) -> Response:
        """List the names of the tenant's secrets."""
        rows = narrowed(request, tenant_settings.list_secrets(actor=self.actor), {})
        return Response(answer_page(request, rows, BY_NAME, shape_secrets))


class SecretView(EditedView):
    makes = True

    def hold(self, name: str) -> object:
        return tenant_settings.hold_secret(actor=self.actor, name=name)

    def get(self, request: Request, name: str) -> Response:
        """Show who set a secret and when; its value is never shown."""
        return Response(SecretSerializer.write(tenant_settings.find_secret(actor=self.actor, name=name)))

    @matched
    def put(self, request: Request, name: str) -> Response:
        """Create or replace a secret."""
        secret = tenant_settings.put_secret(actor=self.actor, name=name, **read_body(request, SecretBody))
        return Response(SecretSerializer.write(secret))

    @matched
    def delete(self, request: Request, name: str) -> Response:
        """Delete a secret."""
        tenant_settings.delete_secret(actor=self.actor, name=name)
        return Response(status=204)


class CalendarsView(ApiView):
    def get(self, request: Request) -> Response:
        """List the tenant's calendars."""
        rows = narrowed(request, tenant_settings.list_calendars(actor=self.actor), {})
        return Response(answer_page(request, rows, BY_NAME, shape_calendars))


class CalendarView(EditedView):
    makes = True

    def hold(self, name: str) -> object:
        return tenant_settings.hold_calendar(actor=self.actor, name=name)

    def get(self, request: Request, name: str) -> Response:
        """Show one calendar."""
        return Response(CalendarSerializer.write(tenant_settings.find_calendar(actor=self.actor, name=name)))

    @matched
    def put(self, request: Request, name: str) -> Response:
        """Create or replace a calendar."""
        content = read_body(request, CalendarBody)
        title = content.pop("title", "")
        calendar = tenant_settings.put_calendar(actor=self.actor, name=name, title=title, content=content)
        return Response(CalendarSerializer.write(calendar))

    @matched
    def delete(self, request: Request, name: str) -> Response:
        """Delete a calendar that is not in use."""
        tenant_settings.delete_calendar(actor=self.actor, name=name)
        return Response(status=204)
