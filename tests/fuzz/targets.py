"""One function of bytes per target: it returns, or raises where a promise is broken.

The promise is the same everywhere: whatever comes in, a value or one of the named refusals goes out, the same for the same
input, soon, and of bounded size. Every other exception is a crash.
"""

import io
import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from itertools import pairwise
from typing import Any
from uuid import UUID
from xml.etree import ElementTree

from rest_framework.exceptions import APIException
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from engine.api.json_bodies import BoundedJSONParser
from engine.api.request_bodies import EventBody, InstanceSignalBody, SignalBody
from engine.diagram.graph import Flow, flow_of
from engine.diagram.layout import LayoutFailed, geometry_from_outside, graph_of
from engine.diagram.outline import outline_svg, outline_text
from engine.diagram.svg import draw as draw_diagram
from engine.dispatch.signal_decoder import Due, Malformed, decoded_event
from engine.errors import Invalid
from engine.gallery import GALLERY_FOLDER
from engine.kernel.errors import KernelError, StepError
from engine.kernel.expressions.cel import LARGEST_RESULT, Expression, ExpressionRefused
from engine.kernel.expressions.interpolation import compile_value
from engine.kernel.forms import check_values, schema_problem
from engine.kernel.json_safety import refuse_unsafe_json
from engine.kernel.language.normalizer import normalize
from engine.kernel.signals import SignalType
from engine.kernel.timing.cron import CronError, CronSchedule
from engine.presentation.forms.form import SchemaForm
from engine.presentation.forms.schema import layout_of
from engine.presentation.forms.values import facts_of
from engine.transports.webhook_signature import new_secret, signed_headers
from tests.fuzz.drawing import Draw
from tests.fuzz.expressions import expression
from tests.kernel.play import MONDAY, Case, compiled
from tests.kernel.test_expressions import Names

SECONDS = 3.0
"""Of computing for one input; alone on a machine it is a few milliseconds."""
ID = UUID("00000000-0000-4000-8000-000000000013")


class Broken(AssertionError):
    """A promise that an input broke."""


def require(holds: bool, promise: str) -> None:
    """Raise where a promise does not hold."""
    if not holds:
        raise Broken(promise)


# YAML


@cache
def _templates() -> tuple[str, ...]:
    return tuple(path.read_text() for path in sorted(GALLERY_FOLDER.glob("*.yaml")))


def yaml(data: bytes) -> None:
    """Read bytes as a template, or damage a good template at some places."""
    draw = Draw(data)
    source = _damaged(draw) if draw.byte() % 2 else draw.rest()
    found, again = normalize(source), normalize(source)
    require(bool(found.findings) or found.canonical is not None, "a template is read or has findings")
    require(found.canonical == again.canonical and found.findings == again.findings, "reading is deterministic")
    require(all(finding.code and finding.message for finding in found.findings), "a finding says what is wrong")


def _damaged(draw: Draw) -> str:
    source = draw.pick(_templates())
    for _ in range(draw.count(4) + 1):
        at = (draw.byte() * 256 + draw.byte()) % len(source)
        piece = draw.text() * (draw.byte() if draw.byte() < 16 else 1)
        source = source[:at] + piece + source[at + draw.byte() % 8 :]
    return source


# Expressions


def expressions(data: bytes) -> None:
    """Compute an expression over any values, as a value, as a condition and inside a text."""
    draw = Draw(data)
    names = {
        "start": {"a": _plain(draw.json(3)), "list": _plain([draw.json(2) for _ in range(draw.count(6))]),
                  "text": (_plain(draw.text()) or "") * (draw.byte() + 1)},
        "state": {"n": draw.byte()}, "item": _plain(draw.json(2)), "now": MONDAY,
    }  # fmt: skip
    text = draw.rest() if draw.byte() < 32 else expression(draw)
    found, again = _computed(text, names), _computed(text, names)
    require(found == again, f"an expression is deterministic: {text[:500]}: {found[:200]} / {again[:200]}")
    require(len(found) <= 7 * LARGEST_RESULT, "a result is bounded")
    with suppress(ExpressionRefused, StepError):
        require(isinstance(Expression(text).holds(Names(**names)), bool), "a condition is true or false")
    with suppress(ExpressionRefused, StepError):
        compile_value(f"{draw.text()} ${{{text}}} {draw.text()}").of(Names(**names))


