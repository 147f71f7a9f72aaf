"""Answer `manage.py person create NAME …`, `person export NAME --to FOLDER` and `person erase NAME --reason WHY`."""

import json
import shutil
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from engine.errors import WorkflowError
from engine.management.seeding import SeedingCommand, acting_in, add_acts, add_create
from engine.services.people.accounts import create_person, person_of_any_tenant
from engine.services.people.erasure import erase_person, refuse_needed
from engine.services.people.person_export import export_person, files_of_person, find_mentions
from engine.services.people.tenants_and_roles import tenant_named
from engine.services.people.tokens import create_token
from workflowplatform.accounts.models import Kind, User


class Command(SeedingCommand):
    help = "Create a person in a tenant; hand out all that is kept of one; erase one."

    def add_arguments(self, parser: CommandParser) -> None:
        acts = add_acts(parser, "create", "export", "erase")
        create = add_create(parser, "person", acts)
        create.add_argument("--tenant", required=True)
        create.add_argument(
            "--level", type=int, required=True, help="1 public, 2 user, 3 moderator, 4 admin, 5 god, 6 supergod"
        )
        create.add_argument("--role", action="append", default=[], dest="roles", metavar="ROLE")
        create.add_argument("--kind", choices=Kind.values, default=Kind.PERSON.value, help="service: tokens only")
        create.add_argument("--email", default="")
        create.add_argument("--full-name", default="")
        create.add_argument("--password", help="without one the person comes in by an invitation or a token only")
        create.add_argument("--token", action="store_true", help="print a REST token")
        export = acts.add_parser("export", help="write all that is kept of a person")
        export.add_argument("name")
        export.add_argument("--to", type=Path, required=True, metavar="FOLDER", help="a folder that is not there yet")
        erase = acts.add_parser("erase", help="erase a person; work and history keep a pseudonym")
        erase.add_argument("name")
        erase.add_argument("--reason", default="", help="why; it stays in the audit, so name nobody")
        erase.add_argument(
            "--dry-run",
            action="store_true",
            help="only check whether the person can be erased, and list what mentions them",
        )

    def handle(self, *args: Any, **options: Any) -> str | None:
        if options["act"] == "create":
            return super().handle(*args, **options)
        try:
            person = person_of_any_tenant(options["name"])
            getattr(self, f"_{options['act']}")(person, options)
        except WorkflowError as refusal:
            raise CommandError(refusal.message) from refusal
        return None

    def seed(self, **options: Any) -> str | None:
        tenant = tenant_named(options["tenant"])
        actor = acting_in(options["acting"], tenant)
        facts = {key: options[key] for key in ("name", "level", "roles", "password", "email", "full_name", "kind")}
        person = create_person(actor=actor, tenant=tenant, **facts)
        self.say(f"{person.display_name} created in {tenant.name} with level {person.level}.")
        # The operator makes the token, even with `--as`: nobody else may make one for another person.
        return create_token(actor=None, person=person, name="command line")[1] if options["token"] else None

    def _export(self, person: User, options: dict[str, Any]) -> None:
        folder: Path = options["to"]
        try:
            folder.mkdir(parents=True, mode=0o700)
        except OSError as error:
            raise CommandError(f"{folder} cannot be made: {error.strerror}.") from error
        kept = export_person(actor=None, person=person)
        (folder / "person.json").write_text(json.dumps(kept, indent=1, default=str, ensure_ascii=False))
        files = list(files_of_person(person))
        for name, place in files:
            if place.exists():
                shutil.copyfile(place, folder / name.replace("/", "_"))
        self.stdout.write(f"person.json and {len(files)} files written to {folder}.")

    def _erase(self, person: User, options: dict[str, Any]) -> None:
        if options["dry_run"]:
            refuse_needed(person)
            self._list(list(find_mentions(person)))
            self.stdout.write("This person can be erased.")
            return
        done = erase_person(person=person, reason=options["reason"])
        self._list(list(done.mentions))
        self.stdout.write(f"Erased. What stays names {done.erasure.pseudonym}: {json.dumps(done.erasure.counts)}")

    def _list(self, mentions: list[Any]) -> None:
        for one in mentions:
            self.stdout.write(f"mentioned in {one.table}.{one.field} of {one.id}")
        if mentions:
            self.stdout.write("These texts and values are not changed; look at them and decide.")
