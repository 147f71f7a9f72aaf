"""The shapes of the whole language, as tables: which keys are allowed where.

The normaliser reads a document against these shapes, the JSON Schema for editors is made from them, and a construct
that the platform does not yet execute is listed in unsupported.py under the name it has here (`head.schedule`, `kind.net`,
`step.mutex`, `task.escalate`). A new construct is a new row.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from engine.kernel.signals import Json

ABSENT = object()


@dataclass(frozen=True, slots=True)
class Field:
    """One key: which reader reads it, and its default."""

    reader: str
    required: bool = False
    default: Json = ABSENT
    options: tuple[str, ...] = ()
    shape: "Shape | None" = None
    each: "Field | None" = None
    longest: int = 0
    """How many characters a text may have; 0: as many as it likes."""
    names: tuple[str, ...] = ()
    """Names that expressions may use here besides the usual ones."""


@dataclass(frozen=True, slots=True)
class Shape:
    """An object: its keys. `short` names the key that a bare value sets."""

    name: str
    fields: Mapping[str, Field]
    short: str | None = None
    one_of: tuple[str, ...] = ()
    """Exactly one of these keys must be there."""


def text(**more: Json) -> Field:
    """Make the field of a literal text."""
    return Field("text", **more)


def words(**more: Json) -> Field:
    """Make the field of a list of texts."""
    return Field("words", **more)


def value(**more: Json) -> Field:
    """Make the field of any value."""
    return Field("value", **more)


def condition(**more: Json) -> Field:
    """Make the field of a condition."""
    return Field("condition", **more)


def duration(**more: Json) -> Field:
    """Make the field of a duration."""
    return Field("duration", **more)


def enum(*options: str, **more: Json) -> Field:
    """Make the field of one word of a few."""
    return Field("enum", options=options, **more)


def inner(shape: Shape, **more: Json) -> Field:
    """Make the field of an object of a known shape."""
    return Field("shape", shape=shape, **more)


def list_of(each: Field, **more: Json) -> Field:
    """Make the field of a list."""
    return Field("list", each=each, **more)


def map_of(each: Field, **more: Json) -> Field:
    """Make the field of an object with keys of the author's choice."""
    return Field("map", each=each, **more)


STEPS = Field("steps")
BODY = Field("steps", required=True)
WHOLE = Field("whole")
YES_NO = Field("bool", default=False)
JOINED = ("done", "failed", "open", "total", "results")

RETRY = Shape(
    "retry",
    {
        "attempts": Field("whole", default=1),
        "delay": duration(default="PT0S"),
        "factor": Field("number", default=1),
        "max_delay": duration(),
        "jitter": Field("number", default=0),
        "on": words(default=["transport", "timeout"]),
    },
    short="attempts",
)
HANDLER = Shape(
    "handler",
    {
        "signal": value(longest=200),
        "after": duration(),
        "at": Field("moment"),
        "every": duration(),
        "error": condition(names=("error",)),
        "escalation": text(longest=200),
        "key": value(longest=200),
        "times": WHOLE,
        "interrupting": Field("bool"),
        "steps": Field("steps", required=True, names=("signal", "error")),
    },
    one_of=("signal", "after", "at", "every", "error", "escalation"),
)
REMINDER = Shape(
    "reminder",
    {"after": duration(), "every": duration(), "times": WHOLE, "steps": BODY},
    one_of=("after", "every"),
)
ON_ERROR = Shape(
    "on_error",
    {"match": condition(names=("error",)), "steps": Field("steps", required=True, names=("error",))},
)
THROTTLE = Shape(
    "throttle",
    {"key": value(longest=200), "limit": Field("whole", required=True), "per": duration()},
)
RATE_LIMIT = Shape("rate_limit", {**THROTTLE.fields, "per": duration(required=True)})
ATTRIBUTES: Mapping[str, Field] = {
    "id": Field("id"),
    "title": Field("textvalue"),
    "description": Field("textvalue"),
    "when": condition(),
    "input": map_of(value()),
    "input_schema": Field("schema"),
    "enabled_while": condition(),
    "missed": enum("wait", "skip"),
    "mutex": words(),
    "throttle": inner(THROTTLE),
    "rate_limit": inner(RATE_LIMIT),
    "timeout": duration(),
    "retry": inner(RETRY),
    "decorators": Field("decorators"),
    "output": value(),
    "on_error": Field("handlers", shape=ON_ERROR),
    "finally": STEPS,
    "on_timeout": STEPS,
    "reminders": list_of(inner(REMINDER)),
    "on": list_of(inner(HANDLER)),
    "undo": STEPS,
    "scope": enum("own", "shared"),
    "allow_failure": Field("bool"),
    "tags": words(),
}
"""Keys that any step may have."""

