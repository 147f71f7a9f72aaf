"""A pretend office: the functions that the gallery's workflows call.

A host project registers its own functions, which use its own order book and personnel files. These return fixed data from
this file, so the gallery can be tried without any other system.
"""

from typing import Any

from engine.extensions.functions import BusinessError, workflow_function

ORDERS = {"A-1001": 240.0, "A-1002": 1000.0, "A-1003": 2490.0}
"""The order book: prices by order number."""
DAYS_LEFT = {"ada": 12, "adam": 25, "gwen": 8, "uri": 5}
"""The personnel files: days of vacation left, by person."""
ASKS_FIRST = frozenset({"gwen"})
"""People whose vacation is always reviewed, however many days are left."""


@workflow_function("find_order")
def find_order(*, order: str) -> dict[str, Any]:
    """Find an order, or fail with `not_found`."""
    if order not in ORDERS:
        raise BusinessError("not_found", f"There is no order {order}.")
    return {"order": order, "price": ORDERS[order]}


@workflow_function("fetch_vacation")
def fetch_vacation(*, employee: str) -> dict[str, Any]:
    """Return how many days an employee has left, or fail with `not_found`."""
    if employee not in DAYS_LEFT:
        raise BusinessError("not_found", f"There is no employee {employee}.")
    return {"left": DAYS_LEFT[employee], "special": employee in ASKS_FIRST}


@workflow_function("draft_reply")
def draft_reply(*, customer: str = "", conversation: str = "") -> str:
    """Write the first draft of an answer to a customer."""
    return f"Dear {customer or 'customer'}, thank you for your message: {conversation[:200]}"


@workflow_function("keep")
def keep(**record: Any) -> dict[str, Any]:
    """File a record: an archive, a balance, a publication."""
    return {"kept": True, **record}


@workflow_function("notify")
def notify(**message: Any) -> dict[str, Any]:
    """Send a notification."""
    return {"told": True, **message}
