"""What an answer to a task holds beside what its schema judges: values the task brought, and files.

The services and the simulator go by the same rules; what is in a file only the service that keeps it can see.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from engine.kernel.signals import Json

ZIPPED = (b"PK\x03\x04", b"PK\x05\x06")
BESIDE = ("then", "else")
SEVERAL = ("allOf", "oneOf", "anyOf")


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of file: its media type, and how its content begins; no beginnings means plain text."""

    media_type: str
    begins: tuple[bytes, ...] = ()


KINDS: Mapping[str, Kind] = {
    "pdf": Kind("application/pdf", (b"%PDF-",)),
    "png": Kind("image/png", (b"\x89PNG\r\n\x1a\n",)),
    "jpg": Kind("image/jpeg", (b"\xff\xd8\xff",)),
    "jpeg": Kind("image/jpeg", (b"\xff\xd8\xff",)),
    "gif": Kind("image/gif", (b"GIF87a", b"GIF89a")),
    "webp": Kind("image/webp", (b"RIFF",)),
    "txt": Kind("text/plain"),
    "csv": Kind("text/csv"),
    "json": Kind("application/json"),
    "zip": Kind("application/zip", ZIPPED),
    "docx": Kind("application/vnd.openxmlformats-officedocument.wordprocessingml.document", ZIPPED),
    "xlsx": Kind("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", ZIPPED),
    "pptx": Kind("application/vnd.openxmlformats-officedocument.presentationml.presentation", ZIPPED),
    "odt": Kind("application/vnd.oasis.opendocument.text", ZIPPED),
    "ods": Kind("application/vnd.oasis.opendocument.spreadsheet", ZIPPED),
}
"""Files that the platform takes, by how their names end."""


@dataclass(frozen=True, slots=True)
class FileRules:
    """What an author allows to be added to a task."""

    types: tuple[str, ...]
    max_size: int
    max: int
    required: bool

    @classmethod
    def of(cls, extra: Mapping[str, Any]) -> "FileRules | None":
        """Read the rules of a task, or None where its author wants no files."""
        given = extra.get("attachments")
        if given is None:
            return None
        types = tuple(str(word).lower().lstrip(".") for word in given.get("types") or KINDS)
        return cls(types, given["max_size"], given["max"], given["required"])

    @property
    def endings(self) -> tuple[str, ...]:
        """Give the endings that names may have, for people and browsers."""
        return tuple(ending for ending, kind in KINDS.items() if self._allows(ending, kind))

    def _allows(self, ending: str, kind: Kind) -> bool:
        family = f"{kind.media_type.split('/')[0]}/*"
        return bool({ending, kind.media_type, family} & set(self.types))


USUAL = FileRules(tuple(KINDS), 10 * 1024 * 1024, 20, required=False)
"""The rules of a form that asks for files whose author says nothing about them."""


def rules_of(extra: Mapping[str, Any], form: Json) -> FileRules | None:
    """Say which files a task takes: by its own rules, or the usual ones where its form asks for files."""
    return FileRules.of(extra) or (USUAL if asks_for_files(form) else None)


def ending_of(name: str) -> str:
    """Return how a name ends, in small letters."""
    return name.rsplit(".", 1)[-1].lower() if "." in name else ""


def asks_for_files(schema: Json) -> bool:
    """Tell whether any value of a form is a file."""
    if isinstance(schema, Mapping):
        return schema.get("format") == "file" or any(asks_for_files(inner) for inner in schema.values())
    return isinstance(schema, list) and any(asks_for_files(inner) for inner in schema)


def files_named(schema: Json, values: Json, path: str = "") -> Iterator[tuple[str, str]]:
    """Give path and name of every value that its schema calls a file."""
    if not isinstance(schema, Mapping):
        return
    if schema.get("format") == "file" and isinstance(values, str):
        yield path, values
    for inner_path, inner, value in _inside(schema, values, path):
        yield from files_named(inner, value, inner_path)


def _inside(schema: Mapping[str, Any], values: Json, path: str) -> Iterator[tuple[str, Json, Json]]:
    if isinstance(values, dict):
        for key, inner in (schema.get("properties") or {}).items():
            if key in values:
                yield f"{path}.{key}".lstrip("."), inner, values[key]
    if isinstance(values, list):
        for place, value in enumerate(values):
            yield f"{path}.{place}".lstrip("."), schema.get("items"), value
    for inner in [schema.get(word) for word in BESIDE] + [one for word in SEVERAL for one in schema.get(word) or ()]:
        yield path, inner, values


def read_only_kept(form: Json, payload: Json, values: Mapping[str, Json]) -> dict[str, Json]:
    """Give read-only values as the task brought them, whatever was sent in their place."""
    asked = (form.get("properties") or {}) if isinstance(form, Mapping) else {}
    fixed = {key for key, inner in asked.items() if isinstance(inner, Mapping) and inner.get("readOnly") is True}
    if not fixed:
        return dict(values)
    brought = payload if isinstance(payload, Mapping) else {}
    free = {key: value for key, value in values.items() if key not in fixed}
    return free | {key: brought[key] for key in fixed if key in brought}


def brought_values(form: Json, payload: Json) -> dict[str, Json]:
    """Give the values that a form begins with."""
    asked = (form.get("properties") or {}) if isinstance(form, Mapping) else {}
    brought = payload if isinstance(payload, Mapping) else {}
    return {key: brought[key] for key in asked if brought.get(key) is not None}
