"""Compile a canonical definition into what the interpreter walks: immutable, made once per version."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from engine.kernel.expressions.cel import Expression
from engine.kernel.expressions.interpolation import Bounded, Value, compile_value
from engine.kernel.forms import check_values
from engine.kernel.language.shapes import ATTRIBUTES, BESIDE, HEAD, IN_GRAPH, Field, Shape
from engine.kernel.language.step_lists import bodies
from engine.kernel.language.step_shapes import KINDS
from engine.kernel.program import ROOT, Definition, Starters, Step, StepList
from engine.kernel.signals import Json

__all__ = ["Definition", "Step", "StepList", "compile_definition"]


GATED = frozenset({"when", "input", "scope", "enabled_while", "mutex", "throttle", "rate_limit"})
WATCHED = frozenset({"timeout", "limits", "reminders", "on"})
ROUNDS = frozenset({"repeat", "for_each", "net", "compensate"})
OCCURRING = ("on.", "reminders.", "escalate.")
"""How the names of lists begin that may run several times at the same time."""


def compile_definition(canonical: dict[str, Json]) -> Definition:
    """Compile what the normaliser made."""
    compiling = _Compiling(frozenset(_own_names(canonical["steps"])))
    root = compiling.root(canonical)
    starters = canonical.get("starters", {})
    return Definition(
        name=canonical["workflow"],
        title=canonical["title"],
        canonical=canonical,
        input_schema=canonical.get("input"),
        starters=Starters(starters.get("min_level", 4), tuple(starters.get("roles", ()))),
        head=root.spec,
        steps=compiling.steps,
        lists=compiling.lists,
        has_offers=any(step.kind in ("first", "any_order") for step in compiling.steps.values()),
        claims_decide=any(_claims_decide(step) for step in compiling.steps.values()),
        secrets={step.id: _secrets(step) for step in compiling.steps.values() if step.kind == "call"},
        has_rounds=any(_has_rounds(step) for step in compiling.steps.values()),
        reads_status="status" in json.dumps(canonical["steps"]) or "status" in json.dumps(canonical.get("output")),
        has_milestones=any("enabled_while" in step.spec for step in compiling.steps.values()),
        has_throttles=any("throttle" in step.spec for step in compiling.steps.values()),
        has_nets=any(step.kind == "net" for step in compiling.steps.values()),
        redoes=any(_can_be_redone(step) for step in compiling.steps.values()),
        reads=dict(compiling.reads()),
        four_eyes=dict(compiling.four_eyes()),
    )


def _claims_decide(step: Step) -> bool:
    return step.kind == "any_order" or (step.kind == "first" and step.raw["first"].get("pick") == "start")


def _has_rounds(step: Step) -> bool:
    return (
        step.kind in ROUNDS
        or "next" in step.spec
        or any(name.startswith(OCCURRING) for name in step.lists)
        or _can_be_redone(step)
    )


def _can_be_redone(step: Step) -> bool:
    return step.kind == "task" and "redo" in step.raw["task"].get("allow", ())


def _secrets(step: Step) -> tuple[str, ...]:
    """List the secrets that a call's request names."""
    found = re.findall(r"\bsecret\.([A-Za-z_]\w*)", json.dumps(step.raw["call"]))
    return tuple(dict.fromkeys(found))


def _own_names(value: Json) -> set[str]:
    """Collect the names that authors chose with `as`."""
    if isinstance(value, list):
        return {name for item in value for name in _own_names(item)}
    if not isinstance(value, dict):
        return set()
    own = {value["as"]} if isinstance(value.get("as"), str) else set()
    return own | {name for item in value.values() for name in _own_names(item)}


