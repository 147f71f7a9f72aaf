"""The characters who are written again are those whom the services created."""

from collections.abc import Callable

from django.db import connection, transaction

from engine.services.audit.verification import verify_everything
from tests.cast import PEOPLE, Cast, assemble_cast, create_cast
from workflowplatform.accounts.models import User


def described(bring: Callable[[], Cast]) -> list[object]:
    """Create the characters, describe what does not change from one time to the next, and roll back."""
    with transaction.atomic():
        bring()
        people = [
            (one.username, one.tenant.name, one.level, one.email, sorted(role.name for role in one.roles.all()))
            for one in User.objects.select_related("tenant").order_by("username")
        ]
        rows = _count_rows()
        verdict = verify_everything()
        transaction.set_rollback(True)
    return [people, rows, verdict.rows, verdict.broken]


def _count_rows() -> dict[str, int]:
    """Count what every table holds."""
    tables = connection.introspection.django_table_names(only_existing=True, include_views=False)
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(f"SELECT '{table}', count(*) FROM {table}" for table in tables))
        return dict(cursor.fetchall())


def test_written_again_they_are_as_they_were_created(db: None) -> None:
    created = described(create_cast)
    described(assemble_cast)  # the first time of a process creates, every other time writes
    assert described(assemble_cast) == created
    assert len(created[0]) == sum(map(len, PEOPLE.values()))  # type: ignore[arg-type]
