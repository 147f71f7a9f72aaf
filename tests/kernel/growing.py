"""Grow random workflows for the property tests."""

from typing import Any

from hypothesis import strategies as st

JOINS = st.sampled_from(["all", "any", 2, "none", "all_complete", "fail_fast"])
RESTS = st.sampled_from(["cancel", "let_run", "block"])
LEAVES = st.sampled_from(
    ["set", "task", "task", "wait", "call", "signal", "emit", "fail", "decide", "complete", "exit"]
)
CONTAINERS = st.sampled_from(
    ["group", "if", "repeat", "parallel", "for_each", "first", "selector", "any_order", "graph", "switch", "net"]
)
LEAF_BODIES: dict[str, Any] = {
    "set": {"n": "${get(state, 'n', 0) + 1}"},
    "task": {"title": "T", "outcomes": ["yes", "no"]},
    "wait": {"for": "PT1H"},
    "call": {"python": "f"},
    "signal": "go",
    "emit": {"signal": "go"},
    "fail": {"code": "no"},
    "decide": {"inputs": {"n": "${state.n}"}, "rows": [{"when": {"n": {"lt": 3}}, "then": "few"}], "default": "many"},
    "complete": {"outcome": "DONE"},
    "exit": None,
}
ATTRIBUTES = st.fixed_dictionaries(
    {},
    optional={
        "timeout": st.just("PT2H"),
        "on_error": st.just([]),
        "allow_failure": st.just(True),
        "retry": st.just({"attempts": 2, "delay": "PT1M", "on": ["transport", "business"]}),
        "mutex": st.just("m"),
        "when": st.sampled_from(["true", "false"]),
        "scope": st.just("own"),
        "finally": st.just([{"set": {"f": 1}}]),
        "undo": st.just([{"set": {"u": 1}}]),
        "reminders": st.just([{"every": "PT30M", "times": 2, "steps": [{"set": {"r": 1}}]}]),
        "on": st.sampled_from(
            [
                [{"signal": "stop", "interrupting": True, "steps": [{"set": {"s": 1}}]}],
                [{"after": "PT1H", "steps": [{"task": {"title": "Beside"}}]}],
            ]
        ),
        "enabled_while": st.sampled_from(["state.n < 3", "true"]),
    },
)


@st.composite
def workflows(draw: Any) -> dict[str, Any]:
    """Draw a workflow of at most forty steps."""
    budget = [draw(st.integers(1, 24))]
    return {"workflow": "grown", "state": {"n": 0}, "steps": draw_list(draw, budget, 0)}


def draw_list(draw: Any, budget: list[int], depth: int) -> list[dict[str, Any]]:
    """Draw a list of steps."""
    return [draw_step(draw, budget, depth) for _ in range(draw(st.integers(1, 3)))]


def draw_step(draw: Any, budget: list[int], depth: int) -> dict[str, Any]:
    """Draw one step with its attributes."""
    budget[0] -= 1
    more = draw(ATTRIBUTES) if draw(st.booleans()) else {}
    if more.get("timeout"):
        more["on_timeout"] = []
    if depth >= 3 or budget[0] <= 0 or draw(st.booleans()):
        kind = draw(LEAVES)
        return {kind: LEAF_BODIES[kind], **more}
    return {**CONTAINER_BODIES[draw(CONTAINERS)](draw, budget, depth + 1), **more}


def _body(draw: Any, budget: list[int], depth: int) -> list[dict[str, Any]]:
    return draw_list(draw, budget, depth)


def _branches(draw: Any, budget: list[int], depth: int) -> dict[str, Any]:
    return {name: _body(draw, budget, depth) for name in "abc"[: draw(st.integers(1, 3))]}


def _waiting(draw: Any, budget: list[int], depth: int) -> list[dict[str, Any]]:
    return [{"task": {"title": "T"}}, *_body(draw, budget, depth)]


def _net(draw: Any, budget: list[int]) -> list[dict[str, Any]]:
    """Draw a net of three leaves: two ways from the first, which come together or go round once more."""
    budget[0] -= 3
    first, other, last = (f"n{-budget[0] if budget[0] < 0 else budget[0] + 100}_{place}" for place in "abc")
    leaf = {name: draw(st.sampled_from(["task", "wait", "set"])) for name in (first, other, last)}
    steps = [{"id": name, leaf[name]: LEAF_BODIES[leaf[name]]} for name in (first, other, last)]
    steps[0] |= {"next": [{"to": other, "when": "state.n < 2"}, last], "split": draw(st.sampled_from(["many", "one"]))}
    steps[1] |= {"next": [last]}
    steps[2] |= {"join": draw(st.sampled_from(["or", "any", "each"]))}
    return steps


