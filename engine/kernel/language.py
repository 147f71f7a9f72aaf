"""Say what may stand where: the shapes of the whole language, as tables.

The normaliser reads a document against these shapes, the JSON Schema for editors is made from them, and a construct that the
platform does not yet execute stands in not_yet.py under the name it has here (`head.schedule`, `kind.net`, `step.mutex`,
`task.escalate`). A new construct is a new row.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from engine.kernel.signals import Json

ABSENT = object()


@dataclass(frozen=True, slots=True)
class Field:
    """One key: which reader reads it, and what stands there when nobody wrote it."""

    reader: str
    required: bool = False
    default: Json = ABSENT
    options: tuple[str, ...] = ()
    shape: "Shape | None" = None
    each: "Field | None" = None
    names: tuple[str, ...] = ()
    """Names that expressions may use here beside the usual ones."""


@dataclass(frozen=True, slots=True)
class Shape:
    """An object: its keys. `short` names the key that a bare value stands for."""

    name: str
    fields: Mapping[str, Field]
    short: str | None = None
    one_of: tuple[str, ...] = ()
    """Exactly one of these keys must be there."""


def _text(**more: Json) -> Field:
    return Field("text", **more)


def _words(**more: Json) -> Field:
    return Field("words", **more)


def _value(**more: Json) -> Field:
    return Field("value", **more)


def _condition(**more: Json) -> Field:
    return Field("condition", **more)


def _duration(**more: Json) -> Field:
    return Field("duration", **more)


def _enum(*options: str, **more: Json) -> Field:
    return Field("enum", options=options, **more)


def _shape(shape: Shape, **more: Json) -> Field:
    return Field("shape", shape=shape, **more)


def _list(each: Field, **more: Json) -> Field:
    return Field("list", each=each, **more)


def _map(each: Field, **more: Json) -> Field:
    return Field("map", each=each, **more)


STEPS = Field("steps")
BODY = Field("steps", required=True)
WHOLE = Field("whole")
YES_NO = Field("bool", default=False)
_JOINED = ("done", "failed", "open", "total", "results")

RETRY = Shape(
    "retry",
    {
        "attempts": Field("whole", default=1),
        "delay": _duration(default="PT0S"),
        "factor": Field("number", default=1),
        "max_delay": _duration(),
        "jitter": Field("number", default=0),
        "on": _words(default=["transport", "timeout"]),
    },
    short="attempts",
)
HANDLER = Shape(
    "handler",
    {
        "signal": _value(),
        "after": _duration(),
        "at": Field("moment"),
        "every": _duration(),
        "error": _condition(names=("error",)),
        "escalation": _text(),
        "key": _value(),
        "times": WHOLE,
        "interrupting": Field("bool"),
        "steps": Field("steps", required=True, names=("signal", "error")),
    },
    one_of=("signal", "after", "at", "every", "error", "escalation"),
)
REMINDER = Shape(
    "reminder",
    {"after": _duration(), "every": _duration(), "times": WHOLE, "steps": BODY},
    one_of=("after", "every"),
)
ON_ERROR = Shape(
    "on_error",
    {"match": _condition(names=("error",)), "steps": Field("steps", required=True, names=("error",))},
)
ATTRIBUTES: Mapping[str, Field] = {
    "id": Field("id"),
    "title": Field("textvalue"),
    "description": Field("textvalue"),
    "when": _condition(),
    "input": _map(_value()),
    "input_schema": Field("schema"),
    "enabled_while": _condition(),
    "missed": _enum("wait", "skip"),
    "mutex": _words(),
    "throttle": _value(),
    "rate_limit": _value(),
    "timeout": _duration(),
    "retry": _shape(RETRY),
    "decorators": _words(),
    "output": _value(),
    "on_error": Field("handlers", shape=ON_ERROR),
    "finally": STEPS,
    "on_timeout": STEPS,
    "reminders": _list(_shape(REMINDER)),
    "on": _list(_shape(HANDLER)),
    "undo": STEPS,
    "scope": _enum("own", "shared"),
    "allow_failure": Field("bool"),
    "tags": _words(),
}
"""Keys that may stand beside any kind."""

NEED = Shape(
    "need",
    {"step": Field("ref", required=True), "on": _enum("success", "failure", "complete", default="success")},
    short="step",
)
EDGE = Shape(
    "edge", {"to": Field("ref", required=True), "when": _condition(), "make": WHOLE, "take": WHOLE}, short="to"
)
IN_GRAPH: Mapping[str, Field] = {
    "needs": _list(_shape(NEED)),
    "join": Field("join", options=("all", "any", "or", "each")),
    "rest": _enum("let_run", "block", "cancel"),
    "next": _list(_shape(EDGE)),
    "split": _enum("all", "one", "many"),
}
"""Keys that may stand beside the kind of a child of graph, net or any_order."""

BESIDE: Mapping[str, Mapping[str, Field]] = {
    "if": {"then": STEPS, "else": STEPS},
    "set": {"if_present": YES_NO},
    "compensate": {},
}
"""Keys that may stand beside one kind only."""

TASK = Shape(
    "task",
    {
        "title": Field("textvalue"),
        "description": Field("textvalue"),
        "instructions": Field("textvalue"),
        "type": Field("textvalue"),
        "route": Field("textvalue"),
        "roles": Field("principals"),
        "users": Field("principals"),
        "assignee": _value(),
        "min_level": Field("level"),
        "form": Field("form"),
        "outcomes": Field("outcomes"),
        "payload": _map(_value()),
        "columns": _map(_value()),
        "due": Field("when_due"),
        "follow_up": Field("when_due"),
        "priority": Field("textvalue"),
        "sla": _value(),
        "calendar": _text(),
        "remind": _value(),
        "escalate": _value(),
        "not_same_as": Field("refs"),
        "same_as": Field("refs"),
        "assign_by": _value(),
        "complete_when": _condition(names=_JOINED),
        "wip_limit": _value(),
        "allow": _value(),
        "comment": _enum("never", "optional", "on_reject", "always", default="optional"),
        "draft": _value(),
        "attachments": _value(),
        "checklist": _value(),
        "on_expire": _map(_value()),
        "notify": _value(),
    },
)
HTTP = Shape(
    "http",
    {
        "method": _enum("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", default="GET"),
        "url": Field("textvalue", required=True),
        "headers": _map(_value()),
        "query": _map(_value()),
        "body": _value(),
    },
)
EMAIL = Shape(
    "email",
    {
        "to": _value(required=True),
        "subject": Field("textvalue", required=True),
        "text": Field("textvalue", required=True),
    },
)
PYTHON = Shape(
    "python", {"function": Field("function", required=True), "args": _map(_value(), default={})}, short="function"
)
GRAPHQL = Shape(
    "graphql", {"url": Field("textvalue", required=True), "query": _text(required=True), "variables": _value()}
)
TRANSPORTS = ("http", "email", "python", "graphql")
CALL = Shape(
    "call",
    {
        "http": _shape(HTTP),
        "email": _shape(EMAIL),
        "python": _shape(PYTHON),
        "graphql": _shape(GRAPHQL),
        "into": Field("into"),
        "key": Field("textvalue"),
    },
    one_of=TRANSPORTS,
)
REFERENCE = Shape("reference", {"key": Field("textvalue"), "parts": _map(_value())}, short="key")
CASE = Shape("case", {"when": _condition(required=True), "steps": BODY})
ROW = Shape("row", {"when": _map(Field("cell"), default={}), "then": _value(required=True)})
BRANCH = Shape("branch", {"name": Field("branch_name"), "when": _condition(), "steps": BODY}, short="steps")
ADD = Shape("add", {"signal": _text(required=True), "close": _text()}, short="signal")
RESCHEDULE = Shape(
    "reschedule", {"signal": _text(required=True), "until": Field("moment", required=True, names=("signal",))}
)

KINDS: Mapping[str, Field] = {
    "set": Field("state_keys"),
    "reference": _shape(REFERENCE),
    "task": _shape(TASK),
    "call": _shape(CALL),
    "if": _condition(),
    "switch": _shape(Shape("switch", {"cases": _list(_shape(CASE), required=True), "default": STEPS})),
    "decide": _shape(
        Shape(
            "decide",
            {
                "hit": _enum("first", "unique", "collect", default="first"),
                "inputs": _map(_value(), required=True),
                "rows": _list(_shape(ROW), required=True),
                "default": _value(),
            },
        )
    ),
    "repeat": Field(
        "loop",
        shape=Shape(
            "repeat",
            {
                "each": _value(),
                "times": _value(),
                "while": _condition(names=("index",)),
                "until": _condition(names=("index", "item")),
                "as": Field("name"),
                "max": Field("whole", default=1000),
                "steps": Field("steps", required=True, names=("item", "index")),
            },
            one_of=("each", "times", "while", "until"),
        ),
    ),
    "for_each": Field(
        "loop",
        shape=Shape(
            "for_each",
            {
                "each": _value(required=True),
                "as": Field("name"),
                "steps": Field("steps", required=True, names=("item", "index", "signal")),
                "join": Field("join", options=("all", "any", "none", "all_complete", "fail_fast"), default="all"),
                "rest": _enum("cancel", "let_run", "block", default="cancel"),
                "complete_when": _condition(names=_JOINED),
                "limit": Field("whole", default=100),
                "add": _shape(ADD),
            },
        ),
    ),
    "parallel": _shape(
        Shape(
            "parallel",
            {
                "branches": Field("branches", required=True, shape=BRANCH),
                "join": Field("join", options=("all", "any", "none", "all_complete", "fail_fast"), default="all"),
                "rest": _enum("cancel", "let_run", "block", default="cancel"),
                "complete_when": _condition(names=_JOINED),
            },
        )
    ),
    "first": _shape(
        Shape(
            "first",
            {"branches": Field("branches", required=True, shape=BRANCH), "pick": _enum("complete", "start", default="complete")},
        )
    ),
    "graph": _shape(Shape("graph", {"steps": BODY}, short="steps")),
    "net": _shape(
        Shape("net", {"start": Field("ref"), "steps": BODY, "leftover": _enum("incident", "drop", default="incident")})
    ),
    "any_order": _shape(Shape("any_order", {"steps": BODY}, short="steps")),
    "wait": _shape(
        Shape(
            "wait",
            {"for": _duration(), "until": Field("moment"), "calendar": _text(), "reschedule": _shape(RESCHEDULE)},
            one_of=("for", "until"),
        )
    ),
    "signal": _shape(Shape("signal", {"name": _text(required=True), "key": _value(), "ttl": _duration()}, short="name")),
    "emit": _shape(
        Shape(
            "emit",
            {"signal": _value(), "event": _value(), "escalation": _text(), "key": _value(), "payload": _value(), "ttl": _duration()},
            one_of=("signal", "event", "escalation"),
        )
    ),
    "workflow": _shape(
        Shape("workflow", {"name": Field("workflow_name", required=True), "version": Field("version", default="latest"), "input": _map(_value(), default={})}, short="name")
    ),
    "continue_with": _shape(
        Shape("continue_with", {"name": Field("workflow_name", required=True), "version": Field("version", default="latest"), "input": _map(_value(), default={})}, short="name")
    ),
    "selector": _shape(Shape("selector", {"steps": BODY}, short="steps")),
    "group": _shape(Shape("group", {"steps": BODY}, short="steps")),
    "compensate": _shape(Shape("compensate", {"step": Field("ref", required=True)}, short="step")),
    "cancel": Field(
        "cancel",
        shape=Shape("cancel", {"steps": Field("refs"), "tags": _words(), "case": Field("bool"), "outcome": _text(), "reason": Field("textvalue")}),
    ),
    "exit": Field("exit"),
    "complete": _shape(Shape("complete", {"outcome": Field("textvalue"), "output": _value(), "step": Field("ref")}, short="outcome")),
    "fail": _shape(Shape("fail", {"code": Field("textvalue", required=True), "message": Field("textvalue", default="")}, short="code")),
}  # fmt: skip
"""Step kinds: how the value of the kind's key is read."""

