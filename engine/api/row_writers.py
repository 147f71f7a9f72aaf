"""Write rows as their serializer says, by functions made of its fields once: the framework's own way looks at each field anew.

A serializer stays the one description of a shape: of what is answered and of what the OpenAPI document says. What is not
special about a field is left to the field itself.
"""

from collections.abc import Callable, Collection, Mapping
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Any

from rest_framework import serializers
from rest_framework.fields import SkipField, _UnvalidatedField, empty

Get = Callable[[Any], Any]
Write = Callable[[Any], dict[str, Any]]


def writer_of(maker: serializers.Serializer[Any], only: Collection[str] = ()) -> Write:
    """Return what writes a row by these fields of a serializer, or by all."""
    chosen = [(name, field) for name, field in maker.fields.items() if not only or name in only]
    fields = [(name, _getter(field), _value_writer(field), field) for name, field in chosen]
    keys = [(name, str(field.source), write_value, _missing(field)) for name, _get, write_value, field in fields]

    def write(row: Any) -> dict[str, Any]:
        """Read each attribute; what is missing, and what mappings have, is the field's own to read."""
        if isinstance(row, dict):
            return write_mapping(row)
        written = {}
        for name, get, write_value, field in fields:
            try:
                value = get(row)
            except AttributeError:
                value = field.get_attribute(row)
            written[name] = value if value is None or write_value is None else write_value(value)
        return written

    def write_mapping(row: dict[str, Any]) -> dict[str, Any]:
        """Read each key; where one is missing, what the field gives for it is known already."""
        written = {}
        for name, key, write_value, missing in keys:
            try:
                value = row[key]
            except KeyError:
                try:
                    value = missing(row)
                except SkipField:
                    continue
            written[name] = value if value is None or write_value is None else write_value(value)
        return written

    return write


def _missing(field: Any) -> Get:
    """Return what gives the value of a key that a mapping lacks: asked of the field once where that is the same for all."""
    if "." in field.source or field.source == "*" or callable(field.default):
        return field.get_attribute  # type: ignore[no-any-return]
    if field.default is not empty:
        return lambda row, value=field.default: value  # type: ignore[misc]
    if field.allow_null:
        return lambda row: None
    return field.get_attribute if field.required else _skip


def _skip(row: Any) -> Any:
    raise SkipField


def _getter(field: Any) -> Get:
    return (lambda row: row) if field.source == "*" else attrgetter(field.source)


def _value_writer(field: Any) -> Callable[[Any], Any] | None:
    """Return how a value that is not None is written; None where it is written as it is."""
    if isinstance(field, serializers.SerializerMethodField):
        return getattr(field.parent, field.method_name)  # type: ignore[no-any-return]
    if isinstance(field, serializers.ListSerializer):
        write = writer_of(field.child)  # type: ignore[arg-type]
        return lambda rows: [write(row) for row in (rows.all() if hasattr(rows, "all") else rows)]
    if isinstance(field, serializers.Serializer):
        return writer_of(field)
    if isinstance(field, serializers.DateTimeField):
        return _moment_writer(field)
    if type(field) is serializers.ListField and type(field.child) is _UnvalidatedField:
        return list
    return _PLAIN.get(type(field), field.to_representation)


def _moment_writer(field: serializers.DateTimeField) -> Callable[[Any], Any]:
    """Leave moments in UTC, and ids below, to the encoder, which writes them in the same words."""
    return lambda value: (
        value if isinstance(value, datetime) and value.utcoffset() == NO_OFFSET else field.to_representation(value)
    )


NO_OFFSET = timedelta()


def _text(value: Any) -> str:
    return value if type(value) is str else str(value)


_PLAIN: Mapping[type[Any], Callable[[Any], Any] | None] = {
    serializers.CharField: _text,
    serializers.IntegerField: int,
    serializers.UUIDField: None,
    serializers.JSONField: None,
}
