"""Texts of audited actions: one table per occasion, a sentence and an icon per action."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_lazy


@dataclass(frozen=True, slots=True)
class AuditMessage:
    """How an action is told: by a person, by the engine, with which mark."""

    by_person: Any
    by_engine: Any
    icon: str
    tone: str = ""
    always: bool = True
    """Whether the short timeline has it even when it changed no value."""


INSTANCE_MESSAGES: Mapping[str, AuditMessage] = {
    "start_workflow": AuditMessage(gettext_lazy("started it"), gettext_lazy("It was started"), "player-play"),
    "add_files": AuditMessage(
        gettext_lazy("added files to the request"), gettext_lazy("Files came with the request"), "file-text"
    ),
    "task_created": AuditMessage(
        gettext_lazy("opened %(step)s"), gettext_lazy("New task: %(step)s"), "user", always=False
    ),
    "task_claimed": AuditMessage(
        gettext_lazy("claimed %(step)s"), gettext_lazy("%(step)s was claimed"), "user", "accent"
    ),
    "task_released": AuditMessage(
        gettext_lazy("released %(step)s"), gettext_lazy("%(step)s was released"), "arrow-back-up"
    ),
    "task_assigned": AuditMessage(gettext_lazy("assigned %(step)s"), gettext_lazy("%(step)s was assigned"), "user"),
    "task_reassigned": AuditMessage(
        gettext_lazy("reassigned %(step)s"), gettext_lazy("%(step)s was reassigned"), "user"
    ),
    "task_delegated": AuditMessage(gettext_lazy("delegated %(step)s"), gettext_lazy("%(step)s was delegated"), "user"),
    "task_returned": AuditMessage(
        gettext_lazy("returned %(step)s"), gettext_lazy("%(step)s was returned"), "arrow-back-up"
    ),
    "task_asked": AuditMessage(
        gettext_lazy("asked a question about %(step)s"), gettext_lazy("Question about %(step)s"), "hourglass"
    ),
    "task_informed": AuditMessage(
        gettext_lazy("answered the question about %(step)s"),
        gettext_lazy("The question about %(step)s was answered"),
        "check",
    ),
    "task_unasked": AuditMessage(
        gettext_lazy("withdrew the question about %(step)s"),
        gettext_lazy("The question about %(step)s was withdrawn"),
        "ban",
    ),
    "task_clock_runs": AuditMessage(
        gettext_lazy("let the due time of %(step)s run again"),
        gettext_lazy("The due time of %(step)s runs again: no answer came in time"),
        "clock",
    ),
    "task_held": AuditMessage(
        gettext_lazy("answered %(step)s, with time to undo"),
        gettext_lazy("%(step)s was answered, with time to undo"),
        "hourglass",
        always=False,
    ),
    "task_taken_back": AuditMessage(
        gettext_lazy("took the answer to %(step)s back"),
        gettext_lazy("The answer to %(step)s was taken back"),
        "arrow-back-up",
    ),
    "task_not_sent": AuditMessage(
        gettext_lazy("could not send the answer to %(step)s"),
        gettext_lazy("The answer to %(step)s was not sent"),
        "alert-triangle",
        "warning",
    ),
    "task_reopened": AuditMessage(
        gettext_lazy("reopened %(step)s"), gettext_lazy("%(step)s was reopened"), "arrow-back-up", "warning"
    ),
    "task_answered": AuditMessage(gettext_lazy("answered %(step)s"), gettext_lazy("%(step)s was answered"), "check"),
    "task_commented": AuditMessage(
        gettext_lazy("commented on %(step)s"), gettext_lazy("New comment on %(step)s"), "user"
    ),
    "task_suspended": AuditMessage(
        gettext_lazy("suspended %(step)s"), gettext_lazy("%(step)s was suspended"), "player-stop", "warning"
    ),
    "task_resumed": AuditMessage(gettext_lazy("resumed %(step)s"), gettext_lazy("%(step)s was resumed"), "player-play"),
    "task_snoozed": AuditMessage(
        gettext_lazy("snoozed %(step)s"), gettext_lazy("%(step)s was snoozed"), "clock", always=False
    ),
    "task_ticked": AuditMessage(
        gettext_lazy("ticked an item of %(step)s"),
        gettext_lazy("An item of %(step)s was ticked"),
        "check",
        always=False,
    ),
    "task_unticked": AuditMessage(
        gettext_lazy("unticked an item of %(step)s"),
        gettext_lazy("An item of %(step)s was unticked"),
        "arrow-back-up",
        always=False,
    ),
    "task_attached": AuditMessage(
        gettext_lazy("added a file to %(step)s"), gettext_lazy("A file was added to %(step)s"), "user"
    ),
    "task_detached": AuditMessage(
        gettext_lazy("removed a file from %(step)s"), gettext_lazy("A file was removed from %(step)s"), "arrow-back-up"
    ),
    "task_reminded": AuditMessage(
        gettext_lazy("sent a reminder about %(step)s"), gettext_lazy("A reminder about %(step)s was sent"), "clock"
    ),
    "task_escalated": AuditMessage(
        gettext_lazy("escalated %(step)s"), gettext_lazy("%(step)s was escalated"), "alert-triangle", "warning"
    ),
    "task_offered": AuditMessage(
        gettext_lazy("offered %(step)s"), gettext_lazy("%(step)s was offered to those who may do it"), "user"
    ),
    "task_late": AuditMessage(
        gettext_lazy("missed the SLA of %(step)s"),
        gettext_lazy("%(step)s missed its SLA"),
        "clock",
        "danger",
    ),
    "task_completed": AuditMessage(
        gettext_lazy("completed %(step)s"), gettext_lazy("%(step)s was completed"), "check", "good"
    ),
    "task_skipped": AuditMessage(gettext_lazy("skipped %(step)s"), gettext_lazy("%(step)s was skipped"), "ban"),
    "task_redone": AuditMessage(
        gettext_lazy("went back to %(step)s"), gettext_lazy("%(step)s is done again"), "arrow-back-up"
    ),
    "task_cancelled": AuditMessage(gettext_lazy("withdrew %(step)s"), gettext_lazy("%(step)s was withdrawn"), "ban"),
    "task_expired": AuditMessage(
        gettext_lazy("time ran out for %(step)s"),
        gettext_lazy("Time ran out for %(step)s"),
        "clock",
        "danger",
        always=False,
    ),
    "hold_step": AuditMessage(
        gettext_lazy("%(step)s is on hold"), gettext_lazy("%(step)s is on hold"), "hourglass", always=False
    ),
    "execute_step": AuditMessage(
        gettext_lazy("started %(step)s"), gettext_lazy("%(step)s started"), "player-play", always=False
    ),
    "complete_step": AuditMessage(
        gettext_lazy("finished %(step)s"), gettext_lazy("%(step)s is done"), "check", "good", always=False
    ),
    "fail_step": AuditMessage(gettext_lazy("failed at %(step)s"), gettext_lazy("%(step)s failed"), "x", "danger"),
    "skip_step": AuditMessage(
        gettext_lazy("%(step)s was skipped"), gettext_lazy("%(step)s was skipped"), "ban", always=False
    ),
    "retry_step": AuditMessage(
        gettext_lazy("Retrying %(step)s"),
        gettext_lazy("Retrying %(step)s"),
        "refresh",
        "warning",
    ),
    "expire_step": AuditMessage(
        gettext_lazy("time ran out for %(step)s"), gettext_lazy("Time ran out for %(step)s"), "clock", "danger"
    ),
    "cancel_step": AuditMessage(gettext_lazy("withdrew %(step)s"), gettext_lazy("%(step)s was withdrawn"), "ban"),
    "compensate_step": AuditMessage(
        gettext_lazy("undid %(step)s"), gettext_lazy("%(step)s was undone"), "arrow-back-up"
    ),
    "complete_workflow": AuditMessage(
        gettext_lazy("finished it"), gettext_lazy("It was completed"), "circle-check", "good"
    ),
    "fail_workflow": AuditMessage(gettext_lazy("failed it"), gettext_lazy("It failed"), "circle-x", "danger"),
    "cancel_workflow": AuditMessage(gettext_lazy("cancelled it"), gettext_lazy("It was cancelled"), "ban", "danger"),
    "expire_workflow": AuditMessage(
        gettext_lazy("let its time run out"), gettext_lazy("Its time ran out"), "clock", "danger"
    ),
    "refuse_start": AuditMessage(
        gettext_lazy("could not start a related workflow"),
        gettext_lazy("A related workflow was not started"),
        "ban",
        "warning",
    ),
    "raise_incident": AuditMessage(
        gettext_lazy("stopped it"), gettext_lazy("It stopped and needs attention"), "alert-triangle", "danger"
    ),
}

OPERATOR_MESSAGES: Mapping[str, AuditMessage] = {
    "suspend_workflow": AuditMessage(
        gettext_lazy("suspended it"), gettext_lazy("It was suspended"), "player-stop", "warning"
    ),
    "resume_workflow": AuditMessage(gettext_lazy("let it continue"), gettext_lazy("It continues"), "player-play"),
    "resolve_incident": AuditMessage(
        gettext_lazy("resolved its incident"), gettext_lazy("Its incident was resolved"), "check"
    ),
    "retry_workflow": AuditMessage(
        gettext_lazy("retried the failed step"), gettext_lazy("The failed step is retried"), "refresh"
    ),
    "replay_dead_letter": AuditMessage(
        gettext_lazy("replayed a dead letter"),
        gettext_lazy("A dead letter was replayed"),
        "refresh",
    ),
    "discard_dead_letter": AuditMessage(
        gettext_lazy("discarded a dead letter"), gettext_lazy("A dead letter was discarded"), "ban", "warning"
    ),
    "comment_workflow": AuditMessage(gettext_lazy("commented"), gettext_lazy("New comment"), "message"),
    "attach_file": AuditMessage(gettext_lazy("added a file"), gettext_lazy("A file was added"), "file-text"),
    "keep_instance": AuditMessage(
        gettext_lazy("changed its retention"), gettext_lazy("Its retention was changed"), "clock"
    ),
    "send_signal": AuditMessage(gettext_lazy("sent a message"), gettext_lazy("A message arrived"), "broadcast"),
    "admit_workflow": AuditMessage(
        gettext_lazy("started it from the queue"), gettext_lazy("It left the queue and started"), "player-play"
    ),
}
"""What those do who look after instances."""

TASK_MESSAGES: Mapping[str, AuditMessage] = {
    "created": AuditMessage(gettext_lazy("opened it"), gettext_lazy("The task was created"), "player-play"),
    "assigned": AuditMessage(gettext_lazy("assigned it"), gettext_lazy("It was assigned"), "user"),
    "claimed": AuditMessage(gettext_lazy("claimed it"), gettext_lazy("It was claimed"), "user", "accent"),
    "released": AuditMessage(gettext_lazy("released it"), gettext_lazy("It was released"), "arrow-back-up"),
    "reassigned": AuditMessage(gettext_lazy("reassigned it"), gettext_lazy("It was reassigned"), "user"),
    "suspended": AuditMessage(gettext_lazy("suspended it"), gettext_lazy("It was suspended"), "player-stop", "warning"),
    "resumed": AuditMessage(gettext_lazy("resumed it"), gettext_lazy("It was resumed"), "player-play"),
    "completed": AuditMessage(gettext_lazy("completed it"), gettext_lazy("It was completed"), "check", "good"),
    "skipped": AuditMessage(gettext_lazy("skipped it"), gettext_lazy("It was skipped"), "ban"),
    "redone": AuditMessage(gettext_lazy("had it done again"), gettext_lazy("It is done again"), "arrow-back-up"),
    "cancelled": AuditMessage(gettext_lazy("withdrew it"), gettext_lazy("It was withdrawn"), "ban", "danger"),
    "expired": AuditMessage(gettext_lazy("let it expire"), gettext_lazy("Its time ran out"), "clock", "danger"),
    "clock_runs": AuditMessage(
        gettext_lazy("let its due time run again"),
        gettext_lazy("Its due time runs again: no answer came in time"),
        "clock",
    ),
    "held": AuditMessage(
        gettext_lazy("answered it, with time to undo"), gettext_lazy("It was answered, with time to undo"), "hourglass"
    ),
    "taken_back": AuditMessage(
        gettext_lazy("took the answer back"), gettext_lazy("The answer was taken back"), "arrow-back-up"
    ),
    "not_sent": AuditMessage(
        gettext_lazy("could not send the answer"),
        gettext_lazy("The answer was not sent"),
        "alert-triangle",
        "warning",
    ),
    "reopened": AuditMessage(gettext_lazy("reopened it"), gettext_lazy("It was reopened"), "arrow-back-up", "warning"),
    "answered": AuditMessage(gettext_lazy("answered it"), gettext_lazy("It was answered"), "check"),
    "commented": AuditMessage(gettext_lazy("commented on it"), gettext_lazy("New comment"), "user"),
    "snoozed": AuditMessage(gettext_lazy("snoozed it"), gettext_lazy("It was snoozed"), "clock"),
    "ticked": AuditMessage(gettext_lazy("ticked an item"), gettext_lazy("An item was ticked"), "check"),
    "unticked": AuditMessage(gettext_lazy("unticked an item"), gettext_lazy("An item was unticked"), "arrow-back-up"),
    "attached": AuditMessage(gettext_lazy("added a file"), gettext_lazy("A file was added"), "user"),
    "detached": AuditMessage(gettext_lazy("removed a file"), gettext_lazy("A file was removed"), "arrow-back-up"),
    "reminded": AuditMessage(gettext_lazy("sent a reminder"), gettext_lazy("A reminder was sent"), "clock"),
    "escalated": AuditMessage(
        gettext_lazy("escalated it"), gettext_lazy("It was escalated"), "alert-triangle", "warning"
    ),
    "offered": AuditMessage(gettext_lazy("offered it"), gettext_lazy("It was offered to those who may do it"), "user"),
    "late": AuditMessage(gettext_lazy("missed its SLA"), gettext_lazy("It missed its SLA"), "clock", "danger"),
}