STARTERS = Shape("starters", {"min_level": Field("level", default=4), "roles": _words(default=[])})
SCHEDULE = Shape(
    "schedule",
    {
        "cron": _text(required=True),
        "timezone": _text(default="UTC"),
        "calendar": _text(),
        "overlap": _enum("skip", "queue_one", "queue_all", "cancel_other", "allow", default="skip"),
        "catch_up": _enum("none", "last", "all", default="last"),
        "window": _duration(),
        "dst": _text(),
        "input": _map(_value()),
    },
)
EVENT = Shape(
    "event",
    {"name": _text(required=True), "when": _condition(), "key": _value(), "reference": _value()},
    short="name",
)
LIMITS = Shape(
    "limits",
    {"concurrent": WHOLE, "at_limit": _enum("queue", "refuse", default="queue"), "deadline": _duration()},
)
HEAD = Shape(
    "head",
    {
        "schema": Field("derived"),
        "workflow": Field("slug", required=True),
        "title": _text(),
        "description": _text(),
        "tags": _words(),
        "trigger": _enum("manual", "scheduled", "event", default="manual"),
        "starters": _shape(STARTERS, default={"min_level": 4, "roles": []}),
        "schedule": _shape(SCHEDULE),
        "event": _shape(EVENT),
        "input": Field("schema"),
        "reference": _shape(REFERENCE),
        "state": _map(_value()),
        "output": _value(),
        "roles": _words(),
        "limits": _shape(LIMITS),
        "calendar": _text(),
        "on": _list(_shape(HANDLER)),
        "steps": BODY,
        "tests": Field("tests"),
        "requires": Field("derived"),
    },
)
