"""The OpenAPI document and the page that shows it; both are public, as they contain nothing of a tenant."""

import json

from django.http import HttpResponse
from django.shortcuts import render
from drf_spectacular.renderers import OpenApiYamlRenderer
from rest_framework.permissions import AllowAny
from rest_framework.request import Request

from engine.api.openapi import document
from engine.api.views.base import ApiView
from engine.errors import Invalid
from engine.kernel.forms import FieldError

FORMATS = {
    "json": ("application/vnd.oai.openapi+json", lambda: json.dumps(document(), ensure_ascii=False)),
    "yaml": ("application/vnd.oai.openapi", lambda: OpenApiYamlRenderer().render(document()).decode()),
}


class OpenView(ApiView):
    """Public, with or without a token."""

    schema = None
    permission_classes = (AllowAny,)
    authentication_classes = ()


class SchemaView(OpenView):
    def get(self, request: Request) -> HttpResponse:
        """Return the OpenAPI document as JSON, or as YAML with `?format=yaml`."""
        asked = request.query_params.get("format", "json")
        if asked not in FORMATS:
            message = f"Use one of {', '.join(FORMATS)}."
            raise Invalid(message, [FieldError("format", "invalid", message)])
        kind, write = FORMATS[asked]
        return HttpResponse(write(), content_type=f"{kind}; charset=utf-8")


class DocsView(OpenView):
    def get(self, request: Request) -> HttpResponse:
        """Show the document as a page where requests can be tried."""
        return render(request._request, "api/docs.html")
