"""manage.py verify_export FILE: check that an export of the audit is as it was signed."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from engine.audit.signatures import UnusableKey, read_public_key
from engine.services.audit.exports import BadExport, verify_export


class Command(BaseCommand):
    help = "Check the signature of an export of the audit. Exit code 0 only when not a byte was changed."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--key", type=Path, metavar="FILE", help="the public key, if it was not signed here")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            key = read_public_key(options["key"]) if options["key"] else None
            said = verify_export(options["file"], key=key)
        except (BadExport, UnusableKey) as error:
            raise CommandError(str(error)) from error
        narrowed = f", narrowed by {said['asked']}" if said["asked"] else ""
        self.stdout.write(f"As signed: tenant {said['tenant']}, {said['made_at']}, by {said['by']}{narrowed}.")
