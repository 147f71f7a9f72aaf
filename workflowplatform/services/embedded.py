"""Start the embedded servers that the environment does not already name."""

from __future__ import annotations

from collections.abc import Mapping

from workflowplatform.services import paths
from workflowplatform.services.postgres import start_postgres
from workflowplatform.services.processes import Household
from workflowplatform.services.valkey import start_valkey


def start_missing_servers(
    household: Household, *, data: paths.DataFolder, environment: Mapping[str, str], careless: bool = False
) -> dict[str, str]:
    """Answer DATABASE_URL and REDIS_URL, of the environment's servers where it names them, else of our own."""
    addresses = {name: environment[name] for name in ("DATABASE_URL", "REDIS_URL") if environment.get(name)}
    if len(addresses) == 2:
        return addresses
    sockets = household.keep_folder(paths.make_socket_folder())
    if "REDIS_URL" not in addresses:
        addresses["REDIS_URL"] = start_valkey(household, data=data, sockets=sockets).url
    if "DATABASE_URL" not in addresses:
        addresses["DATABASE_URL"] = start_postgres(household, data=data, sockets=sockets, careless=careless).url
    return addresses
