"""Be the application: connect as its role, which PostgreSQL shows the rows of one tenant, where tests otherwise are the owner."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

from workflowplatform.database import tenancy
from workflowplatform.servers.postgres import APPLICATION


@contextmanager
def as_application(*, outside: tenancy.VisibleTenants = tenancy.EVERYBODY) -> Iterator[None]:
    """Connect as the application for the length of a block; what a test does outside any request may cross tenants.

    Everything before must be committed: another connection would not see it.
    """
    before, scope = connection.settings_dict["USER"], tenancy.outside
    connection.close()
    connection.settings_dict["USER"], tenancy.outside = APPLICATION, outside
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict["USER"], tenancy.outside = before, scope
