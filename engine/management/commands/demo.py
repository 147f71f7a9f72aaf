"""Fill an empty platform with tenants, people, templates and instances, so that every page has something to show."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from engine.errors import WorkflowError
from engine.management.demo import furnish


class Command(BaseCommand):
    help = "Create the demo tenants, people, templates and instances; running it again changes nothing."

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            made = furnish()
        except WorkflowError as refusal:
            raise CommandError(refusal.message) from refusal
        self.stdout.write("The demo is there." if made else "The demo was there already.")
