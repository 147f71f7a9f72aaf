"""Report wrong settings before anything runs, each with a hint."""

from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.hashers import check_password
from django.core.checks import CheckMessage, Error, register
from django.core.checks import Warning as Doubt
from django.db import Error as DatabaseError
from django.db import ProgrammingError, connection

from engine.conf import SETTINGS, conf
from workflowplatform.accounts.backends import DEMO
from workflowplatform.accounts.models import User
from workflowplatform.database import tenancy
from workflowplatform.database.tenant_setting import SUFFIX
from workflowplatform.servers.demo_people import PEOPLE


@register()
def check_settings(**kwargs: Any) -> list[CheckMessage]:
    """Refuse values that a setting does not take."""
    return [Error(f"{one.variable} is {one.shown}.", hint=one.hint, id=one.check) for one in SETTINGS if one.is_wrong]


@register(deploy=True)
def check_redis(**kwargs: Any) -> list[CheckMessage]:
    """Refuse a Redis on another host to which anybody may speak, or whose password anybody may read on the way."""
    address = urlsplit(settings.REDIS_URL)
    if address.scheme == "unix" or _is_here(address.hostname or ""):
        return []
    lacking = [
        word for word, there in (("a password", address.password), ("TLS", address.scheme == "rediss")) if not there
    ]
    hint = "Use rediss://:PASSWORD@HOST/0, and let only this platform's hosts reach it."
    return [Error(f"REDIS_URL names another host without {lack}.", hint=hint, id="workflow.E010") for lack in lacking]


