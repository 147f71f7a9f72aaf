"""Make objects of models from columns at hand, as if they had been read.

Django's general way (defaults, descriptors and signals for every column) costs an act more than its kernel does. Nothing of it is
needed for columns that come straight from the database, or have just been written to it.

Only `hydrate` makes objects. What a hot statement read (`Columns`) and what a slice wrote (`as_read`) first becomes what Django
would have read.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, models

from engine.kernel.json_text import read_json, write_json
from engine.models.base import OrderedJSONField

Row = TypeVar("Row", bound=models.Model)

AS_WRITTEN = (models.CharField, models.TextField, models.IntegerField, models.BooleanField)
"""Fields whose values are read as they were written."""


def hydrate(model: type[Row], columns: Mapping[str, Any]) -> Row:
    """Make an object of columns as Django reads them; what is missing is deferred."""
    made = model.__new__(model)
    made.__dict__.update(columns, _state=models.base.ModelState())
    made._state.adding, made._state.db = False, DEFAULT_DB_ALIAS
    return made


def hydrate_written(model: type[Row], written: Mapping[str, Any]) -> Row:
    """Make an object of a row just written; columns that it leaves out have their defaults."""
    left_out = {name: default() for name, default in _defaults(model).items() if name not in written}
    return hydrate(model, left_out | as_read(model, written))


def as_read(model: type[models.Model], written: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of a row just written as a read would return them."""
    readers = _readers(model)
    return {
        name: value if (read := readers[name]) is None or value is None else read(value)
        for name, value in written.items()
        if name in readers
    }


def link(row: Row, **others: models.Model | None) -> Row:
    """Cache related objects on an object that already has their keys in its columns."""
    row._state.fields_cache.update(others)
    return row


def link_many(row: Row, name: str, others: Sequence[models.Model]) -> Row:
    """Cache related rows where `prefetch_related` would, so that reading them needs no query."""
    found = getattr(type(row), name).rel.related_model._default_manager.all()
    found._result_cache, found._prefetch_done = list(others), True
    row.__dict__.setdefault("_prefetched_objects_cache", {})[name] = found
    return row


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a model that a hot statement reads, and how a row of them becomes an object; the rest is deferred."""

    model: type[models.Model]
    listed: str
    names: tuple[str, ...]
    texts: tuple[str, ...]
    """The columns whose JSON the driver leaves as text."""

    def read(self, reader: Iterator[Any]) -> Any:
        """Take as many values as there are columns and make the object."""
        values = dict(zip(self.names, reader, strict=False))
        for name in self.texts:
            if values[name] is not None:
                values[name] = read_json(values[name])
        return hydrate(self.model, values)


def columns_of(model: type[models.Model], alias: str, *names: str, without: Iterable[str] = ()) -> Columns:
    """Choose these columns of a model, or all but some, for a statement that knows its table by an alias."""
    fields = model._meta.concrete_fields
    chosen = [field for field in fields if field.attname not in without and (not names or field.attname in names)]
    return Columns(
        model,
        listed=", ".join(f'{alias}."{field.column}"' for field in chosen),
        names=tuple(field.attname for field in chosen),
        texts=tuple(field.attname for field in chosen if _is_jsonb(field)),
    )


def _is_jsonb(field: "models.Field[Any, Any]") -> bool:
    return isinstance(field, models.JSONField) and not isinstance(field, OrderedJSONField)


@cache
def _defaults(model: type[models.Model]) -> dict[str, Callable[[], Any]]:
    return {field.attname: field.get_default for field in model._meta.concrete_fields}


@cache
def _readers(model: type[models.Model]) -> dict[str, Callable[[Any], Any] | None]:
    return {field.attname: _reader(field) for field in model._meta.concrete_fields}


def _reader(field: "models.Field[Any, Any]") -> Callable[[Any], Any] | None:
    """Return what makes a written value as read; None where it is that already."""
    while isinstance(field, models.ForeignKey):
        field = field.target_field
    if isinstance(field, models.UUIDField):
        return lambda value: UUID(value) if isinstance(value, str) else value
    if isinstance(field, models.JSONField):
        return _json_as_read
    return None if isinstance(field, AS_WRITTEN) else field.to_python


def _json_as_read(value: Any) -> Any:
    """Copy JSON as a read would give it; what cannot be changed and what is empty needs no way through text."""
    if type(value) in (str, int, bool):
        return value
    if not value and type(value) in (dict, list, tuple):
        return {} if type(value) is dict else []
    return read_json(write_json(value))
