"""manage.py database_reference: write docs/database.sql anew, or check it."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection

from workflowplatform.database.reference import database_reference
from workflowplatform.servers.paths import PROJECT

PAGE = PROJECT / "docs/database.sql"


class Command(BaseCommand):
    help = "Write what the migrated database enforces to docs/database.sql; with --check, only compare."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("-o", "--output", type=Path, default=PAGE)
        parser.add_argument(
            "--check", action="store_true", help="write nothing; exit code 1 if the page is out of date"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        page: Path = options["output"]
        text = database_reference(connection)
        if not options["check"]:
            page.write_text(text, encoding="utf-8")
        elif not page.exists() or page.read_text(encoding="utf-8") != text:
            raise CommandError(f"{page.name} is out of date; renew it with: manage.py database_reference")
