"""Export a version: as its author wrote it, as JSON, or in its canonical form."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from engine import access
from engine.errors import Invalid, Unprocessable
from engine.kernel.findings import Finding
from engine.kernel.forms import FieldError
from engine.kernel.language.source import read_documents
from engine.models import TemplateVersion
from workflowplatform.accounts.actor import Actor


@dataclass(frozen=True, slots=True)
class Export:
    """A file to hand out."""

    name: str
    content_type: str
    text: str


def export_version(*, actor: Actor, name: str, number: int, form: str = "yaml") -> Export:
    """Write a version in one of its forms."""
    version = access.version_of(actor, name, number)
    if form not in EXPORTS:
        message = f"Use one of {', '.join(EXPORTS)}."
        raise Invalid(message, [FieldError("format", "invalid", message)])
    kind, suffix, write = EXPORTS[form]
    return Export(f"{name}-{number}.{suffix}", kind, write(version))


def _canonical(version: TemplateVersion) -> str:
    return _json(_clean(version).canonical)


def _document(version: TemplateVersion) -> str:
    return _json(read_documents(_clean(version).source)[0].plain())


def _clean(version: TemplateVersion) -> TemplateVersion:
    """Refuse a draft that could not be read: it has no other form than its text."""
    if version.canonical is None:
        raise Unprocessable(
            "This draft has errors. Only its text can be exported.", [Finding(**f) for f in version.findings]
        )
    return version


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


EXPORTS: Mapping[str, tuple[str, str, Callable[[TemplateVersion], str]]] = {
    "yaml": ("application/yaml; charset=utf-8", "yaml", lambda version: version.source),
    "json": ("application/json", "json", _document),
    "canonical": ("application/json", "canonical.json", _canonical),
}
