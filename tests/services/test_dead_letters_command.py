"""manage.py dead_letters: list, show, replay, discard."""

import io
import json

import pytest
from django.core.management import CommandError, call_command

from engine.dispatch.drain import drain
from engine.models import Audit, DeadLetter, Instance, RuntimeState
from tests.cast import Cast
from tests.workflows import TIMER, activated, started
from workflowplatform.ids import uuid7


def told(*words: object) -> str:
    """Return what the command says."""
    out = io.StringIO()
    call_command("dead_letters", *(str(word) for word in words), stdout=out)
    return out.getvalue()


@pytest.fixture
def letters(committed_cast: Cast) -> list[DeadLetter]:
    """Return two dead letters of Acme: their snapshots could not be read for a while."""
    activated(committed_cast.actor("gwen"), TIMER.replace("PT0.2S", "PT0.01S"))
    instances = [started(committed_cast.actor("ada"), "timer") for _ in range(2)]
    snapshots = {one.pk: RuntimeState.objects.get(pk=one.pk).snapshot for one in instances}
    RuntimeState.objects.update(snapshot={"engineSchemaVersion": 999})
    while DeadLetter.objects.count() < 2:
        drain()
    for pk, snapshot in snapshots.items():
        RuntimeState.objects.filter(pk=pk).update(snapshot=snapshot)
    return list(DeadLetter.objects.order_by("-id"))


def test_they_are_listed_and_shown(letters: list[DeadLetter]) -> None:
    text = told()
    assert str(letters[0].pk) in text
    assert text.endswith("2 dead letters.\n")
    assert told("--tenant", "globex") == "0 dead letters.\n"
    assert [letter["template"] for letter in json.loads(told("--json", "--tenant", "acme"))] == ["timer", "timer"]
    assert json.loads(told("show", letters[0].pk))["envelope"]["type"] == "TimerDue"
    with pytest.raises(CommandError, match="nowhere"):
        told("--tenant", "nowhere")


def test_one_is_replayed_and_the_other_discarded(letters: list[DeadLetter]) -> None:
    first, second = letters
    with pytest.raises(CommandError, match="--all"):
        told("replay")
    missing = uuid7()
    with pytest.raises(CommandError, match=str(missing)):
        told("replay", first.pk, missing)
    assert told("replay", first.pk) == f"{first.pk} replayed\n"
    drain()
    assert Instance.objects.get(pk=first.instance_id).status == "completed"
    assert json.loads(told("discard", "--all", "--reason", "obsolete", "--json")) == [
        {"id": str(second.pk), "done": "discarded"}
    ]
    row = Audit.objects.get(subject_id=second.instance_id, action="discard_dead_letter")
    assert (row.actor_name, row.cause) == ("operator", "obsolete")
    assert not DeadLetter.objects.exists()