NEED = Shape(
    "need",
    {"step": Field("ref", required=True), "on": enum("success", "failure", "complete", default="success")},
    short="step",
)
EDGE = Shape(
    "edge",
    {"to": Field("ref", required=True), "when": condition(), "make": WHOLE, "take": WHOLE, "max": WHOLE},
    short="to",
)
IN_GRAPH: Mapping[str, Field] = {
    "needs": list_of(inner(NEED)),
    "join": Field("join", options=("all", "any", "or", "each")),
    "rest": enum("let_run", "block", "cancel"),
    "next": list_of(inner(EDGE)),
    "split": enum("all", "one", "many"),
}
"""Keys that a child of graph, net or any_order may have; `next` is allowed on any step of a list too."""

BESIDE: Mapping[str, Mapping[str, Field]] = {
    "call": {"attempt_timeout": duration()},
    "if": {"then": STEPS, "else": STEPS},
    "set": {"if_present": YES_NO},
    "compensate": {},
}
"""Keys that only one kind may have."""

REFERENCE = Shape("reference", {"key": Field("textvalue"), "parts": map_of(value())}, short="key")
HEAD_REFERENCE = Shape("reference", {**REFERENCE.fields, "unique": Field("bool")}, short="key")
STARTER = Shape("starter", {"withdraw": Field("bool", default=True)})
STARTERS = Shape("starters", {"min_level": Field("level", default=4), "roles": words(default=[])})
SCHEDULE = Shape(
    "schedule",
    {
        "cron": Field("cron", required=True),
        "timezone": Field("zone", default="UTC"),
        "calendar": Field("calendar"),
        "overlap": enum("skip", "queue_one", "queue_all", "cancel_other", "allow", default="skip"),
        "catch_up": enum("none", "last", "all", default="last"),
        "window": duration(),
        "dst": enum("once", "skip", "every", default="once"),
        "input": map_of(value()),
    },
)
EVENT = Shape(
    "event",
    {"name": text(required=True), "when": condition(), "key": value(), "reference": value()},
    short="name",
)
LIMITS = Shape(
    "limits",
    {"concurrent": WHOLE, "at_limit": enum("queue", "refuse", default="queue"), "deadline": duration()},
)
HEAD = Shape(
    "head",
    {
        "schema": Field("derived"),
        "workflow": Field("slug", required=True),
        "title": text(),
        "case_title": Field("textvalue"),
        "description": text(),
        "tags": words(),
        "trigger": enum("manual", "scheduled", "event"),
        "starters": inner(STARTERS, default={"min_level": 4, "roles": []}),
        "starter": inner(STARTER),
        "undo": Field("undo_time"),
        "schedule": inner(SCHEDULE),
        "event": inner(EVENT),
        "input": Field("schema"),
        "reference": inner(HEAD_REFERENCE),
        "state": map_of(value()),
        "output": value(),
        "roles": Field("principals"),
        "limits": inner(LIMITS),
        "calendar": Field("calendar"),
        "on": list_of(inner(HANDLER)),
        "steps": BODY,
        "tests": Field("tests"),
        "requires": Field("derived"),
    },
)