CONTAINER_BODIES: dict[str, Any] = {
    "group": lambda draw, budget, depth: {"group": _body(draw, budget, depth)},
    "if": lambda draw, budget, depth: {
        "if": draw(st.sampled_from(["state.n > 1", "true"])),
        "then": _body(draw, budget, depth),
        "else": _body(draw, budget, depth),
    },
    "switch": lambda draw, budget, depth: {
        "switch": {"cases": [{"when": "state.n > 2", "steps": _body(draw, budget, depth)}], "default": []}
    },
    "repeat": lambda draw, budget, depth: {
        "repeat": {"times": draw(st.integers(0, 2)), "steps": _body(draw, budget, depth)}
    },
    "parallel": lambda draw, budget, depth: {
        "parallel": {"branches": _branches(draw, budget, depth), "join": draw(JOINS), "rest": draw(RESTS)}
    },
    "for_each": lambda draw, budget, depth: {
        "for_each": {
            "each": list(range(draw(st.integers(0, 3)))),
            "steps": _body(draw, budget, depth),
            "join": draw(JOINS),
            "rest": draw(RESTS),
            "limit": draw(st.integers(1, 3)),
        }
    },
    "first": lambda draw, budget, depth: {
        "first": {"branches": {"a": _waiting(draw, budget, depth), "b": _waiting(draw, budget, depth)}}
    },
    "selector": lambda draw, budget, depth: {"selector": _body(draw, budget, depth)},
    "any_order": lambda draw, budget, depth: {"any_order": _body(draw, budget, depth)},
    "graph": lambda draw, budget, depth: {"graph": _body(draw, budget, depth)},
    "net": lambda draw, budget, depth: {"net": {"steps": _net(draw, budget), "leftover": "drop"}},
}


CALL = {"call": {"python": "f"}}
RETRY = {"attempts": 3, "delay": "PT1M", "on": ["transport", "business"]}
TURNING = [{"signal": name, "steps": [{"set": {"n": value}}]} for name, value in (("forth", 5), ("back", 0))]
"""Handlers that withdraw what is enabled while n is small, and offer it again."""
SENDING = [CALL, {"repeat": {"times": 2, "steps": [{"call": {"python": "g"}}]}}]
SAYING = [{"call": {"python": "h"}}, {"task": {"title": "Beside"}}]
CALLING = st.fixed_dictionaries(
    {},
    optional={
        "on": st.sampled_from(
            [
                [{"signal": "doc", "steps": SENDING}],
                [{"signal": "doc", "steps": SAYING}, {"every": "PT20M", "steps": [CALL]}],
                [{"after": "PT1H", "steps": SENDING}, {"escalation": "help", "steps": [CALL]}],
                [{"signal": "doc", "interrupting": True, "steps": [CALL]}],
                [{"error": "true", "steps": [CALL]}],
            ]
        ),
        "reminders": st.sampled_from([[{"every": "PT30M", "times": 3, "steps": steps}] for steps in (SENDING, SAYING)]),
        "finally": st.sampled_from([[CALL], [{"if": "true", "then": [CALL]}]]),
        "undo": st.just(SENDING),
        "retry": st.just(RETRY),
        "on_error": st.just([{"steps": [CALL]}]),
        "enabled_while": st.just("state.n < 2"),
    },
)
"""Attributes through which a step reaches the outside, and those that make it run again."""
CALLING_LEAVES = st.sampled_from(
    [
        CALL,
        {"emit": {"escalation": "help"}},
        {"group": [CALL, {"task": {"title": "T"}}, CALL]},
        {"group": SENDING},
        None,
    ]
)
STEP_KINDS = frozenset(LEAF_BODIES) | frozenset(
    ["group", "if", "repeat", "parallel", "for_each", "first", "selector", "any_order", "graph", "switch", "net"]
)


@st.composite
def calling_workflows(draw: Any) -> dict[str, Any]:
    """Draw a workflow that reaches the outside in every way that the language has."""
    grown = draw(workflows())
    body = _let_call(draw, grown["steps"])
    again = {"retry": RETRY} if draw(st.booleans()) else {}
    whole = {"id": "whole", "group": [*body, {"call": {"python": "sure"}}], **draw(CALLING), **again}
    undone = [{"compensate": {"step": "whole"}}] if draw(st.booleans()) else []
    return {**grown, "on": TURNING, "steps": [whole, *undone, {"call": {"python": "last"}}]}


def _let_call(draw: Any, value: Any) -> Any:
    """Give steps ways to the outside: in place of what they write, and in addition to what they do."""
    if isinstance(value, list):
        return [_let_call(draw, item) for item in value]
    if not isinstance(value, dict):
        return value
    if not STEP_KINDS & set(value):
        return {key: _let_call(draw, item) for key, item in value.items()}
    return _let_step_call(draw, value)


def _let_step_call(draw: Any, step: dict[str, Any]) -> dict[str, Any]:
    kind = next(key for key in step if key in STEP_KINDS)
    if kind in ("set", "emit", "decide", "complete"):
        instead = draw(CALLING_LEAVES)
        step = step if instead is None else {**{key: item for key, item in step.items() if key != kind}, **instead}
    elif kind in STEP_KINDS - set(LEAF_BODIES):
        within = (kind, "then", "else")
        step = {key: _let_call(draw, item) if key in within else item for key, item in step.items()}
    return {**step, **draw(CALLING)} if draw(st.integers(0, 2)) == 0 else step
