"""Check what people and systems submit: JSON that can be kept, and values that satisfy a JSON Schema.

Defaults are filled in before validation. Messages are sentences for the person who filled in the form.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import jsonschema_rs

from engine.kernel.json_safety import FieldError, for_people, joined, refuse_unsafe_json, wrong
from engine.kernel.signals import Json
from engine.kernel.snapshot import copied

__all__ = [
    "FieldError",
    "check_answer_values",
    "check_values",
    "fill_defaults",
    "refuse_unsafe_json",
    "satisfies",
    "schema_problem",
    "without_wrong",
]

MOST_ERRORS = 50


def check_values(schema: Mapping[str, Json] | None, values: Json) -> tuple[Json, tuple[FieldError, ...]]:
    """Fill in defaults, then validate; give the values to keep and every field error."""
    unsafe = refuse_unsafe_json(values)
    if unsafe or schema is None:
        return values, unsafe
    filled = fill_defaults(schema, copied(values))
    problems = _validator(_frozen(schema)).iter_errors(filled)
    errors = [error for problem, _ in zip(problems, range(MOST_ERRORS), strict=False) for error in _explain(problem)]
    return filled, tuple(errors)


def check_answer_values(
    form: Mapping[str, Json] | None, values: Json, *, rejects: bool
) -> tuple[Json, tuple[FieldError, ...]]:
    """Check the values of an answer. One that rejects needs none of them: what is missing or wrong is left out."""
    checked, errors = check_values(form, values)
    if not errors or not rejects or refuse_unsafe_json(values):
        return checked, errors
    return without_wrong(checked, errors), ()


def without_wrong(values: Json, errors: Iterable[FieldError]) -> Json:
    """Return values without those that errors are about."""
    wrong = tuple(error.path for error in errors)
    if not isinstance(values, Mapping):
        return values
    return {
        key: value
        for key, value in values.items()
        if not any(path == key or path.startswith(f"{key}.") for path in wrong)
    }


def satisfies(schema: Mapping[str, Json], values: Json) -> bool:
    """Return whether values satisfy a schema, as the test of a condition does."""
    return bool(_validator(_frozen(schema)).is_valid(values))


def schema_problem(schema: Json) -> str | None:
    """Return why something is no JSON Schema 2020-12, or None."""
    try:
        jsonschema_rs.meta.validate(schema)
        _make_validator(schema)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError, RecursionError) as problem:
        return str(getattr(problem, "message", problem)).split("\n", 1)[0][:300]
    return None


def fill_defaults(schema: Json, values: Json) -> Json:
    """Put a schema's defaults where nothing was given."""
    if not isinstance(schema, dict):
        return values
    if isinstance(values, dict):
        for name, inner in (schema.get("properties") or {}).items():
            _fill_property(name, inner, values)
    if isinstance(values, list) and isinstance(schema.get("items"), dict):
        return [fill_defaults(schema["items"], item) for item in values]
    return values


def _fill_property(name: str, inner: Json, values: dict[str, Json]) -> None:
    if name not in values and isinstance(inner, dict) and "default" in inner:
        values[name] = copied(inner["default"])
    if name in values:
        values[name] = fill_defaults(inner, values[name])


def _frozen(value: Json) -> Any:
    """Make a schema hashable, so that its validator is built once."""
    if isinstance(value, dict):
        return ("{", *((key, _frozen(item)) for key, item in value.items()))
    if isinstance(value, (list, tuple)):
        return ("[", *(_frozen(item) for item in value))
    return (type(value).__name__, value)


def _thawed(value: Any) -> Json:
    if value[0] == "{":
        return {key: _thawed(item) for key, item in value[1:]}
    return [_thawed(item) for item in value[1:]] if value[0] == "[" else value[1]


@lru_cache(maxsize=512)
def _validator(frozen: Any) -> Any:
    return _make_validator(_thawed(frozen))


def _make_validator(schema: Json) -> Any:
    return jsonschema_rs.Draft202012Validator(schema, validate_formats=True, retriever=_refuse_outside)


def _refuse_outside(address: str) -> Json:
    """Keep a `$ref` from fetching anything: a schema is self-contained."""
    raise ValueError(f"$ref may only point into the same schema, not to {address[:80]}")


