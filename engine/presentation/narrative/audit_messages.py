"""How each act is told: one table an occasion, a sentence and a mark an action."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_lazy


@dataclass(frozen=True, slots=True)
class Saying:
    """How an action is told: by a person, by the engine, with which mark."""

    by_person: Any
    by_engine: Any
    icon: str
    tone: str = ""
    always: bool = True
    """Whether the short telling has it even when it changed no value."""


SAYINGS: Mapping[str, Saying] = {
    "start_workflow": Saying(gettext_lazy("started it"), gettext_lazy("It was started"), "player-play"),
    "task_created": Saying(
        gettext_lazy("caused %(step)s to open"), gettext_lazy("%(step)s was opened"), "user", always=False
    ),
    "task_claimed": Saying(gettext_lazy("claimed %(step)s"), gettext_lazy("%(step)s was claimed"), "user", "accent"),
    "task_released": Saying(gettext_lazy("released %(step)s"), gettext_lazy("%(step)s was released"), "arrow-back-up"),
    "task_assigned": Saying(gettext_lazy("assigned %(step)s"), gettext_lazy("%(step)s was assigned"), "user"),
    "task_reassigned": Saying(
        gettext_lazy("gave %(step)s to somebody else"), gettext_lazy("%(step)s was given to somebody else"), "user"
    ),
    "task_answered": Saying(gettext_lazy("answered %(step)s"), gettext_lazy("%(step)s got an answer"), "check"),
    "task_commented": Saying(gettext_lazy("commented on %(step)s"), gettext_lazy("%(step)s got a comment"), "user"),
    "task_suspended": Saying(
        gettext_lazy("suspended %(step)s"), gettext_lazy("%(step)s was suspended"), "player-stop", "warning"
    ),
    "task_resumed": Saying(gettext_lazy("resumed %(step)s"), gettext_lazy("%(step)s was resumed"), "player-play"),
    "task_snoozed": Saying(
        gettext_lazy("put %(step)s off"), gettext_lazy("%(step)s was put off"), "clock", always=False
    ),
    "task_ticked": Saying(
        gettext_lazy("ticked a point of %(step)s"),
        gettext_lazy("A point of %(step)s was ticked"),
        "check",
        always=False,
    ),
    "task_unticked": Saying(
        gettext_lazy("took a tick of %(step)s back"),
        gettext_lazy("A tick of %(step)s was taken back"),
        "arrow-back-up",
        always=False,
    ),
    "task_attached": Saying(
        gettext_lazy("added a file to %(step)s"), gettext_lazy("A file was added to %(step)s"), "user"
    ),
    "task_detached": Saying(
        gettext_lazy("took a file of %(step)s away"), gettext_lazy("A file of %(step)s was taken away"), "arrow-back-up"
    ),
    "task_reminded": Saying(
        gettext_lazy("wrote a reminder of %(step)s"), gettext_lazy("A reminder of %(step)s was written"), "clock"
    ),
    "task_escalated": Saying(
        gettext_lazy("escalated %(step)s"), gettext_lazy("%(step)s was escalated"), "alert-triangle", "warning"
    ),
    "task_late": Saying(
        gettext_lazy("saw the promise of %(step)s pass"),
        gettext_lazy("%(step)s was promised by now"),
        "clock",
        "danger",
    ),
    "task_completed": Saying(
        gettext_lazy("completed %(step)s"), gettext_lazy("%(step)s was completed"), "check", "good"
    ),
    "task_skipped": Saying(gettext_lazy("skipped %(step)s"), gettext_lazy("%(step)s was skipped"), "ban"),
    "task_cancelled": Saying(gettext_lazy("withdrew %(step)s"), gettext_lazy("%(step)s was withdrawn"), "ban"),
    "task_expired": Saying(
        gettext_lazy("time ran out for %(step)s"),
        gettext_lazy("Time ran out for %(step)s"),
        "clock",
        "danger",
        always=False,
    ),
    "hold_step": Saying(
        gettext_lazy("%(step)s is held back"), gettext_lazy("%(step)s is held back"), "hourglass", always=False
    ),
    "execute_step": Saying(
        gettext_lazy("reached %(step)s"), gettext_lazy("%(step)s began"), "player-play", always=False
    ),
    "complete_step": Saying(
        gettext_lazy("passed %(step)s"), gettext_lazy("%(step)s is done"), "check", "good", always=False
    ),
    "fail_step": Saying(gettext_lazy("saw %(step)s fail"), gettext_lazy("%(step)s failed"), "x", "danger"),
    "skip_step": Saying(
        gettext_lazy("%(step)s was skipped"), gettext_lazy("%(step)s was skipped"), "ban", always=False
    ),
    "retry_step": Saying(
        gettext_lazy("%(step)s is tried again"),
        gettext_lazy("%(step)s is tried again"),
        "refresh",
        "warning",
    ),
    "expire_step": Saying(
        gettext_lazy("time ran out for %(step)s"), gettext_lazy("Time ran out for %(step)s"), "clock", "danger"
    ),
    "cancel_step": Saying(gettext_lazy("withdrew %(step)s"), gettext_lazy("%(step)s was withdrawn"), "ban"),
    "compensate_step": Saying(gettext_lazy("undid %(step)s"), gettext_lazy("%(step)s was undone"), "arrow-back-up"),
    "complete_workflow": Saying(
        gettext_lazy("brought it to its end"), gettext_lazy("It was completed"), "circle-check", "good"
    ),
    "fail_workflow": Saying(gettext_lazy("saw it fail"), gettext_lazy("It failed"), "circle-x", "danger"),
    "cancel_workflow": Saying(gettext_lazy("cancelled it"), gettext_lazy("It was cancelled"), "ban", "danger"),
    "expire_workflow": Saying(
        gettext_lazy("saw its time run out"), gettext_lazy("Its time ran out"), "clock", "danger"
    ),
    "refuse_start": Saying(
        gettext_lazy("could not start another case"), gettext_lazy("Another case was not started"), "ban", "warning"
    ),
    "raise_incident": Saying(
        gettext_lazy("saw it stop"), gettext_lazy("It stopped and needs help"), "alert-triangle", "danger"
    ),
}

OPERATORS: Mapping[str, Saying] = {
    "suspend_workflow": Saying(
        gettext_lazy("suspended it"), gettext_lazy("It was suspended"), "player-stop", "warning"
    ),
    "resume_workflow": Saying(gettext_lazy("let it go on"), gettext_lazy("It goes on"), "player-play"),
    "retry_workflow": Saying(
        gettext_lazy("had the failed step tried again"), gettext_lazy("The failed step is tried again"), "refresh"
    ),
    "replay_dead_letter": Saying(
        gettext_lazy("put a dead letter back into the queue"),
        gettext_lazy("A dead letter went back into the queue"),
        "refresh",
    ),
    "discard_dead_letter": Saying(
        gettext_lazy("gave a dead letter up"), gettext_lazy("A dead letter was given up"), "ban", "warning"
    ),
    "keep_instance": Saying(
        gettext_lazy("changed how long it is kept"), gettext_lazy("How long it is kept was changed"), "clock"
    ),
    "send_signal": Saying(gettext_lazy("sent a message"), gettext_lazy("A message came"), "broadcast"),
    "admit_workflow": Saying(gettext_lazy("let it begin"), gettext_lazy("It got a free place"), "player-play"),
}
"""What those do who look after instances."""

EVENTS: Mapping[str, Saying] = {
    "created": Saying(gettext_lazy("caused it to open"), gettext_lazy("It was opened"), "player-play"),
    "assigned": Saying(gettext_lazy("assigned it"), gettext_lazy("It was assigned"), "user"),
    "claimed": Saying(gettext_lazy("claimed it"), gettext_lazy("It was claimed"), "user", "accent"),
    "released": Saying(gettext_lazy("released it"), gettext_lazy("It was released"), "arrow-back-up"),
    "reassigned": Saying(
        gettext_lazy("gave it to somebody else"), gettext_lazy("It was given to somebody else"), "user"
    ),
    "suspended": Saying(gettext_lazy("suspended it"), gettext_lazy("It was suspended"), "player-stop", "warning"),
    "resumed": Saying(gettext_lazy("resumed it"), gettext_lazy("It was resumed"), "player-play"),
    "completed": Saying(gettext_lazy("completed it"), gettext_lazy("It was completed"), "check", "good"),
    "skipped": Saying(gettext_lazy("skipped it"), gettext_lazy("It was skipped"), "ban"),
    "cancelled": Saying(gettext_lazy("caused it to be withdrawn"), gettext_lazy("It was withdrawn"), "ban", "danger"),
    "expired": Saying(gettext_lazy("let it expire"), gettext_lazy("Its time ran out"), "clock", "danger"),
    "answered": Saying(gettext_lazy("answered it"), gettext_lazy("It got an answer"), "check"),
    "commented": Saying(gettext_lazy("commented on it"), gettext_lazy("It got a comment"), "user"),
    "snoozed": Saying(gettext_lazy("put it off"), gettext_lazy("It was put off"), "clock"),
    "ticked": Saying(gettext_lazy("ticked a point"), gettext_lazy("A point was ticked"), "check"),
    "unticked": Saying(gettext_lazy("took a tick back"), gettext_lazy("A tick was taken back"), "arrow-back-up"),
    "attached": Saying(gettext_lazy("added a file"), gettext_lazy("A file was added"), "user"),
    "detached": Saying(gettext_lazy("took a file away"), gettext_lazy("A file was taken away"), "arrow-back-up"),
    "reminded": Saying(gettext_lazy("wrote a reminder"), gettext_lazy("A reminder was written"), "clock"),
    "escalated": Saying(gettext_lazy("escalated it"), gettext_lazy("It was escalated"), "alert-triangle", "warning"),
    "late": Saying(gettext_lazy("saw its promise pass"), gettext_lazy("It was promised by now"), "clock", "danger"),
}
