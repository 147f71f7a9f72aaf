"""Make objects of models from columns at hand, as if they had been read.

Django's general way (defaults, descriptors and signals for every column) costs an act more than its kernel does. Nothing of it is
needed for columns that come straight from the database, or have just been written to it.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, models

from engine.kernel.json_text import read_json, write_json

Noun = TypeVar("Noun", bound=models.Model)


def make(model: type[Noun], columns: Mapping[str, Any]) -> Noun:
    """Make an object of columns that are what they are in Python already; what is missing is deferred."""
    noun = model.__new__(model)
    noun.__dict__.update(columns, _state=models.base.ModelState())
    noun._state.adding, noun._state.db = False, DEFAULT_DB_ALIAS
    return noun


def make_written(model: type[Noun], row: Mapping[str, Any]) -> Noun:
    """Make an object of a row as it was written; columns that it leaves out have their defaults."""
    noun = make(model, {name: default() for name, default in _defaults(model).items() if name not in row})
    return fill(noun, row)


def fill(noun: Noun, row: Mapping[str, Any]) -> Noun:
    """Put the columns of a row as it was written into an object."""
    readers = _readers(type(noun))
    noun.__dict__.update({name: readers[name](value) for name, value in row.items() if name in readers})
    return noun


def link(noun: Noun, **others: models.Model | None) -> Noun:
    """Put objects at hand where an object refers to them; their keys stand in its columns already."""
    noun._state.fields_cache.update(others)
    return noun


def read_along(noun: Noun, name: str, others: Sequence[models.Model]) -> Noun:
    """Put what refers to an object where `prefetch_related` would: whoever asks for it need not ask the database."""
    found = getattr(type(noun), name).rel.related_model._default_manager.all()
    found._result_cache, found._prefetch_done = list(others), True
    noun.__dict__.setdefault("_prefetched_objects_cache", {})[name] = found
    return noun


@cache
def _defaults(model: type[models.Model]) -> dict[str, Callable[[], Any]]:
    return {field.attname: field.get_default for field in model._meta.concrete_fields}


@cache
def _readers(model: type[models.Model]) -> dict[str, Callable[[Any], Any]]:
    return {field.attname: _reader(field) for field in model._meta.concrete_fields}


def _reader(field: "models.Field[Any, Any]") -> Callable[[Any], Any]:
    while isinstance(field, models.ForeignKey):
        field = field.target_field
    if isinstance(field, models.UUIDField):
        return lambda value: UUID(value) if isinstance(value, str) else value
    if isinstance(field, models.JSONField):
        return lambda value: None if value is None else read_json(write_json(value))
    return field.to_python