def _computed(text: str, names: Mapping[str, Any]) -> str:
    try:
        return json.dumps(Expression(text).value(Names(**names)), allow_nan=False)
    except ExpressionRefused as refusal:
        require(bool(str(refusal)), "a refusal says why")
        return f"refused {refusal}"
    except StepError as error:
        require(error.error_class == "expression" and bool(error.message), "a failure is an expression's and says why")
        return f"failed {error.code} {error.message}"


def _plain(value: Any) -> Any:
    """Leave out JSON that API and pages refuse."""
    return None if refuse_unsafe_json(value) else value


# Envelopes


TYPES = (*SignalType, "", "Unknown", "TimerDue ")
WAITING = """
steps:
  - parallel:
     branches:
      a: [{id: asked, task: {title: Look, form: {type: object, properties: {n: {type: integer}}}, outcomes: ["yes", "no"]}}]
      b: [{id: heard, signal: go}]
      c: [{id: slept, wait: {for: PT1H}}]
      d: [{id: keyed, signal: {name: keyed, key: "${start.k}"}}]
      e: [{id: child, workflow: {name: other, input: {a: 1}}}]
  - {set: {x: "${result.heard}", y: "${result.child}"}}
"""


@cache
def _waiting() -> Any:
    return compiled(WAITING)


def envelopes(data: bytes) -> None:
    """Deliver any envelope to a case that waits for every kind of thing, twice, and see it settle or be refused."""
    draw = Draw(data)
    case = Case(_waiting(), {"k": "1"})
    for _ in range(draw.count(3) + 1):
        tokens = (*case.waits, *case.waits, 0, 1, 99, -1)
        due = Due(ID, ID, draw.pick(TYPES), draw.pick(tokens), _envelope(draw), draw.byte())
        with suppress(Malformed, KernelError):
            event = decoded_event(due)
            require(event == decoded_event(due), "reading an envelope is deterministic")
            case.send(event)
            require(case.last.status.value != "", "a case has a status")


def _envelope(draw: Draw) -> Any:
    """Make a payload: of the right keys with any values, or anything at all."""
    keys = draw.pick(
        (
            ("name", "key", "payload"),
            ("status", "outcome", "output", "error", "instance", "waited", "people"),
            ("reason",),
        )
    )
    right = {
        "name": "go", "key": None, "payload": {"a": 1}, "status": "completed", "outcome": "done", "output": {"b": 2},
        "error": None, "instance": "i-2", "waited": False, "people": {"ann": "2030-01-07T09:00:00Z"}, "reason": "over",
    }  # fmt: skip
    if draw.byte() < 32:
        return _plain(draw.json())
    wrong = draw.byte()
    return {
        key: _plain(draw.json(3)) if wrong >> number & 1 else right[key]
        for number, key in enumerate(keys)
        if draw.byte() > 20
    }


# Cron


CRON = (
    "*",
    "0",
    "59",
    "60",
    "*/5",
    "*/0",
    "1-5",
    "5-1",
    "L",
    "LW",
    "15W",
    "1#2",
    "MON",
    "7",
    "JAN",
    "?",
    ",",
    "/",
    "-",
    "31",
    "2",
)
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Nowhere/Else", "", "../etc")


