"""What reaches the outside through real services has a key of its own, and keeps it."""

from engine.dispatch.drain import drain
from engine.models import Effect, Instance
from engine.services.instances.signals import send_signal
from engine.services.tasks.lifecycle import complete_task
from tests.cast import Cast
from tests.services.test_task_times import let_pass
from tests.workflows import activated, started

HOST = """
workflow: host
title: Host
steps:
  - id: host
    task: {title: Host}
    on: [{signal: doc, steps: [{id: send, call: {python: {function: echo, args: {d: "${signal.d}"}}}}]}]
    reminders: [{every: P1D, times: 2, steps: [{id: remind, call: {python: {function: echo, args: {}}}}]}]
    finally: [{id: close, call: {python: {function: echo, args: {}}}}]
"""

LONG = "x" * 60
LETTERS = f"""
workflow: letters
title: Letters
steps:
  - id: answer
    task: {{title: Answer, notify: {{to: ["{LONG}@{LONG}.{LONG}.{LONG}.{LONG}.one", "{LONG}@{LONG}.{LONG}.{LONG}.{LONG}.two"]}}}}
"""


def keys(instance: Instance) -> list[str]:
    """List the keys of everything that an instance sent."""
    found = Effect.objects.filter(instance=instance).order_by("intended_at", "key").values_list("key", flat=True)
    return [key.removeprefix(f"{instance.pk}:") for key in found]


def test_signals_reminders_and_ends_are_sent_under_keys_of_their_own(committed_cast: Cast) -> None:
    gwen = committed_cast.actor("gwen")
    activated(gwen, HOST)
    instance = started(gwen, "host")
    for number in range(2):
        send_signal(actor=gwen, instance_id=instance.pk, name="doc", payload={"d": number})
        drain()
    for days in (1, 2):
        let_pass(instance, days=days)
    complete_task(actor=gwen, task_id=instance.tasks.get(step="host").pk)
    drain()
    assert keys(instance) == [
        "host/on.0/send[0]",
        "host/on.0/send[1]",
        "host/reminders.0/remind[0]",
        "host/reminders.0/remind[1]",
        "host/finally/close",
    ]


def test_letters_to_two_long_addresses_have_two_keys(committed_cast: Cast) -> None:
    gwen = committed_cast.actor("gwen")
    activated(gwen, LETTERS)
    found = keys(started(gwen, "letters"))
    assert len(found) == len(set(found)) == 2
