"""Find what was lost, doubled or left behind in a tenant, from what the database and the outside world remember.

All rows of one slice carry one moment, read under the instance's claim, so that (instance, moment) names a slice. That binds what
happened to the signal that caused it: every receipt of an applied signal has its slice in the audit, every act except those of
the start has such a receipt, every ended call has exactly one. Beyond that, each instance is compared with a pattern: one of the
same template and input that ran undisturbed.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import django_rq
from django.db import connection

from benchmarks.faults.ledger import read_ledger
from engine.services.audit.verification import verify_everything

Line = tuple[Any, ...]

RECEIPT_WITHOUT_SLICE = """
SELECT r.instance_id, r.type, r.waiting_token FROM wf_signal_receipts r
WHERE r.tenant_id = %(tenant)s AND r.disposition = 'applied' AND NOT EXISTS (
  SELECT FROM wf_audit_acts a WHERE a.subject_id = r.instance_id AND a.at = r.at)
"""

ACT_WITHOUT_SIGNAL = """
SELECT a.subject_id, a.action, a.step FROM wf_audit_acts a
WHERE a.tenant_id = %(tenant)s AND a.subject_kind = 'instance'
  AND a.at > (SELECT b.at FROM wf_audit_acts b WHERE b.subject_id = a.subject_id AND b.seq = 1)
  AND NOT EXISTS (
    SELECT FROM wf_signal_receipts r WHERE r.instance_id = a.subject_id AND r.at = a.at AND r.disposition = 'applied')
"""

STEP_WITHOUT_ACT = """
SELECT s.instance_id, s.step, s.status FROM wf_steps s
WHERE s.tenant_id = %(tenant)s AND NOT EXISTS (
  SELECT FROM wf_audit_acts a WHERE a.subject_id = s.instance_id AND a.step = s.step AND a.attempt = s.attempt
    AND a.at = coalesce(s.ended_at, s.started_at))
"""

ANSWERED_TWICE = """
SELECT r.instance_id, r.type, r.waiting_token FROM wf_signal_receipts r
WHERE r.tenant_id = %(tenant)s AND r.disposition = 'applied' AND r.waiting_token IS NOT NULL
GROUP BY 1, 2, 3 HAVING count(*) > 1
"""

CALL_WITHOUT_RECEIPT = """
SELECT e.instance_id, e.path, e.status FROM wf_effects e
WHERE e.tenant_id = %(tenant)s AND e.status IN ('succeeded', 'failed') AND NOT EXISTS (
  SELECT FROM wf_signal_receipts r WHERE r.instance_id = e.instance_id AND r.waiting_token = e.token
    AND r.type = 'CallDue' AND r.disposition = 'applied' AND r.at = e.ended_at)