def cron(data: bytes) -> None:
    """Read a cron expression and foresee its next runs: later and later, the same each time."""
    draw = Draw(data)
    text = (
        draw.rest() if draw.byte() < 64 else " ".join(_cron_field(draw) for _ in range(draw.pick((5, 5, 5, 6, 4, 7))))
    )
    zone, dst = draw.pick(ZONES), draw.pick(("once", "skip", "every", "never"))
    try:
        schedule = CronSchedule.parse(text, zone, dst)
        slots = schedule.next_n(MONDAY, 3)
    except CronError as refusal:
        require(bool(refusal.code and str(refusal)), "a refusal has a code and a sentence")
        return
    moments = [slot.at for slot in slots]
    require(all(earlier < later for earlier, later in pairwise([MONDAY, *moments])), "runs go forward")
    require(
        moments == [slot.at for slot in CronSchedule.parse(text, zone, dst).next_n(MONDAY, 3)], "and are the same again"
    )


def _cron_field(draw: Draw) -> str:
    if draw.byte() < 16:
        return draw.text()
    return draw.pick(("", ",", "/", "-")).join(draw.pick(CRON) for _ in range(draw.count(3) + 1))


# Webhooks and REST bodies


SECRETS = (new_secret(), new_secret())
BODIES = (SignalBody, InstanceSignalBody, EventBody)


def webhooks(data: bytes) -> None:
    """Sign any message so that the other side knows it, whatever it holds, and knows nothing else."""
    draw = Draw(data)
    secrets = SECRETS[: draw.count(1) + 1]
    payload = _plain(draw.json())
    body = json.dumps({"data": payload}, ensure_ascii=draw.byte() % 2 == 0)
    message_id, now = f"msg_{draw.byte()}", int(time.time())
    headers = signed_headers(secrets, message_id, now, body)
    require(headers == signed_headers(secrets, message_id, now, body), "signing is deterministic")
    for secret in secrets:
        require(Webhook(secret).verify(body, headers) == {"data": payload}, "each secret in use knows the message")
    changed = {**headers, draw.pick(("webhook-id", "webhook-signature")): draw.text()}
    try:
        Webhook(SECRETS[0]).verify(body + draw.pick(("", " ", "\x00")), changed)
    except (WebhookVerificationError, ValueError, IndexError):
        return
    require(changed == headers, "nothing else is known")


def bodies(data: bytes) -> None:
    """Read any bytes as the body of a signal over REST: a clean body, or a refusal with a sentence."""
    draw = Draw(data)
    kind = draw.pick(BODIES)
    raw = draw.rest().encode("utf-8", "surrogatepass") if draw.byte() % 2 else _signal_body(draw)
    try:
        value = BoundedJSONParser().parse(io.BytesIO(raw))
    except (Invalid, APIException):
        return
    require(not refuse_unsafe_json(value), "what is let in can be kept")
    made = kind(data=value)
    try:
        valid = made.is_valid()
    except Invalid as refusal:
        require(bool(refusal.errors), "a refusal names its fields")
        return
    require(valid or bool(made.errors), "a body is valid or says what is wrong")
    if valid:
        name = made.validated_data["name"]
        require(isinstance(name, str) and 0 < len(name) <= 200, "a name is a bounded text")


def _signal_body(draw: Draw) -> bytes:
    names = ("name", "key", "payload", "id", "ttl", "all", "require", "other", "name")
    pairs = [f"{json.dumps(draw.pick(names))}: {json.dumps(draw.json())}" for _ in range(draw.count(6))]
    return ("{" + ", ".join(pairs) + "}").encode()


# Forms


WORDS = (
    "type", "properties", "items", "required", "enum", "const", "title", "description", "default", "format", "pattern",
    "minLength", "maxLength", "minimum", "maximum", "multipleOf", "minItems", "maxItems", "uniqueItems", "oneOf", "anyOf",
    "allOf", "if", "then", "else", "not", "dependentRequired", "dependentSchemas", "$ref", "$defs", "additionalProperties",
    "x-order", "readOnly", "prefixItems", "contains", "patternProperties", "propertyNames",
)  # fmt: skip
KINDS = ("string", "integer", "number", "boolean", "array", "object", "null")
PATTERNS = (
    "^a+$",
    "(a*)*b",
    "(a|a)*$",
    "((a{1,50}){1,50}){1,50}",
    "[",
    "(?=a)",
    "\\d{4}",
    "(?<n>a)\\k<n>",
    ".{0,9999}",
)
FIELDS = ("a", "b", "c d", "", "<b>", "a.b", "0", "__proto__")


