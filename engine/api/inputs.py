"""What may be sent: one serializer a body. Unknown fields are refused by name; nothing is guessed from a wrong type."""

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request

from engine.errors import Invalid
from engine.kernel.forms import FieldError

LONGEST_SOURCE = 1_000_000


class Text(serializers.CharField):
    """A text; a number is not one."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"trim_whitespace": False, **kwargs})

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return str(super().to_internal_value(data))


class Whole(serializers.IntegerField):
    """A whole number; a text with digits is not one."""

    def to_internal_value(self, data: Any) -> int:
        if not isinstance(data, int) or isinstance(data, bool):
            self.fail("invalid")
        return int(super().to_internal_value(data))


class Values(serializers.JSONField):
    """An object with any JSON inside."""

    default_error_messages = {"object": "This must be an object."}

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, dict):
            self.fail("object")
        return super().to_internal_value(data)


class Body(serializers.Serializer[Any]):
    """A body: an object with the declared fields and no others."""

    def to_internal_value(self, data: Any) -> Any:
        unknown = sorted(set(data) - set(self.fields)) if isinstance(data, Mapping) else []
        if unknown:
            raise Invalid(
                f"There is no field {unknown[0]} here.",
                [FieldError(name, "unknown", "There is no such field here.") for name in unknown],
            )
        return super().to_internal_value(data)


class NoBody(Body):
    """Nothing need be said."""


class SourceBody(Body):
    source = Text(max_length=LONGEST_SOURCE, allow_blank=True)  # type: ignore[assignment]


class DraftBody(SourceBody):
    revision = Whole(
        required=False, min_value=1, help_text="The one you began from; another author's save is then kept."
    )


class StartBody(Body):
    template = Text(max_length=100)
    version = Whole(required=False, allow_null=True, min_value=1, max_value=2**31 - 1)
    input = serializers.JSONField(required=False, default=dict)
    reference = Text(required=False, allow_null=True, max_length=200)


class CompleteBody(Body):
    outcome = Text(required=False, allow_null=True, max_length=100)
    values = Values(required=False, default=dict)
    comment = Text(required=False, allow_blank=True, default="", max_length=10_000)


class ReasonBody(Body):
    reason = Text(required=False, allow_blank=True, default="", max_length=1_000)


def read_body(request: Request, shape: type[Body]) -> dict[str, Any]:
    """Return what was sent, checked, or refuse it field by field."""
    body = shape(data=request.data)
    body.is_valid(raise_exception=True)
    return dict(body.validated_data)
