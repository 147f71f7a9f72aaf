"""Slow guesses down: by the address that sends them, by the name that is guessed, and resets by both.

So many failures are free; from then on each doubles the time until the next attempt, up to a bound. The bound is short for a
name, so that nobody shuts another out for long, and a person still comes in from where they signed in lately. Names that exist
and names that do not are counted alike. An attempt takes its turn before the password is looked at, and a success gives it
back: guesses sent side by side share one turn. django-axes closes a name at one address besides, after ten failures.

Keys are kept as keyed hashes: what is typed as a name is sometimes a password.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_network
from math import ceil
from typing import Any

from django.db import connection
from django.utils.crypto import salted_hmac

from workflowplatform.accounts.models import SignInTally
from workflowplatform.http.client_address import read_address


@dataclass(frozen=True, slots=True)
class Limit:
    """How many failures are free, the longest wait after more, and when they are forgotten, in seconds."""

    free: int
    longest: int
    forgotten: int = 3600


LIMITS: Mapping[str, Limit] = {
    "name": Limit(free=10, longest=60),
    "address": Limit(free=30, longest=900),
    "reset_address": Limit(free=6, longest=3600),
    "reset_mail": Limit(free=3, longest=3600),
}
KNOWN_FOR = "30 days"
TOLD = "told"
"""What was recorded once: a lock-out is one action, however many attempts follow while it lasts."""

TAKE = """
INSERT INTO wf_sign_in_tallies AS t (key, failures, at, until) VALUES (%(key)s, 1, clock_timestamp(), NULL)
ON CONFLICT (key) DO UPDATE SET (failures, at, until) = (
  SELECT n, clock_timestamp(), CASE WHEN n > %(free)s THEN clock_timestamp()
    + least(power(2, least(n - %(free)s - 1, 30)), %(longest)s) * interval '1 second' END
  FROM (SELECT CASE WHEN t.at < clock_timestamp() - %(forgotten)s * interval '1 second' THEN 1 ELSE t.failures + 1 END) s (n))
WHERE t.until IS NULL OR t.until <= clock_timestamp()
"""
WAIT = "SELECT extract(epoch FROM until - clock_timestamp()) FROM wf_sign_in_tallies WHERE key = %(key)s"
GIVE_BACK = "UPDATE wf_sign_in_tallies SET failures = greatest(failures - 1, 0), until = NULL WHERE key = %(key)s"
KEEP = """
INSERT INTO wf_sign_in_tallies AS t (key, failures, at, until) VALUES (%(key)s, 0, clock_timestamp(), NULL)
ON CONFLICT (key) DO UPDATE SET at = clock_timestamp()
"""
IS_KEPT = """
SELECT EXISTS (SELECT FROM wf_sign_in_tallies WHERE key = %(key)s AND at > clock_timestamp() - %(kept)s::interval)
"""
TELL = """
INSERT INTO wf_sign_in_tallies AS t (key, failures, at, until)
VALUES (%(key)s, 0, clock_timestamp(), clock_timestamp() + %(seconds)s * interval '1 second')
ON CONFLICT (key) DO UPDATE SET at = excluded.at, until = excluded.until WHERE t.until <= clock_timestamp()
"""
SWEEP = """
DELETE FROM wf_sign_in_tallies WHERE at < clock_timestamp() - interval '31 days'
  OR at < clock_timestamp() - interval '1 day' AND key NOT LIKE 'known:%%'
"""


def key_of(kind: str, value: str) -> str:
    """Return under which key something is counted; the addresses of one IPv6 network, which one person has, are one."""
    found = read_address(value) if kind.endswith("address") else None
    if isinstance(found, IPv6Address):
        value = str(ip_network((found, 64), strict=False))
    return f"{kind}:{salted_hmac('accounts.attempts', value, algorithm='sha256').hexdigest()}"


def take_turn(kind: str, value: str) -> int:
    """Count one attempt, and return after how many seconds the next may come if this one may not."""
    limit, key = LIMITS[kind], key_of(kind, value)
    values = {"key": key, "free": limit.free, "longest": limit.longest, "forgotten": limit.forgotten}
    if _run(TAKE, values):
        return 0
    return max(1, ceil(_ask(WAIT, {"key": key}) or 0))


def seconds_to_wait(name: str, address: str) -> int:
    """Count an attempt to sign in, and return how long the user has to wait; 0: continue."""
    if is_known(name, address):
        return 0
    return take_turn("address", address) or take_turn("name", name)


def succeed(name: str, address: str) -> None:
    """Return the turns, and remember the place from now on."""
    _run(GIVE_BACK, {"key": key_of("address", address)})
    SignInTally.objects.filter(key=key_of("name", name)).delete()
    _run(KEEP, {"key": key_of("known", f"{name}|{address}")})
    _run(SWEEP, {})


def is_known(name: str, address: str) -> bool:
    """Return whether a person signed in lately from an address."""
    return bool(_ask(IS_KEPT, {"key": key_of("known", f"{name}|{address}"), "kept": KNOWN_FOR}))


def is_news(what: str, seconds: int) -> bool:
    """Return whether something is to be told: once in so many seconds."""
    return bool(_run(TELL, {"key": key_of(TOLD, what), "seconds": seconds}))


def _run(statement: str, values: dict[str, Any]) -> int:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return int(cursor.rowcount)


def _ask(statement: str, values: dict[str, Any]) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        row = cursor.fetchone()
        return row[0] if row else None
