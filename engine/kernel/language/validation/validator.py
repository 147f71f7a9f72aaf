"""Check what a document means, once it could be read: names, references, and what the tenant has.

Every check is a function over the finished reading that adds findings; `CHECKS` lists them.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from engine.kernel.expressions.cel import NAMES, ExpressionRefused, Reference, check_text, compile_program, environment
from engine.kernel.expressions.tokens import own_names
from engine.kernel.findings import Finding, did_you_mean
from engine.kernel.language.custom_kinds import StepKind
from engine.kernel.language.embedding import Lookup
from engine.kernel.language.reading.nodes import Named, Reading, Use
from engine.kernel.language.source import Node
from engine.kernel.language.step_shapes import TRANSPORTS
from engine.kernel.language.validation.decision_tables import check_tables
from engine.kernel.language.validation.flow import (
    check_constants,
    check_graphs,
    check_locks,
    check_offers,
    check_reach,
    check_results,
    check_tags,
)
from engine.kernel.language.validation.jumps import check_jumps
from engine.kernel.language.validation.names import (
    check_empty,
    check_exits,
    check_expiry,
    check_forms,
    check_outcomes,
    check_undo,
    check_words,
)
from engine.kernel.language.validation.nets import check_nets
from engine.kernel.language.validation.people import check_members, check_people
from engine.kernel.language.validation.redo import check_redo
from engine.kernel.language.validation.timing import check_timing


@dataclass(frozen=True, slots=True)
class TenantFacts:
    """What a tenant has, by name. Nothing here is looked up: the caller passes it in."""

    roles: frozenset[str] = frozenset()
    secrets: frozenset[str] = frozenset()
    unbound: frozenset[str] = frozenset()
    """Secrets that name no origins: calls may send them anywhere."""
    workflows: frozenset[str] = frozenset()
    functions: frozenset[str] = frozenset()
    with_secrets: frozenset[str] = frozenset()
    """Functions that may be given secrets."""
    transports: frozenset[str] = frozenset({"http", "python"})
    people: frozenset[str] = frozenset()
    calendars: frozenset[str] = frozenset()
    decorators: frozenset[str] = frozenset()
    drafts: frozenset[str] = frozenset()
    """Workflows that are only drafts so far."""
    members: frozenset[tuple[str, str]] = frozenset()
    """Pairs of role and person; empty: not known."""
    owner: str = ""
    hashes: frozenset[tuple[str, str]] = frozenset()
    """The tenant, and the active workflows by name and hash: embedded steps depend on both."""
    kind_names: frozenset[str] = frozenset()
    step_kinds: Mapping[str, StepKind] = field(default_factory=dict, compare=False)
    """The step kinds of the project, by name."""
    definition: Lookup | None = field(default=None, compare=False)
    """Gives a workflow that is to be embedded."""


def check(reading: Reading, facts: TenantFacts | None) -> None:
    """Run all checks."""
    for run in CHECKS:
        run(reading)
    if facts is not None:
        _check_tenant(reading, facts)
        check_members(reading, _by_role(facts))


def _check_expressions(reading: Reading) -> None:
    for use in reading.uses:
        try:
            references = check_text(use.text)
            compile_program(use.text, use.own)
        except ExpressionRefused as problem:
            _refuse(reading, use, problem.offset, "bad_expression", f"`{use.text[:80]}`: {problem}", _quoting(use))
            continue
        for reference in references:
            _check_reference(reading, use, reference)
        _check_types(reading, use, references)


def _quoting(use: Use) -> str:
    return "" if use.node.quoted else "quote a condition that holds ` #` or `: ` or begins with ! ' \" [ {"


def _refuse(reading: Reading, use: Use, offset: int, code: str, message: str, hint: str = "") -> None:
    """Note an error inside an expression, as near as the line allows."""
    node = use.node
    column = node.column + use.offset + offset + int(node.quoted)
    reading.error(Node(node.line, column), code, message, use.path, hint)


def _check_reference(reading: Reading, use: Use, reference: Reference) -> None:
    if reference.root not in use.names:
        known = reference.root in NAMES
        reason = "is not known at this place" if known else "is no name"
        _refuse(
            reading, use, reference.offset, "unknown_name", f"`{reference.root}` {reason}",
            "" if known else did_you_mean(reference.root, use.names),
        )  # fmt: skip
    elif reference.root == "secret":
        reading.refuse_not_yet("name.secret", use.node, use.path)
        named = ".".join(reference.path[:1]), Named(use.node, use.path)
        reading.secrets.setdefault(*named)
        reading.secret_uses.append(named)
        if not _in_request(use.path):
            _refuse(reading, use, reference.offset, "secret_here", "a secret is only allowed in the request of a call")
    elif reference.root in ("result", "status") and reference.path:
        _check_step_named(reading, use, reference)


def _in_request(path: str) -> bool:
    parts = path.split("/")
    return any(pair == ("call", transport) for pair in pairwise(parts) for transport in TRANSPORTS)


def _check_step_named(reading: Reading, use: Use, reference: Reference) -> None:
    name = reference.path[0]
    if name not in reading.steps and not (reference.root == "result" and name in reading.into):
        hint = did_you_mean(name, [*reading.steps, *reading.into])
        _refuse(reading, use, reference.offset, "unknown_step", f"there is no step `{name}`", hint)


def _check_types(reading: Reading, use: Use, references: Iterable[Reference]) -> None:
    """Warn where the library's type check says that an expression cannot work, mixed kinds of values apart."""
    try:
        environment(use.own).compile(own_names(use.text))
    except RuntimeError as problem:
        message = str(problem)
        mixed = any(sign in message for sign in ("_?_:_", "_==_", "_!=_", "_||_", "_&&_", "@in", "undeclared"))
        if "no matching overload" in message and not mixed:
            text = message.split("ERROR:", 1)[-1].split("\n", 1)[0].split(": ", 1)[-1]
            _refuse(reading, use, 0, "bad_expression", f"`{use.text[:80]}`: {text}")


