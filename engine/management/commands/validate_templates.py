"""manage.py validate_templates: validate every active version again, as at the start of a release."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from engine.services.templates.startup_validation import validate_active_versions


class Command(BaseCommand):
    help = "Validate every active version again and mark those that this release cannot run. Exit code 0 only when all are fit."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        verdicts = validate_active_versions()
        unfit = [verdict for verdict in verdicts if verdict.why]
        rows = [
            {
                "tenant": verdict.version.tenant.name,
                "template": verdict.version.template.name,
                "version": verdict.version.number,
                "why": verdict.why,
            }
            for verdict in unfit
        ]
        if options["json"]:
            self.stdout.write(json.dumps(rows))
        else:
            for row in rows:
                self.stdout.write("{tenant}/{template} {version}: {why}".format(**row))
            self.stdout.write(f"{len(verdicts)} active versions, {len(unfit)} unavailable.")
        if unfit:
            raise CommandError(f"{len(unfit)} active versions cannot be started.")
