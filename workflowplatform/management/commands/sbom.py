"""manage.py sbom: write what this installation is made of, for scanners (CycloneDX) or as a list of licences."""

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from workflowplatform import supply_chain


class Command(BaseCommand):
    help = (
        "Write the software bill of materials as CycloneDX JSON, or with --licences a table of packages and licences."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("-o", "--output", type=Path, help="a file instead of the terminal")
        parser.add_argument("--licences", action="store_true", help="package, version and licence, one line each")

    def handle(self, *args: Any, **options: Any) -> None:
        text = _licences() if options["licences"] else json.dumps(supply_chain.document(), indent=2)
        if options["output"]:
            options["output"].write_text(f"{text}\n")
        else:
            self.stdout.write(text)


def _licences() -> str:
    found = supply_chain.parts()
    width = max(len(part.name) for part in found)
    return "\n".join(f"{part.name:{width}}  {part.version:12}  {part.licence}" for part in found)
