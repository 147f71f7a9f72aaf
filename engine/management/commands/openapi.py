"""Answer `manage.py openapi`."""

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from engine.api.openapi import document


class Command(BaseCommand):
    help = "Write the OpenAPI document anew; the committed one is docs/openapi.json."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("-o", "--output", default="docs/openapi.json")

    def handle(self, *args: Any, **options: Any) -> None:
        text = json.dumps(document(), indent=1, ensure_ascii=False) + "\n"
        Path(options["output"]).write_text(text, encoding="utf-8")
