"""The shapes of each step kind: tasks, calls, branches and all the others."""

from collections.abc import Mapping

from engine.kernel.language.shapes import (
    BODY,
    JOINED,
    REFERENCE,
    STEPS,
    WHOLE,
    Field,
    Shape,
    condition,
    duration,
    enum,
    inner,
    list_of,
    map_of,
    text,
    value,
    words,
)

LETTER = {"subject": Field("textvalue"), "text": Field("textvalue")}
NOTIFY = Shape("notify", {"to": value(), **LETTER}, short="to")
REMIND = Shape(
    "remind",
    {"after": duration(), "every": duration(), "times": WHOLE, "to": value(), **LETTER},
    short="after",
    one_of=("after", "every"),
)
ESCALATE = Shape(
    "escalate",
    {
        "after": duration(required=True),
        "notify": value(),
        **LETTER,
        "priority": Field("textvalue"),
        "roles": Field("principals"),
        "users": Field("principals"),
        "assignee": value(),
        "interrupting": Field("bool"),
        "steps": STEPS,
    },
)
ATTACHMENTS = Shape(
    "attachments",
    {
        "types": words(default=[]),
        "max_size": Field("size", default=10 * 1024**2),
        "max": Field("whole", default=10),
        "required": Field("bool", default=False),
    },
    short="types",
)
CHECK = Shape(
    "check",
    {"title": Field("textvalue", required=True), "id": Field("name"), "required": Field("bool", default=True)},
    short="title",
)
ASK = Shape("ask", {"pause": Field("bool", required=True), "at_most": Field("pause_time")})
TASK = Shape(
    "task",
    {
        "title": Field("textvalue"),
        "description": Field("textvalue"),
        "instructions": Field("textvalue"),
        "type": Field("textvalue", longest=100),
        "route": Field("textvalue", longest=200),
        "roles": Field("principals"),
        "users": Field("principals"),
        "assignee": value(),
        "min_level": Field("level"),
        "form": Field("form"),
        "outcomes": Field("outcomes"),
        "payload": map_of(value()),
        "columns": map_of(value()),
        "due": Field("when_due"),
        "follow_up": Field("when_due"),
        "priority": Field("textvalue"),
        "sla": Field("when_due"),
        "calendar": Field("calendar"),
        "remind": list_of(inner(REMIND)),
        "escalate": list_of(inner(ESCALATE)),
        "not_same_as": Field("refs"),
        "same_as": Field("refs"),
        "assign_by": enum("offer", "random", "round_robin", "least_loaded", "most_experienced", "skill", "manager_of"),
        "complete_when": condition(names=JOINED),
        "wip_limit": WHOLE,
        "allow": list_of(enum("skip", "redo")),
        "comment": enum("never", "optional", "on_reject", "always", default="optional"),
        "draft": Field("bool"),
        "secure": Field("bool"),
        "undo": Field("undo_time"),
        "ask": inner(ASK),
        "attachments": inner(ATTACHMENTS),
        "checklist": list_of(inner(CHECK)),
        "on_expire": map_of(value()),
        "notify": inner(NOTIFY),
    },
)
HTTP = Shape(
    "http",
    {
        "method": enum("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", default="GET"),
        "url": Field("textvalue", required=True),
        "headers": map_of(value()),
        "query": map_of(value()),
        "body": value(),
    },
)
EMAIL = Shape(
    "email",
    {
        "to": value(required=True),
        "subject": Field("textvalue", required=True),
        "text": Field("textvalue", required=True),
    },
)
PYTHON = Shape(
    "python", {"function": Field("function", required=True), "args": map_of(value(), default={})}, short="function"
)
GRAPHQL = Shape(
    "graphql",
    {
        "url": Field("textvalue", required=True),
        "query": text(required=True),
        "variables": value(),
        "operation": Field("textvalue", longest=200),
        "headers": map_of(value()),
    },
)
TRANSPORTS = ("http", "email", "python", "graphql")
CALL = Shape(
    "call",
    {
        "http": inner(HTTP),
        "email": inner(EMAIL),
        "python": inner(PYTHON),
        "graphql": inner(GRAPHQL),
        "into": Field("into"),
        "key": Field("textvalue", longest=300),
    },
    one_of=TRANSPORTS,
)
CASE = Shape("case", {"when": condition(required=True), "steps": BODY})
ROW = Shape("row", {"when": map_of(Field("cell"), default={}), "then": value(required=True)})
BRANCH = Shape("branch", {"name": Field("branch_name"), "when": condition(), "steps": BODY}, short="steps")
ADD = Shape("add", {"signal": text(required=True, longest=200), "close": text(longest=200)}, short="signal")
RESCHEDULE = Shape(
    "reschedule",
    {"signal": text(required=True, longest=200), "until": Field("moment", required=True, names=("signal",))},
)

