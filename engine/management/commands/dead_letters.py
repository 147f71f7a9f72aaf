"""manage.py dead_letters: list the signals that nobody could apply; show, replay or discard one."""

import json
from typing import IO, Any, cast
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser
from rich.console import Console
from rich.progress import track
from rich.table import Column, Table

from engine import access
from engine.errors import WorkflowError
from engine.models import DeadLetter
from engine.services.instances.repair import discard_dead_letter, replay_dead_letter
from workflowplatform.accounts.actor import operator_actor
from workflowplatform.accounts.models import Tenant


class Command(BaseCommand):
    help = "Look after dead letters. Exit code 0 only when everything asked for was done."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("what", nargs="?", choices=("list", "show", "replay", "discard"), default="list")
        parser.add_argument("ids", nargs="*", type=UUID, metavar="ID")
        parser.add_argument("--all", action="store_true", help="replay or discard all of them")
        parser.add_argument("--reason", default="", help="why, for the audit")
        parser.add_argument("--tenant", help="only this one")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        letters = _letters(options["tenant"])
        getattr(self, f"_{options['what']}")(letters, options)

    def _console(self) -> Console:
        return Console(file=cast("IO[str]", self.stdout._out))

    def _list(self, letters: list[DeadLetter], options: dict[str, Any]) -> None:
        if options["json"]:
            self.stdout.write(json.dumps([_shape(letter) for letter in letters]))
            return
        table = Table(Column("id", min_width=36, no_wrap=True), "tenant", "workflow", "signal", "when", "why")
        for letter in letters:
            shown = _shape(letter)
            table.add_row(*(shown[name] for name in ("id", "tenant", "template", "type", "at", "reason")))
        if letters:
            self._console().print(table)
        self.stdout.write(f"{len(letters)} dead letters.")

    def _show(self, letters: list[DeadLetter], options: dict[str, Any]) -> None:
        shown = [_shape(letter) | {"envelope": letter.envelope} for letter in _chosen(letters, options)]
        self.stdout.write(json.dumps(shown if options["json"] else shown[0], indent=None if options["json"] else 2))

    def _replay(self, letters: list[DeadLetter], options: dict[str, Any]) -> None:
        self._each(_chosen(letters, options), options, "replayed", lambda actor, letter: replay_dead_letter(
            actor=actor, letter_id=letter.pk))  # fmt: skip

    def _discard(self, letters: list[DeadLetter], options: dict[str, Any]) -> None:
        self._each(_chosen(letters, options), options, "discarded", lambda actor, letter: discard_dead_letter(
            actor=actor, letter_id=letter.pk, reason=options["reason"]))  # fmt: skip

    def _each(self, letters: list[DeadLetter], options: dict[str, Any], done: str, act: Any) -> None:
        """Do one after the other; one that is refused stops none of the others."""
        results = []
        console = self._console()
        for letter in track(letters, done, console=console, transient=True, disable=not console.is_terminal):
            try:
                act(operator_actor(letter.tenant_id), letter)
                results.append({"id": str(letter.pk), "done": done})
            except WorkflowError as refusal:
                results.append({"id": str(letter.pk), "refused": refusal.message})
        self._tell(results, options)

    def _tell(self, results: list[dict[str, str]], options: dict[str, Any]) -> None:
        for result in results:
            words = f"{result['id']} {result.get('done') or 'refused: ' + result['refused']}"
            if not options["json"]:
                self.stdout.write(words)
        if options["json"]:
            self.stdout.write(json.dumps(results))
        if refused := sum("refused" in result for result in results):
            raise CommandError(f"{refused} of {len(results)} were refused.")


def _letters(tenant: str | None) -> list[DeadLetter]:
    """Return the dead letters of one tenant or of all, newest first."""
    tenants = Tenant.objects.filter(name=tenant) if tenant else Tenant.objects.order_by("name")
    if tenant and not tenants:
        raise CommandError(f"There is no tenant named {tenant}.")
    rows = [access.visible_dead_letters(operator_actor(each.pk)) for each in tenants]
    return [letter for some in rows for letter in some.select_related("tenant", "instance__template").order_by("-id")]


def _chosen(letters: list[DeadLetter], options: dict[str, Any]) -> list[DeadLetter]:
    if options["all"]:
        return letters
    by_id = {letter.pk: letter for letter in letters}
    if not options["ids"] or (missing := [one for one in options["ids"] if one not in by_id]):
        raise CommandError(
            f"There is no dead letter {missing[0]}." if options["ids"] else "Name dead letters: ID… or --all."
        )
    return [by_id[one] for one in options["ids"]]


def _shape(letter: DeadLetter) -> dict[str, str]:
    return {
        "id": str(letter.pk),
        "tenant": letter.tenant.name,
        "instance": str(letter.instance_id),
        "template": letter.instance.template.name,
        "type": str(letter.envelope.get("type", "")),
        "at": letter.at.isoformat(timespec="seconds"),
        "node": letter.node,
        "reason": letter.reason,
    }
