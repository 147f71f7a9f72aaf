"""Step kinds that a project adds, and templates use by name.

An installed package names them as entry points of the group `workflow_platform.step_kinds`::

    [project.entry-points."workflow_platform.step_kinds"]
    check_vat = "their_package.kinds:check_vat"

where `check_vat = StepKind(schema, expand)`; a module that `WORKFLOW_FUNCTIONS` lists may register them too::

    register_step_kind("check_vat", schema={…}, expand=steps_of)

`expand(body, step)` is given what the author wrote, checked by the schema, and the step's id; it returns steps of the language,
whose ids begin with that one. It must be pure: it is called whenever a text is read, twice, and never while a case runs. A
package that cannot be loaded is skipped with a line in the log: start-up validation then marks what needs it.
"""

from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from typing import Any

import structlog

from engine.extensions.functions import AlreadyRegistered
from engine.kernel.forms import schema_problem
from engine.kernel.language.custom_kinds import StepKind
from engine.kernel.language.reading.nodes import ID
from engine.kernel.language.shapes import ATTRIBUTES, BESIDE, IN_GRAPH
from engine.kernel.language.step_shapes import KINDS

__all__ = ["StepKind", "load_step_kinds", "register_step_kind", "registered_step_kinds"]

GROUP = "workflow_platform.step_kinds"
log = structlog.get_logger(__name__)
_registered: dict[str, StepKind] = {}


class BadStepKind(Exception):
    """What is registered is no step kind, or claims a word of the language."""


def register_step_kind(name: str, *, schema: Mapping[str, Any], expand: Callable[[Any, str], Any]) -> None:
    """Register a step kind under the name that templates use."""
    words = {*KINDS, *ATTRIBUTES, *IN_GRAPH, *(key for fields in BESIDE.values() for key in fields), "path", "auto_id"}
    if not ID.fullmatch(name) or name in words:
        raise BadStepKind(f"{name} is no name for a step kind: it is a word of the language, or not [a-z][a-z0-9_]*")
    if problem := schema_problem(dict(schema)):
        raise BadStepKind(f"the schema of the step kind {name} is none: {problem}")
    if name in _registered:
        raise AlreadyRegistered(f"the step kind {name} is registered twice")
    _registered[name] = StepKind(schema, expand)


def registered_step_kinds() -> Mapping[str, StepKind]:
    """Return all step kinds by name."""
    return _registered


def load_step_kinds() -> None:
    """Register what installed packages name; one that fails does not keep the others from starting."""
    for point in entry_points(group=GROUP):
        if point.name in _registered:
            continue
        try:
            kind = point.load()
            if not isinstance(kind, StepKind):
                raise BadStepKind(f"{point.value} is no StepKind")
            register_step_kind(point.name, schema=kind.schema, expand=kind.expand)
        except Exception as mistake:  # noqa: BLE001 -- a foreign package may raise anything
            log.error("a step kind could not be loaded", name=point.name, why=f"{type(mistake).__name__} {mistake}")
