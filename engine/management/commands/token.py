"""Answer `manage.py token PERSON`."""

from typing import Any

from django.core.management.base import CommandParser

from engine.management.seeding import SeedingCommand
from engine.services.people.accounts import person_of_any_tenant
from engine.services.people.tokens import create_token


class Command(SeedingCommand):
    help = "Print a new REST token of a person; it is shown this once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("person")
        parser.add_argument("--name", default="command line", help="what the token is for")
        parser.add_argument("--scope", action="append", default=[], help="narrow it to this; may be given again")

    def seed(self, **options: Any) -> str:
        _, plain = create_token(
            actor=None, person=person_of_any_tenant(options["person"]), name=options["name"], scopes=options["scope"]
        )
        return plain