class _Compiling:
    """The tables while they are filled."""

    def __init__(self, extra: frozenset[str]) -> None:
        self.extra = extra
        self.steps: dict[str, Step] = {}
        self.lists: dict[str, StepList] = {}

    def root(self, canonical: Mapping[str, Json]) -> Step:
        spec = self.fields(HEAD.fields, canonical)
        lists = {"steps": self.list_of(canonical["steps"], ROOT, "steps", "")}
        for place, handler in enumerate(canonical.get("on", ())):
            lists[f"on.{place}"] = self.list_of(handler["steps"], ROOT, f"on.{place}", f"on.{place}")
        root = Step(ROOT, "group", "", False, None, "", {**spec, "group": {}}, lists, canonical)
        self.steps[ROOT] = root
        return root

    def list_of(self, steps: list[dict[str, Json]], owner: str, name: str, path: str) -> str:
        key = f"{owner}:{name}"
        made = tuple(self.step(step, owner, key) for step in steps)
        place = {step.id: number for number, step in enumerate(made)}
        self.lists[key] = StepList(key, path, owner, made, place)
        return key

    def step(self, raw: dict[str, Json], parent: str, home: str) -> Step:
        kind = next(key for key in raw if key in KINDS)
        fields = {**ATTRIBUTES, **IN_GRAPH, **BESIDE.get(kind, {}), kind: KINDS[kind]}
        spec = self.fields(fields, raw)
        lists = {
            name: self.list_of(inner, raw["id"], name, raw["path"] if name == "steps" else f"{raw['path']}/{name}")
            for name, inner in bodies(raw, kind)
        }
        own, gated, watched = "auto_id" not in raw, bool(GATED & set(spec)), bool(WATCHED & set(spec))
        step = Step(raw["id"], kind, raw["path"], own, parent, home, spec, lists, raw, gated, watched)
        self.steps[step.id] = step
        return step

    def reads(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Find for each child of a graph the siblings whose results it reads."""
        for step in self.steps.values():
            if step.kind == "graph":
                siblings = self.lists[step.lists["steps"]].steps
                for child in siblings:
                    text = json.dumps(child.raw)
                    yield child.id, tuple(one.id for one in siblings if one is not child and _reads(text, one))

    def four_eyes(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Find for each task with `not_same_as` the steps that it covers: those named, and everything inside them."""
        for step in self.steps.values():
            named = set(step.raw["task"].get("not_same_as", ())) if step.kind == "task" else set()
            if named:
                yield step.id, tuple(one.id for one in self.steps.values() if named & set(self._upward(one)))

    def _upward(self, step: Step) -> Iterator[str]:
        """Name a step and all around it."""
        found: Step | None = step
        while found is not None and found.id != ROOT:
            yield found.id
            found = self.steps[found.parent] if found.parent is not None else None

    def fields(self, fields: Mapping[str, Field], raw: Mapping[str, Json]) -> dict[str, Any]:
        return {key: self.value(fields[key], value) for key, value in raw.items() if key in fields}

    def value(self, field: Field, raw: Json) -> Any:
        """Compile one value by its reader."""
        compiled = COMPILERS.get(field.reader, _as_is)(self, field, raw)
        return Bounded(compiled, field.longest) if field.longest and isinstance(compiled, Value) else compiled


def _reads(text: str, step: Step) -> bool:
    names = "|".join({step.id, str((step.raw.get("call") or {}).get("into", step.id))})
    return re.search(rf"\bresult\.({names})\b", text) is not None


_Compiler = Callable[[_Compiling, Field, Json], Any]


def _as_is(_compiling: _Compiling, _field: Field, raw: Json) -> Any:
    return raw


def _expression(compiling: _Compiling, _field: Field, raw: Json) -> Any:
    return Expression(raw, compiling.extra)


def _value(compiling: _Compiling, _field: Field, raw: Json) -> Any:
    return compile_value(raw, compiling.extra)


def _shape(compiling: _Compiling, field: Field, raw: Json) -> Any:
    shape: Shape | None = field.shape
    assert shape is not None
    return compiling.fields(shape.fields, raw)


def _each(compiling: _Compiling, field: Field, raw: Json) -> Any:
    assert field.each is not None
    return [compiling.value(field.each, item) for item in raw]


def _shapes(compiling: _Compiling, field: Field, raw: Json) -> Any:
    return [_shape(compiling, field, item) for item in raw]


def _schema(_compiling: _Compiling, _field: Field, raw: Json) -> Any:
    return partial(check_values, raw)


def _mapped(compiling: _Compiling, field: Field, raw: Json) -> Any:
    assert field.each is not None
    if field.each.reader in ("value", "cell"):
        return compile_value(raw, compiling.extra)
    return {key: compiling.value(field.each, item) for key, item in raw.items()}


COMPILERS: Mapping[str, _Compiler] = {
    "condition": _expression,
    "value": _value,
    "textvalue": _value,
    "duration": _value,
    "moment": _value,
    "when_due": _value,
    "principals": _value,
    "state_keys": _value,
    "schema": _schema,
    "map": _mapped,
    "shape": _shape,
    "loop": _shape,
    "embeddable": _shape,
    "own_kind": _shape,
    "cancel": _shape,
    "list": _each,
    "branches": _shapes,
    "handlers": _shapes,
}
"""How a field's canonical value is compiled, by its reader; the rest is taken as it is."""
