"""Keep the tenant for which a process reads and writes at this moment: the wall behind the filters of engine.access.

PostgreSQL shows the application's role the rows of one tenant, the one that the transaction names, and none if it names none
(`workflowplatform.database.row_security` sets the policies up). This module keeps that name. A web request begins as nobody and
becomes its actor's tenant; a worker crosses tenants, which is an act with a reason: `crossing` is the only way, CROSSINGS lists
every reason, and a test compares that list with the code. The backend tells the database with the first statement of a
transaction, and again when the scope changes inside one; it never sets anything that outlives a transaction.
"""

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from uuid import UUID

CROSSINGS = {
    "who asks": "a session or a token is looked up before the tenant is known",
    "sign-in": "names and mail addresses are unique over all tenants, and the tenant follows from the person",
    "mail link": "a signed link names its person before the tenant is known",
    "push browser": "a browser that tells one person told another one before, perhaps of another tenant",
    "erasure": "functions that take a name out of the audit are for those who cross; level 6 leaves names in other tenants",
    "tenants": "level 6 lists, makes and chooses tenants",
    "health": "the health counts work of all tenants and tells nothing else",
    "drain": "a worker claims, applies and commits due work of all tenants",
    "background": "webhooks, notifications, diagrams, retention and signed audit roots of all tenants, besides a worker's drain",
    "streams": "the one reader of a web process checks who still listens, whatever their tenant",
    "operator": "a person at the server's command line has the application's own password",
}
"""Why code may see the rows of every tenant."""


@dataclass(frozen=True, slots=True)
class VisibleTenants:
    """The rows that a transaction sees: none, one tenant's, or all."""

    tenant: UUID | None = None
    guest: UUID | None = None
    """A person of level 6 who works in a tenant that is not their own: their own row is seen too."""
    crosses: bool = False


NOBODY = VisibleTenants()
EVERYBODY = VisibleTenants(crosses=True)


class _Held:
    """The scope of a piece of code; `find` where it is found out at the first statement."""

    __slots__ = ("find", "of_request", "scope")

    def __init__(
        self, scope: VisibleTenants, find: Callable[[], VisibleTenants] | None = None, *, of_request: bool = False
    ) -> None:
        self.scope, self.find, self.of_request = scope, find, of_request


_held: ContextVar[_Held | None] = ContextVar("tenancy", default=None)
outside = NOBODY
"""The scope of code that entered none. Tests that poke rows from outside any request change it, the product never."""


def wanted() -> VisibleTenants:
    """Return the scope that the next statement needs; the backend asks before each."""
    held = _held.get()
    if held is None:
        return outside
    if held.find is not None:
        find, held.find = held.find, None
        with crossing("who asks"):
            held.scope = find()
    return held.scope


@contextmanager
def _within(held: _Held) -> Generator[None]:
    token = _held.set(held)
    try:
        yield
    finally:
        _held.reset(token)


@contextmanager
def acting_for(tenant_id: UUID) -> Generator[None]:
    """See and write the rows of one tenant, whatever was seen before."""
    with _within(_Held(VisibleTenants(tenant_id))):
        yield


@contextmanager
def crossing(reason: str) -> Generator[None]:
    """See and write the rows of every tenant, for one of the reasons that CROSSINGS lists."""
    if reason not in CROSSINGS:
        raise LookupError(f"{reason!r} is no reason to cross tenants")
    with _within(_Held(EVERYBODY)):
        yield


@contextmanager
def answering(find: Callable[[], VisibleTenants]) -> Generator[None]:
    """Answer a request: nobody until `find` says who asks, which the first statement finds out."""
    with _within(_Held(NOBODY, find, of_request=True)):
        yield


def kept(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Keep this scope while an answer is sent piece by piece, after the request is over."""
    return _kept(_held.get(), iter(chunks))


def _kept(held: _Held | None, rest: Iterator[bytes]) -> Iterator[bytes]:
    while True:
        token = _held.set(held)
        try:
            chunk = next(rest)
        except StopIteration:
            return
        finally:
            _held.reset(token)
        yield chunk


def asked_by(tenant_id: UUID, guest: UUID | None = None) -> None:
    """Set the request's scope as soon as it is known other than by the session: by a token, or by signing in."""
    held = _held.get()
    if held is not None and held.of_request:
        held.scope, held.find = VisibleTenants(tenant_id, guest), None
