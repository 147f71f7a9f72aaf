"""manage.py retention: let ended work go after its time, say how long it is kept, and keep an instance longer."""

import json
from dataclasses import asdict
from typing import IO, Any, cast

from django.core.management.base import BaseCommand, CommandError, CommandParser
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn
from rich.table import Table

from engine.errors import WorkflowError
from engine.services.retention.purge import WINDOWS, Purged, Swept, apply_retention, list_retention, set_retention
from workflowplatform.accounts.actor import operator_actor
from workflowplatform.accounts.models import Tenant

OPTIONS = tuple(name.removesuffix("_for") for name in WINDOWS)
BY_AGE = {
    "kept_signals": "kept signals",
    "idempotency_keys": "keys",
    "events": "events",
    "slots": "slots of schedules",
    "bulk_acts": "acts over many rows",
    "runs": "runs of retention",
    "pending_answers": "answers that were not sent",
    "start_drafts": "drafts of start forms",
    "bulk_reports": "results of bulk actions",
    "rates": "rates",
    "months": "months of audit and events",
    "files": "files",
}
"""What is deleted by its age, whatever the rules say, in words."""


class Command(BaseCommand):
    help = "Delete ended instances and their history once their windows have passed. Active work is never touched."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("what", nargs="?", choices=("run", "set", "rules"), default="run")
        parser.add_argument("--dry-run", action="store_true", help="count only")
        parser.add_argument("--json", action="store_true")
        parser.add_argument("--tenant", help="only this one; `set` and `rules` need it")
        parser.add_argument("--template", help="`set`: a rule for this template")
        for name in OPTIONS:
            parser.add_argument(f"--{name}", metavar="P1Y", help=f"`set`: how long; '' for no rule of its own ({name})")

    def handle(self, *args: Any, **options: Any) -> None:
        tenant = self._tenant(options["tenant"])
        try:
            getattr(self, f"_{options['what']}")(tenant, options)
        except WorkflowError as refusal:
            raise CommandError(refusal.message) from refusal

    def _tenant(self, name: str | None) -> Tenant | None:
        if name is None:
            return None
        found = Tenant.objects.filter(name=name).first()
        if found is None:
            raise CommandError(f"There is no tenant named {name}.")
        return found

    def _required(self, tenant: Tenant | None) -> Tenant:
        if tenant is None:
            raise CommandError("Name a tenant: --tenant NAME.")
        return tenant

    def _set(self, tenant: Tenant | None, options: dict[str, Any]) -> None:
        actor = operator_actor(self._required(tenant).pk)
        windows = {f"{name}_for": options[name] for name in OPTIONS if options[name] is not None}
        rule = set_retention(actor=actor, template=options["template"], **windows)
        self.stdout.write(f"{rule}: {', '.join(f'{name} {value}' for name, value in windows.items())}")

    def _rules(self, tenant: Tenant | None, options: dict[str, Any]) -> None:
        rules = list_retention(actor=operator_actor(self._required(tenant).pk))
        rows = [
            {
                "template": rule.template.name if rule.template else None,
                **{name: getattr(rule, name) for name in WINDOWS},
            }
            for rule in rules
        ]
        if options["json"]:
            self.stdout.write(json.dumps(rows))
            return
        for row in rows:
            kept = ", ".join(f"{name} {row[name]}" for name in WINDOWS if row[name])
            self.stdout.write(f"{row['template'] or 'everything else'}: {kept or 'for ever'}")

    def _run(self, tenant: Tenant | None, options: dict[str, Any]) -> None:
        if options["json"]:
            self.stdout.write(json.dumps(asdict(apply_retention(tenant=tenant, dry_run=options["dry_run"]))))
            return
        console = Console(file=cast("IO[str]", self.stdout._out))
        self._tell(console, _watched(console, tenant, dry_run=options["dry_run"]))

    def _tell(self, console: Console, swept: Swept) -> None:
        """Close with a table of what went."""
        table = Table(
            "tenant", "template", *OPTIONS, title="would go" if swept.dry_run else "gone", title_justify="left"
        )
        for one in swept.templates:
            table.add_row(one.tenant, one.template, *(str(getattr(one, name)) for name in OPTIONS))
        if swept.templates:
            console.print(table)
        total = {name: sum(getattr(one, name) for one in swept.templates) for name in OPTIONS}
        by_rule = ", ".join(f"{count} {name}" for name, count in total.items())
        by_age = ", ".join(f"{getattr(swept, name)} {words}" for name, words in BY_AGE.items())
        self.stdout.write(f"{'Would go' if swept.dry_run else 'Gone'}: {by_rule}, {by_age}.")


def _watched(console: Console, tenant: Tenant | None, *, dry_run: bool) -> Swept:
    """Run with a line that moves, where a person looks on."""
    with Progress(
        SpinnerColumn(), TextColumn("{task.description}"), TextColumn("{task.completed} gone"),
        console=console, transient=True, disable=not console.is_terminal,
    ) as bar:  # fmt: skip
        line = bar.add_task("looking", total=None)

        def progress(purged: Purged) -> None:
            gone = purged.completed + purged.cancelled + purged.runtime + purged.audit
            bar.update(line, description=f"{purged.tenant}/{purged.template}", advance=gone)

        return apply_retention(tenant=tenant, dry_run=dry_run, progress=progress)