def forms(data: bytes) -> None:
    """Take anything as a schema: refused with a sentence, or drawn, filled in and checked."""
    draw = Draw(data)
    schema = _schema(draw, 4)
    if refuse_unsafe_json(schema) or schema_problem(schema) is not None or not isinstance(schema, dict):
        return
    values = _plain({name: draw.json(3) for name in FIELDS[: draw.count(5)]})
    filled, problems = check_values(schema, values)
    require(all(problem.code and problem.message for problem in problems), "a field error says what is wrong")
    require(check_values(schema, values)[1] == problems, "checking is deterministic")
    layout_of(schema)
    _drawn(schema, filled if isinstance(filled, dict) else {}, draw)


def _drawn(schema: dict[str, Any], filled: dict[str, Any], draw: Draw) -> None:
    empty = SchemaForm(schema, prefill=filled)
    empty.blocks()
    facts_of(filled, schema.get("properties"))
    posted = SchemaForm(schema, data={name: draw.text().encode("utf-8", "replace").decode() for name in empty.fields})
    if posted.is_valid():
        require(not refuse_unsafe_json(posted.values()), "what a form gives can be kept")
    posted.blocks()


def _schema(draw: Draw, depth: int) -> Any:
    if depth == 0 or draw.byte() < 24:
        return draw.json(2)
    schema: dict[str, Any] = {"type": draw.pick(KINDS)} if draw.byte() < 200 else {}
    for _ in range(draw.count(5)):
        word = draw.pick(WORDS)
        schema[word] = _GIVEN.get(word, lambda draw, depth: draw.json(2))(draw, depth - 1)
    return schema


def _named(draw: Draw, depth: int) -> dict[str, Any]:
    return {draw.pick(FIELDS): _schema(draw, depth) for _ in range(draw.count(4))}


def _several(draw: Draw, depth: int) -> list[Any]:
    return [_schema(draw, depth) for _ in range(draw.count(3) + 1)]


_GIVEN: Mapping[str, Callable[[Draw, int], Any]] = {
    **dict.fromkeys(("properties", "$defs", "dependentSchemas", "patternProperties"), _named),
    **dict.fromkeys(
        ("items", "if", "then", "else", "not", "contains", "additionalProperties", "propertyNames"), _schema
    ),
    **dict.fromkeys(("oneOf", "anyOf", "allOf", "prefixItems"), _several),
    "type": lambda draw, depth: draw.pick((*KINDS, ["string", "null"], ["integer", "boolean"])),
    "required": lambda draw, depth: [draw.pick(FIELDS) for _ in range(draw.count(3))],
    "enum": lambda draw, depth: [draw.json(1) for _ in range(draw.count(4) + 1)],
    "pattern": lambda draw, depth: draw.pick(PATTERNS),
    "format": lambda draw, depth: draw.pick(
        ("date", "time", "date-time", "email", "uri", "uuid", "regex", "x", "hostname")
    ),
    "$ref": lambda draw, depth: draw.pick(
        ("#", "#/$defs/a", "#/properties/a", "#/nowhere", "https://example.com/x", "##", "%")
    ),
    "dependentRequired": lambda draw, depth: {draw.pick(FIELDS): [draw.pick(FIELDS)] for _ in range(draw.count(2))},
    **dict.fromkeys(
        ("minLength", "maxLength", "minItems", "maxItems", "minimum", "maximum", "multipleOf"),
        lambda draw, depth: draw.number(),
    ),
}


# Diagrams