KINDS: Mapping[str, Field] = {
    "set": Field("state_keys"),
    "reference": inner(REFERENCE),
    "task": inner(TASK),
    "call": inner(CALL),
    "if": condition(),
    "switch": inner(Shape("switch", {"cases": list_of(inner(CASE), required=True), "default": STEPS})),
    "decide": inner(
        Shape(
            "decide",
            {
                "hit": enum("first", "unique", "collect", default="first"),
                "inputs": map_of(value(), required=True),
                "rows": list_of(inner(ROW), required=True),
                "default": value(),
            },
        )
    ),
    "repeat": Field(
        "loop",
        shape=Shape(
            "repeat",
            {
                "each": value(),
                "times": value(),
                "while": condition(names=("index",)),
                "until": condition(names=("index", "item")),
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
                "each": value(required=True),
                "as": Field("name"),
                "steps": Field("steps", required=True, names=("item", "index", "signal")),
                "join": Field("join", options=("all", "any", "none", "all_complete", "fail_fast"), default="all"),
                "rest": enum("cancel", "let_run", "block", default="cancel"),
                "complete_when": condition(names=JOINED),
                "limit": Field("whole", default=100),
                "add": inner(ADD),
            },
        ),
    ),
    "parallel": inner(
        Shape(
            "parallel",
            {
                "branches": Field("branches", required=True, shape=BRANCH),
                "join": Field("join", options=("all", "any", "none", "all_complete", "fail_fast"), default="all"),
                "rest": enum("cancel", "let_run", "block", default="cancel"),
                "complete_when": condition(names=JOINED),
            },
        )
    ),
    "first": inner(
        Shape(
            "first",
            {
                "branches": Field("branches", required=True, shape=BRANCH),
                "pick": enum("complete", "start", default="complete"),
            },
        )
    ),
    "graph": inner(Shape("graph", {"steps": BODY}, short="steps")),
    "net": inner(
        Shape("net", {"start": Field("ref"), "steps": BODY, "leftover": enum("incident", "drop", default="incident")})
    ),
    "any_order": inner(Shape("any_order", {"steps": BODY}, short="steps")),
    "wait": inner(
        Shape(
            "wait",
            {
                "for": duration(),
                "until": Field("moment"),
                "calendar": Field("calendar"),
                "reschedule": inner(RESCHEDULE),
            },
            one_of=("for", "until"),
        )
    ),
    "signal": inner(
        Shape(
            "signal",
            {"name": text(required=True, longest=200), "key": value(longest=200), "ttl": duration()},
            short="name",
        )
    ),
    "emit": inner(
        Shape(
            "emit",
            {
                "signal": value(longest=200),
                "event": value(longest=200),
                "escalation": text(longest=200),
                "key": value(longest=200),
                "payload": value(),
                "ttl": duration(),
            },
            one_of=("signal", "event", "escalation"),
        )
    ),
    "workflow": Field(
        "embeddable",
        shape=Shape(
            "workflow",
            {
                "name": Field("workflow_name", required=True),
                "version": Field("version", default="latest"),
                "input": map_of(value(), default={}),
                "embed": Field("bool"),
                "use_parent_scope": Field("bool"),
                "schema": Field("schema"),
                "output": value(),
                "steps": STEPS,
            },
            short="name",
        ),
    ),
    "continue_with": inner(
        Shape(
            "continue_with",
            {
                "name": Field("workflow_name", required=True),
                "version": Field("version", default="latest"),
                "input": map_of(value(), default={}),
            },
            short="name",
        )
    ),
    "selector": inner(Shape("selector", {"steps": BODY}, short="steps")),
    "group": inner(Shape("group", {"steps": BODY}, short="steps")),
    "ext": Field(
        "own_kind",
        shape=Shape("ext", {"type": Field("own_type", required=True), "with": Field("plain"), "steps": STEPS}),
    ),
    "compensate": inner(Shape("compensate", {"step": Field("ref", required=True)}, short="step")),
    "cancel": Field(
        "cancel",
        shape=Shape(
            "cancel",
            {
                "steps": Field("refs"),
                "tags": words(),
                "case": Field("bool"),
                "outcome": text(),
                "reason": Field("textvalue"),
            },
        ),
    ),
    "exit": Field("exit"),
    "complete": inner(
        Shape(
            "complete",
            {"outcome": Field("textvalue", longest=100), "output": value(), "step": Field("ref")},
            short="outcome",
        )
    ),
    "fail": inner(
        Shape(
            "fail",
            {"code": Field("textvalue", required=True, longest=100), "message": Field("textvalue", default="")},
            short="code",
        )
    ),
}
"""Step kinds: how the value of the kind's key is read."""
