"""Read DATABASE_URL: ``postgresql://user:password@host:port/name?host=/socket/folder&sslmode=require``."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

ENGINE = "workflowplatform.database"
# Settings must load before any database exists; an attempt to connect then shows this in its error.
NOWHERE = "/no database is known: start bin/up or set DATABASE_URL"
SCHEMES = frozenset({"postgres", "postgresql"})


def from_url(url: str) -> dict[str, Any]:
    """Turn a URL into Django's DATABASES entry; raise ValueError naming what is wrong, never the password."""
    if not url:
        return {"ENGINE": ENGINE, "NAME": "workflow", "HOST": NOWHERE}
    parts = urlsplit(url)
    if parts.scheme not in SCHEMES:
        raise ValueError("DATABASE_URL is not of PostgreSQL: write postgresql://user@host/name, or unset it.")
    if not parts.path.strip("/"):
        raise ValueError("DATABASE_URL names no database: write postgresql://user@host/name.")
    options = dict(parse_qsl(parts.query))
    entry: dict[str, Any] = {
        "ENGINE": ENGINE,
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": options.pop("host", "") or unquote(parts.hostname or ""),
        "PORT": options.pop("port", "") or str(parts.port or ""),
    }
    if options:
        entry["OPTIONS"] = options
    return entry


def socket_url(*, user: str, name: str, folder: str) -> str:
    """Write the URL of a database behind a unix socket."""
    return f"postgresql://{quote(user)}@/{quote(name)}?host={quote(folder)}"
