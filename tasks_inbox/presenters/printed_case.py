"""A case as it is printed: names in full, exact times, every decision with its answer, and the end of its audit."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone
from django.utils.translation import gettext as _

from engine import access
from engine.audit.signatures import public_key
from engine.models import CaseFile, Instance, Task, TaskAttachment, TaskComment, TaskQuestion
from engine.presentation.forms.values import NOTHING, Fact, fact_of, facts_of
from engine.presentation.narrative import people_names
from engine.presentation.narrative.people_names import name_of
from engine.presentation.narrative.relative_times import span_words
from engine.presentation.narrative.step_outline import outline_of, steps_by_id
from engine.services.audit.receipts import decided_tasks, receipt_name
from engine.storage.attachments import spell_size
from tasks_inbox.presenters.field_labels import answer_of, in_schema_order, input_schema_of
from tasks_inbox.templatetags.look import case_name
from workflowplatform.accounts.actor import Actor
from workflowplatform.i18n.dates import date_format

GROUP = 4
KEY_DIGITS = 16


@dataclass(frozen=True, slots=True)
class Decision:
    """One answered task."""

    step: str
    answer: str
    by: str
    at: str
    comment: str
    details: str
    """The other values of the answer, in one line."""
    tables: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class Remark:
    by: str
    at: str
    text: str


@dataclass(frozen=True, slots=True)
class PrintedCase:
    """All that the page shows."""

    title: str
    tenant: str
    started_by: str
    started_at: str
    ended: str
    """When it ended and after how long; empty while it runs."""
    facts: tuple[Fact, ...]
    tables: tuple[Fact, ...]
    decisions: tuple[Decision, ...]
    remarks: tuple[Remark, ...]
    files: str
    events: int
    hash: tuple[str, ...]
    """The hash of the last event in groups of four."""
    key: str
    receipt: str
    """The name of the receipt's file."""
    printed_by: str
    printed_at: str


def printed_case(actor: Actor, instance: Instance) -> PrintedCase:
    """Prepare a case that the actor sees for paper."""
    tasks = decided_tasks(instance)
    said = list(access.comments_of_case(actor, instance.pk))
    questions = list(access.questions_of_case(actor, instance.pk))
    files: list[CaseFile | TaskAttachment] = [
        *access.case_files(actor, instance.pk),
        *access.files_of_case(actor, instance.pk),
    ]
    asked = _asked(instance)
    return PrintedCase(
        title=case_name(instance),
        tenant=instance.tenant.title or instance.tenant.name.capitalize(),
        started_by=name_of(instance.started_by_name) or _("automatic"),
        started_at=exact(instance.started_at),
        ended=_ended(instance),
        facts=tuple(fact for fact in asked if not fact.rows and fact.text != NOTHING),
        tables=tuple(fact for fact in asked if fact.rows),
        decisions=tuple(_decision(task, _steps(instance)) for task in tasks),
        remarks=tuple(_remarks(said, questions)),
        files=", ".join(f"{file.name} ({spell_size(file.size)})" for file in files),
        events=instance.audit_seq,
        hash=grouped(instance.audit_hash),
        key=" ".join(grouped(hashlib.sha256(public_key().encode()).hexdigest()[:KEY_DIGITS])),
        receipt=receipt_name(instance),
        printed_by=name_of(actor.name),
        printed_at=f"{exact(timezone.now())} ({timezone.get_current_timezone_name()})",
    )


def who(by: Iterable[str], stood_in_for: str) -> str:
    """Name the people who answered, and for whom a deputy did."""
    words = ", ".join(map(name_of, by))
    return (
        _("%(deputy)s for %(person)s") % {"deputy": words, "person": name_of(stood_in_for)} if stood_in_for else words
    )


def _remarks(said: Iterable[TaskComment], questions: Iterable[TaskQuestion]) -> Iterator[Remark]:
    """Return comments and questions in the order in which they were written; answers to questions are comments."""
    found = [(one.at, name_of(one.author_name), one.text) for one in said]
    for one in questions:
        facts = {"name": name_of(one.asked_of_name), "question": one.text}
        found.append((one.asked_at, name_of(one.asked_by_name), _("asked %(name)s: %(question)s") % facts))
    for at, by, text in sorted(found, key=lambda one: one[0]):
        yield Remark(by, exact(at), text)


def _asked(instance: Instance) -> list[Fact]:
    """List what was asked for, groups laid out field by field."""
    schema = input_schema_of(instance.version).get("properties") or {}
    given = instance.input if isinstance(instance.input, dict) else {}
    found: list[Fact] = []
    for key in [*(key for key in schema if key in given), *(key for key in given if key not in schema)]:
        inner = schema[key] if isinstance(schema.get(key), dict) else {}
        if isinstance(given[key], dict) and given[key]:
            known = inner.get("properties") or {}
            found += facts_of(in_schema_order(given[key], known), known)
        else:
            found.append(fact_of(key, given[key], inner or None))
    return found


def _steps(instance: Instance) -> dict[str, str]:
    outline = outline_of(instance.version.canonical, ())
    return {name: step.name for name, step in steps_by_id(outline).items()}


def _decision(task: Task, steps: dict[str, str]) -> Decision:
    chosen = task.outcome_named(task.outcome or "")
    answer = answer_of(task)
    lines = [f"{fact.label}: {fact.text}" for fact in answer if not fact.rows and fact.text != NOTHING]
    by = [task.completed_by_name] if task.completed_by_name else list(task.answered_by)
    return Decision(
        step=steps.get(task.step) or people_names.said(task.title),
        answer=str(chosen["title"]) if chosen else _("Done"),
        by=who(by, task.completed_for_name) or _("automatic"),
        at=exact(task.completed_at) if task.completed_at else "",
        comment=task.comment,
        details=" · ".join(lines),
        tables=tuple(fact for fact in answer if fact.rows),
    )


def _ended(instance: Instance) -> str:
    if instance.ended_at is None:
        return ""
    words = {"at": exact(instance.ended_at), "after": span_words(instance.ended_at - instance.started_at)}
    return _("on %(at)s after %(after)s") % words


def exact(at: datetime) -> str:
    """Write a moment in full, in the reader's zone."""
    return date_format(timezone.localtime(at), "D j M Y, H:i")


def grouped(text: str) -> tuple[str, ...]:
    """Split a hash into groups of four, which people can compare."""
    return tuple(text[at : at + GROUP] for at in range(0, len(text), GROUP))