def _check_own_names(reading: Reading) -> None:
    """Refuse an author's name for an item that hides a name of the language."""
    for step in reading.steps.values():
        loop = step.spec.get(step.kind)
        name = loop.get("as") if isinstance(loop, dict) and step.kind in ("repeat", "for_each") else None
        if name in NAMES and name != "item":
            reading.error(step.node, "reserved_name", f"`{name}` is a name of the language", step.path)


def _check_mentions(reading: Reading) -> None:
    for mention in reading.mentions:
        by_person = mention.path.rsplit("/", 1)[-1] in ("not_same_as", "same_as")
        if mention.id not in reading.steps and not (by_person and mention.id == "start"):
            hint = did_you_mean(mention.id, reading.steps)
            reading.error(mention.node, "unknown_step", f"there is no step `{mention.id}`", mention.path, hint)


def _check_expire(reading: Reading) -> None:
    """Require that the answer of an expired task is one that a person could have given."""
    for step in reading.steps.values():
        task = step.spec.get("task")
        given = task.get("on_expire") if isinstance(task, dict) else None
        if task is None or given is None:
            continue
        if "timeout" not in step.spec:
            reading.error(step.node, "never_expires", "`on_expire` needs a `timeout` on the same step", step.path)
        names = [outcome["name"] for outcome in task.get("outcomes", [{"name": "done"}])]
        if given.get("outcome", names[0]) not in names and "${" not in str(given["outcome"]):
            hint = did_you_mean(str(given["outcome"]), names)
            reading.error(step.node, "unknown_outcome", f"there is no outcome `{given['outcome']}`", step.path, hint)


def _check_on_timeout(reading: Reading) -> None:
    for step in reading.steps.values():
        if "on_timeout" in step.spec and "timeout" not in step.spec:
            reading.error(step.node, "never_expires", "`on_timeout` needs a `timeout` on the same step", step.path)