"""

NOT_OVER = """
SELECT i.id, t.name, i.status FROM wf_instances i JOIN wf_templates t ON t.id = i.template_id
WHERE i.tenant_id = %(tenant)s AND i.ended_at IS NULL
"""

LEFT_BEHIND = """
SELECT instance_id, 'signal', type FROM wf_signals WHERE tenant_id = %(tenant)s
UNION ALL SELECT instance_id, 'wait', kind FROM wf_waits WHERE tenant_id = %(tenant)s
UNION ALL SELECT instance_id, 'call', path FROM wf_effects WHERE tenant_id = %(tenant)s AND status = 'intended'
UNION ALL SELECT instance_id, 'dead letter', reason FROM wf_dead_letters WHERE tenant_id = %(tenant)s
"""

LOST = {"a signal was taken, nothing followed": RECEIPT_WITHOUT_SLICE}
DOUBLED = {
    "an act that no signal caused": ACT_WITHOUT_SIGNAL,
    "a step that no act tells of": STEP_WITHOUT_ACT,
    "one token was answered twice": ANSWERED_TWICE,
    "a call ended without its signal": CALL_WITHOUT_RECEIPT,
}
STUCK = {"not over": NOT_OVER, "left behind": LEFT_BEHIND}

PARTS = {
    "step": "SELECT instance_id, step, iteration, attempt, status FROM wf_steps WHERE tenant_id = %(tenant)s",
    "signal": "SELECT instance_id, type FROM wf_signal_receipts WHERE tenant_id = %(tenant)s AND disposition = 'applied'",
    "act": "SELECT subject_id, action, step, iteration, attempt FROM wf_audit_acts "
    "WHERE tenant_id = %(tenant)s AND subject_kind = 'instance'",
    "call": "SELECT instance_id, path, attempt, status FROM wf_effects WHERE tenant_id = %(tenant)s",
    "child": "SELECT parent_id, status FROM wf_instances WHERE tenant_id = %(tenant)s AND parent_id IS NOT NULL",
    "end": "SELECT id, status, outcome, replace(state::text, id::text, '#'), output::text FROM wf_instances "
    "WHERE tenant_id = %(tenant)s",
}
"""What an instance leaves behind; a pattern and its likes leave the same."""

KINDS = """
SELECT i.id, t.name, coalesce(i.input::text, '') FROM wf_instances i JOIN wf_templates t ON t.id = i.template_id
WHERE i.tenant_id = %(tenant)s
"""


@dataclass(slots=True)
class Account:
    """What must not be, each as a sentence; and what the outside saw."""

    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    stuck: list[str] = field(default_factory=list)
    instances: int = 0
    calls: int = 0
    keys: int = 0
    effects: int = 0
    """Distinct keys that were intended; attempts of one call share its key."""
    intents: int = 0

    @property
    def faults(self) -> tuple[str, ...]:
        """Return every sentence."""
        return (*self.lost, *self.doubled, *self.stuck)


@dataclass(frozen=True, slots=True)
class Pattern:
    """What instances of one template and input leave behind when nothing disturbs them."""

    traces: Mapping[tuple[str, str], Counter[Line]]


def learn_pattern(tenant_id: UUID) -> Pattern:
    """Take everything that ended in this tenant so far as what is right."""
    kinds, traces = _kinds(tenant_id), _traces(tenant_id)
    return Pattern({kinds[instance_id]: trace for instance_id, trace in traces.items()})


def settle(
    tenant_id: UUID, pattern: Pattern, *, ledger: Path, killed: Iterable[int], started: Iterable[UUID]
) -> Account:
    """Account for everything in a tenant once nothing moves there any more."""
    account = Account()
    _bind(tenant_id, account)
    _compare(tenant_id, pattern, account, set(started))
    _ask_outside(tenant_id, account, ledger, set(killed))
    account.doubled += [f"a broken chain: {broken}" for broken in verify_everything().broken]
    return account


def _rows(sql: str, tenant_id: UUID) -> list[Line]:
    with connection.cursor() as cursor:
        cursor.execute(sql, {"tenant": tenant_id})
        return cursor.fetchall()


def _bind(tenant_id: UUID, account: Account) -> None:
    """Look for signals without consequences, consequences without signals, and what still waits."""
    for found, questions in ((account.lost, LOST), (account.doubled, DOUBLED), (account.stuck, STUCK)):
        for words, sql in questions.items():
            found += [f"{words}: {' '.join(map(str, row))}" for row in _rows(sql, tenant_id)]


def _kinds(tenant_id: UUID) -> dict[UUID, tuple[str, str]]:
    return {row[0]: (row[1], row[2]) for row in _rows(KINDS, tenant_id)}


def _traces(tenant_id: UUID) -> dict[UUID, Counter[Line]]:
    traces: dict[UUID, Counter[Line]] = defaultdict(Counter)
    for part, sql in PARTS.items():
        for instance_id, *rest in _rows(sql, tenant_id):
            traces[instance_id][part, *rest] += 1
    return traces


def _compare(tenant_id: UUID, pattern: Pattern, account: Account, started: set[UUID]) -> None:
    kinds, traces = _kinds(tenant_id), _traces(tenant_id)
    account.instances = len(kinds)
    account.lost += [f"a start that was answered left no instance: {missing}" for missing in started - kinds.keys()]
    over = kinds.keys() - {row[0] for row in _rows(NOT_OVER, tenant_id)}
    for instance_id in over:
        right = pattern.traces[kinds[instance_id]]
        name = kinds[instance_id][0]
        account.lost += _differences(f"{name} {instance_id} lacks", right - traces[instance_id])
        account.doubled += _differences(f"{name} {instance_id} has too much:", traces[instance_id] - right)


def _differences(words: str, lines: Counter[Line]) -> Iterator[str]:
    for line, count in lines.items():
        yield f"{words} {count} × {json.dumps(line, default=str)}"


def _ask_outside(tenant_id: UUID, account: Account, ledger: Path, killed: set[int]) -> None:
    """Compare what the outside saw with what was intended; only a death excuses a call beyond that."""
    entries = list(read_ledger(ledger))
    intended = Counter(row[0] for row in _rows("SELECT key FROM wf_effects WHERE tenant_id = %(tenant)s", tenant_id))
    calls = Counter(entry.key for entry in entries)
    excused = Counter(entry.key for entry in entries if entry.pid in killed)
    account.calls, account.keys = len(entries), len(calls)
    account.effects, account.intents = len(intended), intended.total()
    account.lost += [f"a call was never made: {key}" for key in intended.keys() - calls.keys()]
    account.doubled += [f"a call that nobody intended: {key}" for key in calls.keys() - intended.keys()]
    account.doubled += [
        f"{key} was called {count} times for {intended[key]} intents and {excused[key]} deaths"
        for key, count in calls.items()
        if count > intended[key] + excused[key]
    ]


def lost_wake_ups(tenant_id: UUID) -> int:
    """Count signals that are due while no job is there to tell a worker: it would find them only by its own look."""
    due = _rows("SELECT FROM wf_signals WHERE tenant_id = %(tenant)s AND due_at <= clock_timestamp()", tenant_id)
    return 0 if django_rq.get_queue("default").count else len(due)