STEPS: tuple[Callable[[Draw], dict[str, Any]], ...] = (
    lambda draw: {"task": {"title": draw.text(), "outcomes": ["yes", "no"]}},
    lambda draw: {"set": {"x": draw.text()}},
    lambda draw: {"wait": {"for": "PT1H"}},
    lambda draw: {"signal": draw.text() or "go"},
    lambda draw: {"if": "true", "then": [_step(draw)], "else": [_step(draw)]},
    lambda draw: {"parallel": [[_step(draw)], [_step(draw)]]},
    lambda draw: {"for_each": "${[1]}", "steps": [_step(draw)]},
    lambda draw: {"fail": {"code": "x", "message": draw.text()}},
)


def svg(data: bytes) -> None:
    """Draw a template with hostile titles, from any layout that a browser may claim: XML that holds no script."""
    draw = Draw(data)
    source = {"workflow": "drawn", "title": draw.text(), "steps": [_step(draw) for _ in range(draw.count(4) + 1)]}
    found = normalize(json.dumps(source))
    if found.canonical is None:
        return
    canonical = json.loads(json.dumps(found.canonical))
    _harmless(outline_svg(canonical))
    flow = flow_of(canonical)
    try:
        geometry = geometry_from_outside(flow, _claimed(flow, draw))
    except LayoutFailed:
        return
    states = {
        node.step: draw.pick(("done", "here", "again", "failed", "")) for node in flow.nodes.values() if node.step
    }
    _harmless(draw_diagram(geometry, states, outline=outline_text(canonical)))
    require(draw_diagram(geometry, states) == draw_diagram(geometry, states), "a picture is deterministic")


def _step(draw: Draw) -> dict[str, Any]:
    """Make a step, with a name of any characters."""
    made = draw.pick(STEPS)(draw) if not draw.is_over else {"wait": {"for": "PT1H"}}
    return {"name": draw.text(), **made} if draw.byte() < 200 else made


def _claimed(flow: Flow, draw: Draw) -> Any:
    """Lay a flow out on a line as elkjs would say it, some numbers replaced by anything."""
    graph = graph_of(flow)
    at = (value for value in _numbers(draw))
    for child in graph["children"]:
        child.update({key: next(at) for key in ("x", "y", "width", "height")})
    for way in graph["edges"]:
        ends = {"startPoint": {"x": next(at), "y": next(at)}, "endPoint": {"x": next(at), "y": next(at)}}
        way["sections"] = [{**ends, "bendPoints": [{"x": next(at), "y": next(at)}]}]
        for label in way.get("labels", ()):
            label.update({"x": next(at), "y": next(at)})
    graph.update({"width": next(at), "height": next(at)})
    return json.loads(json.dumps(graph))


def _numbers(draw: Draw) -> Iterator[Any]:
    while True:
        broken = not draw.is_over and draw.byte() < 6
        yield (draw.pick((draw.number(), draw.text(), None, [])) if broken else float(draw.byte()))


_BAD_TAG = re.compile(r"\}?(script|foreignObject|iframe|a|image|use|animate|set|object|embed)$", re.IGNORECASE)


def _harmless(picture: str) -> None:
    root = ElementTree.fromstring(picture)
    for element in root.iter():
        require(not _BAD_TAG.fullmatch(element.tag.rpartition("}")[2]), f"<{element.tag}> is not drawn")
        for name, value in element.attrib.items():
            require(not name.lower().startswith("on"), f"{name} is an event")
            require("javascript:" not in value.lower() or name == "aria-label", f"{name} leads to a script")
    require(len(picture) < 1_000_000, "a picture is bounded")


TARGETS: Mapping[str, Callable[[bytes], None]] = {
    target.__name__: target for target in (yaml, expressions, envelopes, cron, webhooks, bodies, forms, svg)
}


def one_input(name: str, data: bytes) -> None:
    """Play one input against one target, within bounded time."""
    began = time.process_time()
    TARGETS[name](data)
    taken = time.process_time() - began
    require(taken < SECONDS, f"{name} took {taken:.1f} s of computing")
