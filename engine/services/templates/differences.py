"""Describe what one version of a template does differently from another, and which running instances that concerns.

Steps are compared by their ids: moved is not changed. What an author reads is the field in the language's own words with its old
and new value, and how many running instances are at the step now: they stay on their version, but authors should know.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from engine import access
from engine.diagram.labels import shortened
from engine.diagram.step_names import name_of, step_kind
from engine.errors import Unprocessable
from engine.kernel.findings import Finding
from engine.kernel.language.step_lists import bodies
from engine.models import TemplateVersion, Wait
from workflowplatform.accounts.actor import Actor

HEAD_APART = frozenset({"schema", "workflow", "steps", "tests", "requires", "path", "version"})
STEP_APART = frozenset({"id", "path", "auto_id"})
MISSING = object()


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is not as it was. `step` is empty for the head; `here` counts running instances at the step."""

    kind: str
    """added, removed, changed or moved"""
    step: str
    field: str
    old: Any
    new: Any
    text: str
    here: int = 0

    def as_json(self) -> dict[str, Any]:
        """Write it as REST answers it."""
        return {
            "kind": self.kind,
            "step": self.step or None,
            "field": self.field or None,
            "old": self.old,
            "new": self.new,
            "text": self.text,
            "running_here": self.here,
        }


@dataclass(frozen=True, slots=True)
class _Placed:
    """A step without the steps inside it, and where it is."""

    name: str
    kind: str
    path: str
    own: dict[str, Any]


def version_differences(
    *, actor: Actor, name: str, number: int, against: int | None = None
) -> tuple[int, list[Difference]]:
    """Return what version `number` of a template does differently from another: which one, and what."""
    new = _clean(access.version_of(actor, name, number))
    old = _clean(_before(actor, new) if against is None else access.version_of(actor, name, against))
    return old.number, differences(old.canonical or {}, new.canonical or {}, _waiting_at(old))


def _before(actor: Actor, version: TemplateVersion) -> TemplateVersion:
    """Find what a version would replace: the active one, else the one before it, else itself."""
    others = access.visible_versions(actor).filter(template=version.template_id).exclude(pk=version.pk)
    earlier = others.filter(number__lt=version.number, canonical__isnull=False).order_by("-number")
    return others.in_force().first() or earlier.first() or version


def _clean(version: TemplateVersion) -> TemplateVersion:
    if version.canonical is None:
        found = [Finding(**finding) for finding in version.findings]
        raise Unprocessable(f"Version {version.number} has errors and cannot be compared.", found)
    return version


def _waiting_at(version: TemplateVersion) -> Counter[str]:
    """Count the running instances of a version by the step where they wait."""
    waits = Wait.objects.filter(tenant_id=version.tenant_id, instance__version=version, side=False)
    return Counter(step for _instance, step in set(waits.values_list("instance_id", "step")))


def differences(
    old: Mapping[str, Any], new: Mapping[str, Any], here: Mapping[str, int] | None = None
) -> list[Difference]:
    """Compare two canonical definitions: the head first, then the steps in the new one's order, then what is gone."""
    standing = here or {}
    before, after = dict(_placed(old.get("steps", ()))), dict(_placed(new.get("steps", ())))
    found = [_changed("", "", *change) for change in _changes(_head(old), _head(new))]
    for step, placed in after.items():
        if step not in before:
            found.append(
                Difference("added", step, "", None, placed.kind, _("%(step)s is new.") % {"step": placed.name})
            )
        else:
            found += _of_step(step, before[step], placed, standing.get(step, 0))
    return found + [
        _removed(step, placed, standing.get(step, 0)) for step, placed in before.items() if step not in after
    ]


def _of_step(step: str, before: _Placed, after: _Placed, here: int) -> Iterator[Difference]:
    if before.kind != after.kind:
        words = {"step": after.name, "old": before.kind, "new": after.kind}
        text = _("%(step)s: from %(old)s to %(new)s.") % words
        yield Difference("changed", step, "kind", before.kind, after.kind, text + _here(here), here)
        return
    for change in _changes(before.own, after.own):
        yield _changed(step, after.name, *change, here)
    if before.path != after.path:
        text = _("%(step)s moved.") % {"step": after.name}
        yield Difference("moved", step, "path", before.path, after.path, text + _here(here), here)


def _removed(step: str, placed: _Placed, here: int) -> Difference:
    text = _("%(step)s is gone.") % {"step": placed.name} + _here(here)
    return Difference("removed", step, "", placed.kind, None, text, here)


def _changed(step: str, name: str, field: str, old: Any, new: Any, here: int = 0) -> Difference:
    words = {
        "where": f"{name}: " if name else "",
        "field": field.replace("_", " ").replace(".", " "),
        "old": _shown(old),
        "new": _shown(new),
    }
    if old is MISSING:
        text = _("%(where)s%(field)s is now %(new)s.") % words
    elif new is MISSING:
        text = _("%(where)s%(field)s was %(old)s and is gone.") % words
    else:
        text = _("%(where)s%(field)s %(old)s → %(new)s.") % words
    return Difference("changed", step, field, _plain(old), _plain(new), text + _here(here), here)


def _plain(value: Any) -> Any:
    return None if value is MISSING else value


def _here(count: int) -> str:
    if not count:
        return ""
    return " " + ngettext("%(n)d running instance is there.", "%(n)d running instances are there.", count) % {
        "n": count
    }


def _shown(value: Any) -> str:
    if value is MISSING:
        return ""
    if isinstance(value, str):
        return f"“{shortened(value)}”" if " " in value or not value else value
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ", ".join(value) or _("nobody")
    return shortened(json.dumps(value, ensure_ascii=False))


def _changes(old: Mapping[str, Any], new: Mapping[str, Any], within: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Walk two objects side by side down to the values that differ."""
    for key in (*new, *(key for key in old if key not in new)):
        one, other, field = old.get(key, MISSING), new.get(key, MISSING), f"{within}{key}"
        if _same(one, other):
            continue
        if isinstance(one, dict) and isinstance(other, dict):
            yield from _changes(one, other, f"{field}.")
        else:
            yield field, one, other


def _same(one: Any, other: Any) -> bool:
    """Compare as JSON does, where true is not 1."""
    return one is not MISSING and other is not MISSING and json.dumps(one) == json.dumps(other)


def _head(canonical: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in canonical.items() if key not in HEAD_APART}


def _placed(steps: Any) -> Iterator[tuple[str, _Placed]]:
    """Find every step under its id, each without its inner steps."""
    for step in steps:
        kind = step_kind(step)
        inside = bodies(step, kind)
        yield step["id"], _Placed(name_of(step), kind, step["path"], _own(step, inside))
        for _name, inner in inside:
            yield from _placed(inner)


def _own(step: Mapping[str, Any], inside: list[tuple[str, list[dict[str, Any]]]]) -> dict[str, Any]:
    """Leave out of a step what its inner steps say for themselves."""
    lists = {id(inner) for _name, inner in inside}

    def without(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: without(item) for key, item in value.items() if id(item) not in lists}
        return [without(item) for item in value] if isinstance(value, list) else value

    return {key: without(value) for key, value in step.items() if key not in STEP_APART and id(value) not in lists}
