"""What one field of a body takes: a text is no number, a number no text, and a moment names its zone."""

from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from engine.db.keyset_pagination import moment
from engine.kernel.timing.periods import parse_period

DAY = len("2030-01-07")


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


class Flag(serializers.BooleanField):
    """True or false; a word is neither."""

    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            self.fail("invalid", input=data)
        return data


@extend_schema_field(OpenApiTypes.DATETIME)
class MomentText(serializers.Field[datetime, Any, str, Any]):
    """A moment that names its zone."""

    default_error_messages = {"invalid": "Enter a time with its time zone, such as 2030-01-07T09:00:00Z."}

    def to_internal_value(self, data: Any) -> datetime:
        try:
            return moment(data)
        except (ValueError, TypeError):
            self.fail("invalid")


class DurationText(Text):
    """A span of time as ISO 8601 writes it."""

    default_error_messages = {"duration": "Enter a duration such as P30D or PT12H."}

    def to_internal_value(self, data: Any) -> Any:
        try:
            return parse_period(super().to_internal_value(data)).length
        except (ValueError, OverflowError):
            self.fail("duration")


@extend_schema_field(OpenApiTypes.OBJECT)
class Values(serializers.JSONField):
    """An object with any JSON inside."""

    default_error_messages = {"object": "This must be an object."}

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, dict):
            self.fail("object")
        return super().to_internal_value(data)


class Word(serializers.ChoiceField):
    """One of a few words; the error for another one lists them."""

    def __init__(self, choices: Sequence[str], **kwargs: Any) -> None:
        super().__init__(choices, error_messages={"invalid_choice": f"Use one of {', '.join(choices)}."}, **kwargs)


@extend_schema_field(OpenApiTypes.DATE)
class DayOrMoment(serializers.Field[Any, Any, str, Any]):
    """A day, in the person's own zone, or a moment that names its zone."""

    default_error_messages = {"invalid": "Enter a day such as 2030-01-07, or a time with its time zone."}

    def to_internal_value(self, data: Any) -> date | datetime:
        try:
            return date.fromisoformat(data) if len(data) == DAY else moment(data)
        except (ValueError, TypeError):
            self.fail("invalid")