_AT_ONCE = frozenset({"set", "if", "emit", "call"})


def _check_finally(reading: Reading) -> None:
    """Require that `finally` contains only steps that end at once."""
    for step in reading.steps.values():
        if "/finally/" not in step.path:
            continue
        if step.kind not in _AT_ONCE:
            reading.error(step.node, "waits_in_finally", f"`{step.kind}` is not allowed in `finally`", step.path)
        if step.kind == "call":
            reading.refuse_not_yet("finally.call", step.node, step.path)


_DECIMAL = re.compile(r"(?<![\w.])\d+\.\d+")
_DIVISION = re.compile(r"[\w)\]]\s*/\s*[\w(]")


def _check_division(reading: Reading) -> None:
    """Warn where a division of integers, which is an integer, seems to be compared with a decimal."""
    for use in reading.uses:
        bare = re.sub(r"'[^']*'|\"[^\"]*\"", "''", use.text)
        compared = any(sign in bare for sign in ("<", ">", "=="))
        if compared and _DIVISION.search(bare) and _DECIMAL.search(bare) and "double(" not in bare:
            text = f"`{use.text[:80]}`: an integer divided by an integer is an integer"
            reading.warn(use.node, "integer_division", text, use.path, "double(a) / double(b)")


def _by_role(facts: TenantFacts) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for role, person in facts.members:
        found.setdefault(role, set()).add(person)
    return {role: frozenset(people) for role, people in found.items()}


def _check_tenant(reading: Reading, facts: TenantFacts) -> None:
    known = (
        ("unknown_role", "role", reading.roles, facts.roles),
        ("unknown_function", "function", reading.functions, facts.functions),
        ("unknown_workflow", "workflow", reading.workflows, facts.workflows),
        ("unknown_secret", "secret", reading.secrets, facts.secrets),
        ("unknown_calendar", "calendar", reading.calendars, facts.calendars),
        ("unknown_decorator", "decorator", reading.decorators, facts.decorators),
    )
    for code, word, used, there in known:
        for name, (node, path) in used.items():
            if name not in there:
                hint = _together(name, facts) if word == "workflow" else ""
                reading.error(node, code, f"the tenant has no {word} `{name}`", path, hint or did_you_mean(name, there))

    _check_secrets(reading, facts)


def _check_secrets(reading: Reading, facts: TenantFacts) -> None:
    """Refuse secrets to functions that are not registered to take them; warn of those that may be sent anywhere."""
    for name, (node, path) in reading.secret_uses:
        function = next((one for call, one in reading.called.items() if path.startswith(f"{call}/")), None)
        if function is not None and function in facts.functions - facts.with_secrets:
            text = f"the function `{function}` is not registered to take secrets"
            reading.error(node, "function_secrets", text, path, '@workflow_function("…", secrets=True)')
        elif function is None and name in facts.unbound:
            text = f"the secret `{name}` names no origins: a changed address would get it"
            reading.warn(node, "unbound_secret", text, path, "name the origins that it may be sent to")


def _together(name: str, facts: TenantFacts) -> str:
    return f"there is a draft of `{name}`: activate both together" if name in facts.drafts else ""


CHECKS: tuple[Callable[[Reading], None], ...] = (
    _check_expressions,
    _check_own_names,
    _check_mentions,
    _check_expire,
    _check_on_timeout,
    _check_finally,
    _check_division,
    check_graphs,
    check_nets,
    check_jumps,
    check_offers,
    check_reach,
    check_constants,
    check_tags,
    check_locks,
    check_people,
    check_redo,
    check_results,
    check_tables,
    check_timing,
    check_words,
    check_outcomes,
    check_exits,
    check_undo,
    check_expiry,
    check_forms,
    check_empty,
)


def ordered(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Put findings in the order of the document, each once."""
    return tuple(
        sorted(set(findings), key=lambda finding: (finding.line, finding.column, finding.code, finding.message))
    )
