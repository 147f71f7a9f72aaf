"""List `up` in `manage.py help`; manage.py itself runs it without Django."""

from __future__ import annotations

import sys
from typing import NoReturn

from django.core.management.base import BaseCommand

from workflowplatform.servers import up


class Command(BaseCommand):
    """Bring the whole product up: servers, migrations, demo data, web and workers."""

    help = "Bring the whole product up and keep it up: servers, migrations, demo data, web and workers."
    requires_system_checks = ()

    def run_from_argv(self, argv: list[str]) -> NoReturn:
        """Hand the words on as they are."""
        sys.exit(up.main(argv[2:]))

    def handle(self, *_arguments: object, **_options: object) -> None:
        """Run with the defaults when called from code."""
        sys.exit(up.main([]))