def _is_here(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@register(deploy=True)
def check_preload(**kwargs: Any) -> list[CheckMessage]:
    """Refuse a promise that browsers' lists do not take."""
    if settings.SECURE_HSTS_INCLUDE_SUBDOMAINS or not settings.SECURE_HSTS_PRELOAD:
        return []
    text = "SECURE_HSTS_PRELOAD is set and SECURE_HSTS_INCLUDE_SUBDOMAINS is not: browsers' lists take both or neither."
    hint = "Set both where every host of the domain is served over HTTPS for good, else unset SECURE_HSTS_PRELOAD."
    return [Error(text, hint=hint, id="workflow.E014")]


@register(deploy=True)
def check_mails(**kwargs: Any) -> list[CheckMessage]:
    """Warn where mails are sent that cannot say where to go."""
    if conf.public_url or not settings.EMAIL_URL_HOST:
        return []
    return [
        Doubt(
            "EMAIL_HOST is set and WORKFLOW_PUBLIC_URL is not: mails about tasks have no address to click.",
            hint="Set WORKFLOW_PUBLIC_URL to where people reach the product, such as https://workflow.example.com.",
            id="workflow.W001",
        )
    ]


@register(deploy=True)
def check_proxies(**kwargs: Any) -> list[CheckMessage]:
    """Warn where anybody who reaches the server may say that a request came over TLS."""
    if not settings.SECURE_PROXY_SSL_HEADER or conf.proxies:
        return []
    return [
        Doubt(
            "WORKFLOW_BEHIND_PROXY is set and WORKFLOW_PROXIES is not: everybody has the proxy's address and its limits.",
            hint="Set WORKFLOW_PROXIES to the proxy's network, such as 127.0.0.1 or 10.0.0.0/24.",
            id="workflow.W003",
        )
    ]


@register(deploy=True)
def check_audit_signing_key(**kwargs: Any) -> list[CheckMessage]:
    """Warn where hosts would sign roots and exports of the audit with keys of their own."""
    own = Path(conf.audit_signing_key).parent == Path(settings.DATA_DIR)
    if conf.hosts <= 1 or not own:
        return []
    return [
        Doubt(
            f"The product runs on {conf.hosts} hosts, and each makes a key of its own to sign the audit.",
            hint="Give all hosts the same key file and name it with WORKFLOW_AUDIT_SIGNING_KEY.",
            id="workflow.W013",
        )
    ]


@register(deploy=True)
def check_demo_people(**kwargs: Any) -> list[CheckMessage]:
    """Refuse a database in which a password of the demo works: everybody knows them."""
    try:
        with tenancy.crossing("operator"):
            people = list(User.objects.filter(username__in=[name for name, *_ in PEOPLE], is_active=True))
        known = [person.username for person in people if check_password(f"{DEMO}{person.username}", person.password)]
    except ProgrammingError:
        return []  # not migrated yet: nobody is there
    except DatabaseError:
        return [Doubt("Nobody could ask the database whether demo people are in it.", id="workflow.W004")]
    hint = "Deactivate them or give them another password; bin/up --no-demo makes none."
    return [Error(f"The password of the demo works for {name}.", hint=hint, id="workflow.E012") for name in known]


@register(deploy=True)
def check_shared_files(**kwargs: Any) -> list[CheckMessage]:
    """Warn where a file added on one host cannot be fetched on another."""
    if conf.hosts <= 1 or conf.shared_files:
        return []
    return [
        Doubt(
            f"The product runs on {conf.hosts} hosts, and files of tasks are kept on the host that took them.",
            hint="Let all hosts share the folder attachments/ in WORKFLOW_DATA, then set WORKFLOW_SHARED_FILES=1.",
            id="workflow.W002",
        )
    ]


ROLE_FACTS = f"""
SELECT rolname, rolsuper OR rolbypassrls, c.oid IS NOT NULL AND pg_has_role(r.oid, c.oid, 'MEMBER'),
  c.oid IS NOT NULL AND pg_has_role(r.oid, c.oid, 'USAGE')
FROM pg_roles r LEFT JOIN LATERAL (SELECT oid FROM pg_roles WHERE rolname = r.rolname || '{SUFFIX}') c ON true
WHERE r.rolname = session_user
"""
WALLS_HINT = "docs/operations.md, Two database roles, has the SQL."


@register(deploy=True)
def check_database_roles(**kwargs: Any) -> list[CheckMessage]:
    """Warn where the database itself does not keep tenants apart, since the product's role may see everything."""
    if not settings.DATABASE_URL:
        return []
    try:
        with connection.cursor() as cursor:
            cursor.execute(ROLE_FACTS)
            role, sees_all, may_cross, always_crosses = cursor.fetchone()
    except DatabaseError:
        return []  # one that does not answer is told of elsewhere
    if sees_all:
        message = f"The database role {role} bypasses row-level security."
        return [Doubt(message, hint=WALLS_HINT, id="workflow.W012")]
    if not may_cross:
        message = (
            f"The database role {role} owns the tables: filters alone keep tenants apart, the second wall is missing."
        )
        return [Doubt(message, hint=WALLS_HINT, id="workflow.W011")]
    if always_crosses:
        message = f"The database role {role} inherits from {role}{SUFFIX}, so it sees all tenants always."
        return [
            Error(
                message,
                hint=f"ALTER ROLE {role} NOINHERIT, then revoke and grant {role}{SUFFIX} again.",
                id="workflow.E011",
            )
        ]
    return []


WITHOUT_PARTITION = """
SELECT to_char(min(month), 'YYYY-MM') FROM generate_series(0, 1) n
CROSS JOIN LATERAL (SELECT date_trunc('month', clock_timestamp() AT TIME ZONE 'UTC') + make_interval(months => n) AS month) due
WHERE 2 > (SELECT count(DISTINCT root) FROM wf_months() WHERE low <= wf_month_start(month) AND high > wf_month_start(month))
"""
"""The first of this month and the next for which the audit or the events of tasks have no partition."""


@register(deploy=True)
def check_months(**kwargs: Any) -> list[CheckMessage]:
    """Warn where rows of this month or the next would be kept in the partition for all others."""
    try:
        with connection.cursor() as cursor:
            cursor.execute(WITHOUT_PARTITION)
            ((month,),) = cursor.fetchall()
    except DatabaseError:
        return []  # one that does not answer, or is not migrated, is told of elsewhere
    if month is None:
        return []
    message = (
        f"The audit or the events of tasks have no partition for {month}: that month's disk could not be given back."
    )
    hint = "Workers make partitions once a day; where WORKFLOW_RETENTION=0, run manage.py retention."
    return [Doubt(message, hint=hint, id="workflow.W013")]