def _explain(problem: Any) -> Iterator[FieldError]:
    path = ".".join(str(part) for part in problem.instance_path)
    word = _word(problem)
    if word == "required":
        name = getattr(problem.kind, "property", None) or problem.message.split('"')[1]
        yield wrong(joined(path, name), "required", REQUIRED)
        return
    meant = _meant(problem) if word in ("oneOf", "anyOf") else None
    if meant:
        for inner in meant:
            yield from _explain(inner)
        return
    yield _explained(problem, path, word)


def _explained(problem: Any, path: str, word: str) -> FieldError:
    if word == "type":
        return _explained_type(problem, path)
    if word not in SENTENCES:
        return FieldError(path, word, f"{problem.message[:1].upper() + problem.message[1:]}.")
    sentence = SENTENCES[word]
    if "%(limit)s" not in sentence:
        return wrong(path, word, sentence)
    limit = _LIMITS.get(word, _limit)(problem)
    return wrong(path, word, OF_ONE[word]) if limit == "1" and word in OF_ONE else wrong(path, word, sentence, limit)


def _word(problem: Any) -> str:
    """Name the rule that was broken; what another value makes necessary is required as well."""
    word = str(problem.schema_path[-1]) if problem.schema_path else "invalid"
    named = str(getattr(problem.kind, "name", ""))
    return {"dependentRequired": "required"}.get(word, "falseSchema" if named == "falseSchema" else word)


def _meant(problem: Any) -> list[Any] | None:
    """Find the one variant that was meant: no constant of it was missed, only other things are wrong."""
    variants = getattr(problem.kind, "context", None) or []
    meant = [errors for errors in variants if not any(_word(error) in ("const", "enum", "type") for error in errors)]
    return list(meant[0]) if len(meant) == 1 else None


def _limit(problem: Any) -> str:
    found = getattr(problem.kind, "limit", None)
    return str(found if found is not None else problem.message.rsplit(" ", 1)[-1])


REQUIRED = for_people("This field is required.")
ENTER = for_people("Enter %(limit)s.")
TYPES: Mapping[str, str] = {
    "string": for_people("a text"),
    "integer": for_people("a whole number"),
    "number": for_people("a number"),
    "boolean": for_people("yes or no"),
    "array": for_people("a list"),
    "object": for_people("a group of fields"),
    "null": for_people("nothing"),
}
OTHER = for_people("another kind of value")


def _explained_type(problem: Any, path: str) -> FieldError:
    """Return which type is wanted, or which of several."""
    wanted = re.findall(r'"(\w+)"', problem.message.rsplit("not of type", 1)[-1])
    return wrong(path, "type", ENTER, among=tuple(TYPES[name] for name in wanted if name in TYPES) or (OTHER,))


SENTENCES: Mapping[str, str] = {
    "enum": for_people("Choose one of the options offered."),
    "const": for_people("This value is not allowed here."),
    "minimum": for_people("Enter %(limit)s or more."),
    "maximum": for_people("Enter %(limit)s or less."),
    "exclusiveMinimum": for_people("Enter more than %(limit)s."),
    "exclusiveMaximum": for_people("Enter less than %(limit)s."),
    "multipleOf": for_people("This number does not match the required step."),
    "minLength": for_people("Enter at least %(limit)s characters."),
    "maxLength": for_people("Enter at most %(limit)s characters."),
    "pattern": for_people("This does not match the required format."),
    "format": for_people("This is not a valid %(limit)s."),
    "minItems": for_people("Give at least %(limit)s items."),
    "maxItems": for_people("Give at most %(limit)s items."),
    "uniqueItems": for_people("Each item may appear only once."),
    "anyOf": for_people("Fill in one of the allowed variants."),
    "oneOf": for_people("Choose one of the options offered."),
    "falseSchema": for_people("This must be left empty here."),
    "not": for_people("This value must not be given here."),
}
"""What is said when a rule of a schema is broken; `%(limit)s` is the rule's own value."""
OF_ONE: Mapping[str, str] = {
    "minLength": for_people("Enter at least one character."),
    "maxLength": for_people("Enter at most one character."),
    "minItems": for_people("Give at least one item."),
    "maxItems": for_people("Give at most one item."),
}
"""What is said instead where the limit is one."""


def _length(problem: Any) -> str:
    found = re.findall(r"(\d+) (?:character|item)", problem.message)
    return found[-1] if found else _limit(problem)


_LIMITS: Mapping[str, Callable[[Any], str]] = {
    "minLength": _length,
    "maxLength": _length,
    "minItems": _length,
    "maxItems": _length,
    "format": lambda problem: str(problem.message.rsplit(" ", 1)[-1].strip('"')),
}
