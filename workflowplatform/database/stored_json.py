"""Read stored values whose shape nobody vouches for: what does not fit is told as text, and nothing raises.

Rows may hold what no release of this code wrote: SQL by hand, a restored backup, a later release. Pages must still open and
show what is there. A column of texts or of small objects says so by its field, so that every reader gets that shape; a page
that reads any other JSON goes through the functions here.
"""

import json
from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec
from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.fields.json import KeyTransform
from psycopg.adapt import Loader

Json = Any


class JsonLoader(Loader):
    """Read the type `json` by msgspec; what it refuses, such as half a surrogate, the standard library reads."""

    def load(self, data: Any) -> Json:
        try:
            return msgspec.json.decode(data)
        except msgspec.DecodeError:
            return json.loads(bytes(data))


def as_text(value: Json) -> str:
    """Return a text as it is, and anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def texts_in(value: Json) -> list[str]:
    """Return the entries of a list as texts; anything else but nothing is one text."""
    if isinstance(value, list | tuple):
        return [as_text(entry) for entry in value]
    return [] if value in (None, "", {}) else [as_text(value)]


def object_in(value: Json, key: str = "") -> dict[str, Any]:
    """Return an object as it is; anything else but nothing is the only value, under the key."""
    if isinstance(value, Mapping):
        return dict(value)
    return {} if value in (None, "", [], ()) else {key: value}


def objects_in(value: Json, *needed: str) -> list[dict[str, Any]]:
    """Return the objects of a list, each with texts under the needed keys; one that lacks a text there shows itself instead."""
    entries = value if isinstance(value, list | tuple) else [] if value in (None, "", {}) else [value]
    return [_with_texts(entry, needed) for entry in entries]


def _with_texts(entry: Json, needed: tuple[str, ...]) -> dict[str, Any]:
    kept = dict(entry) if isinstance(entry, Mapping) else {}
    return kept | {key: as_text(entry) for key in needed if not isinstance(kept.get(key), str)}


def json_in(text: str) -> Json:
    """Return the value of a JSON text; a text that is none is the value."""
    try:
        value: Json = json.loads(text)
    except ValueError:
        return text
    return value


class TextsField(models.JSONField):
    """A list of texts, whatever the column holds. To the database, and so to migrations, it is a plain JSON column."""

    shaped = staticmethod(texts_in)

    def from_db_value(self, value: Any, expression: Any, connection: BaseDatabaseWrapper) -> Any:
        read = super().from_db_value(value, expression, connection)
        return read if read is None or isinstance(expression, KeyTransform) else self.shaped(read)

    def deconstruct(self) -> Any:
        return plain_column(super().deconstruct(), models.JSONField)


class ObjectsField(models.JSONField):
    """A list of objects with texts under the needed keys, whatever the column holds."""

    needed: ClassVar[tuple[str, ...]] = ()

    def from_db_value(self, value: Any, expression: Any, connection: BaseDatabaseWrapper) -> Any:
        read = super().from_db_value(value, expression, connection)
        return read if read is None or isinstance(expression, KeyTransform) else self.shaped(read)

    def shaped(self, read: Json) -> Json:
        """Return what was read in the shape that every reader gets."""
        return objects_in(read, *self.needed)

    def deconstruct(self) -> Any:
        return plain_column(super().deconstruct(), models.JSONField)


def plain_column(written: tuple[str, str, Any, Any], field: type[Any]) -> tuple[str, str, Any, Any]:
    """Write a field into migrations as another one that has the same column."""
    name, _path, args, kwargs = written
    module = "django.db.models" if field.__module__.startswith("django.") else field.__module__
    return name, f"{module}.{field.__name__}", args, kwargs
