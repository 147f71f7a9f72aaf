"""Write the OpenAPI document: drf-spectacular asks, the table in `described` answers.

Every refusal is a problem of one shape, so that each operation names its statuses and one component says the rest.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiExample, OpenApiParameter
from rest_framework.status import HTTP_201_CREATED

from engine.api.errors import MEDIA_TYPE, TITLES
from engine.api.etags import EditedView
from engine.api.operations_table import OPERATIONS, Operation
from engine.api.request_bodies import FileBody
from engine.api.views.base import ApiView
from engine.gallery import examples, gallery

ROOT = "/api/v1/"
ALWAYS = (400, 401, 403, 404, 405, 429, 503)
WITH_A_BODY = (409, 413, 415, 422)
OWN = tuple(sorted({status for told in OPERATIONS.values() for status in told.others}))
WRITING = frozenset({"POST", "PUT", "DELETE"})

KEY = OpenApiParameter(
    "Idempotency-Key",
    {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[ -~]+$"},
    OpenApiParameter.HEADER,
    description="Repeating a request with the same key and body changes nothing and returns the first answer.",
)

MATCH = OpenApiParameter(
    "If-Match",
    str,
    OpenApiParameter.HEADER,
    description="The `ETag` you read. The change is refused with 412 if it was edited since.",
)
SEEN = OpenApiParameter(
    "If-None-Match",
    str,
    OpenApiParameter.HEADER,
    description="The `ETag` you read. The answer is 304 if nothing changed.",
)

PROBLEM: dict[str, Any] = {
    "type": "object",
    "description": "An error. Further facts are given as additional members.",
    "required": ["type", "title", "status", "code", "detail", "errors"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "code": {"type": "string", "description": "Stable. All codes are listed in docs/rest.md."},
        "detail": {"type": "string"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["path", "code", "message"],
                "properties": {name: {"type": "string"} for name in ("path", "code", "message")},
            },
        },
    },
}

PASSING = frozenset({429, 503})
"""Refusals that go away by themselves; they say when."""
RETRY_AFTER: dict[str, Any] = {
    "Retry-After": {"description": "Seconds to wait before you send the request again.", "schema": {"type": "integer"}}
}

LOCATION: dict[str, Any] = {
    "Location": {"description": "The URL of what was created.", "schema": {"type": "string", "format": "uri"}}
}

ANYTHING_OR_NULL = [{}, {"type": "null"}]
"""Written for JSON that may be null; but null is anything too, and `oneOf` then takes neither."""

SECURITY: dict[str, Any] = {
    "token": {"type": "apiKey", "in": "header", "name": "Authorization", "description": "`Token …`"},
    "session": {"type": "apiKey", "in": "cookie", "name": "sessionid"},
}


def _examples() -> Mapping[tuple[str, str], Any]:
    """Show requests with workflows of the gallery."""
    return {
        ("POST", "templates/"): {"source": gallery()[examples.SENT]},
        ("POST", "templates/validate/"): {"source": gallery()[examples.SENT]},
        ("POST", "templates/{name}/versions/{number}/simulate/"): examples.SIMULATED,
        ("POST", "instances/"): examples.STARTED,
        ("POST", "instances/{instance_id}/signals/"): examples.SIGNALLED,
        ("POST", "tasks/{task_id}/complete/"): examples.ANSWERED,
        ("POST", "webhooks/"): examples.SUBSCRIBED,
    }


class ContractSchema(AutoSchema):
    """Describe an operation by its row in the table."""

    @property
    def _key(self) -> tuple[str, str]:
        return self.method, self.path.removeprefix(ROOT)

    @property
    def _told(self) -> Operation:
        return OPERATIONS[self._key]

    def get_operation_id(self) -> str:
        words = self._key[1].replace("diagram.svg", "diagram").strip("/").replace("-", "_").split("/")
        return "_".join([self.method.lower(), *(word.strip("{}") for word in words)])

    def get_tags(self) -> list[str]:
        return [self._key[1].partition("/")[0]]

    def get_summary(self) -> str:
        doc = getattr(self.view, self.method.lower()).__doc__ or ""
        return str(doc.strip().partition("\n")[0])

    def get_description(self) -> str:  # type: ignore[override]  # as its own parent does
        return ""

    def get_auth(self) -> list[dict[str, list[str]]]:
        return [{}] if self._told.open else [{name: []} for name in SECURITY]

    def get_override_parameters(self) -> list[Any]:
        keyed = self.method == "POST" and self._told.keyed
        tags = [SEEN if self.method == "GET" else MATCH] if self._is_edited else []
        return [*self._told.query, *([KEY] if keyed else []), *tags]

    @property
    def _is_edited(self) -> bool:
        return isinstance(self.view, EditedView)

    def get_request_serializer(self) -> Any:
        return self._told.body

    def get_response_serializers(self) -> Any:
        told = self._told
        return {told.status: told.answer, **({204: None} if told.or_nothing else {})}

    def get_examples(self) -> list[Any]:
        value = _examples().get(self._key)
        return [OpenApiExample("From the gallery", value=value, request_only=True)] if value else []

    def map_parsers(self) -> list[Any]:
        return ["multipart/form-data" if self._told.body is FileBody else "application/json"]

    def map_renderers(self, attribute: str) -> list[Any]:
        return list(self._told.media)

    def _get_response_bodies(self, direction: Any = "response") -> dict[str, Any]:
        """Add to the good answer every refusal that this kind of operation can give."""
        good = super()._get_response_bodies(direction)
        if self._told.status == HTTP_201_CREATED and isinstance(self.view, ApiView) and self.view.made:
            good[str(HTTP_201_CREATED)]["headers"] = LOCATION
        refused = (*ALWAYS, *(WITH_A_BODY if self.method in WRITING else ()), *self._told.others)
        if self._told.open:
            refused = (401, 405)
            good["503"] = good["200"]
        if self._is_edited and self.method != "GET":
            refused = (*refused, 412)
        if self._is_edited and self.method == "GET":
            good["304"] = {"description": "Not changed since you read it."}
        named = {str(status): {"$ref": f"#/components/responses/Refused{status}"} for status in refused}
        return dict(sorted({**good, **named}.items()))


def complete_document(result: dict[str, Any], generator: Any, request: Any, public: bool) -> dict[str, Any]:
    """Add what all operations share; bodies take no other fields than theirs."""
    parts = result["components"]
    for name, shape in parts["schemas"].items():
        if name.endswith("Body"):
            shape["additionalProperties"] = False
        for field in shape.get("properties", {}).values():
            if field.get("oneOf") == ANYTHING_OR_NULL:
                del field["oneOf"]
    parts["schemas"]["Problem"] = PROBLEM
    parts["responses"] = {f"Refused{status}": _refusal(status) for status in sorted((*ALWAYS, 412, *WITH_A_BODY, *OWN))}
    parts["securitySchemes"] = SECURITY
    return result


def _refusal(status: int) -> dict[str, Any]:
    return {
        "description": TITLES[status],
        **({"headers": RETRY_AFTER} if status in PASSING else {}),
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }


@cache
def document() -> dict[str, Any]:
    """Return the OpenAPI document of this release, written once per process."""
    written: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)
    return written
