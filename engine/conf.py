"""Read the WORKFLOW_* settings: with workflowplatform/conf.py, on which it builds, the only module that does.

Each setting says once what it is for and which values it takes. `conf.drain_batch` is an `int`, read from Django's settings
at that moment, so that tests can override it. workflowplatform/settings.py reads the environment and has the defaults;
engine/checks.py refuses wrong values; the table in docs/operations.md is written from here (`python -m tests.settings_table`).
"""

from typing import Any
from urllib.parse import urlsplit

from workflowplatform import conf as project
from workflowplatform.conf import (
    Setting,
    choice,
    flag,
    number,
    number_from_zero,
    text,
    whole,
    whole_from_zero,
    whole_or_none,
    words,
)

LEAST_WEB_MEMORY = 256
"""Megabytes; a web process holds about half of that as soon as it has drawn its first pages."""


def _is_origin(word: str) -> bool:
    try:
        parts = urlsplit(word)
        _ = parts.port  # raises where it is no number
    except ValueError:
        return False
    rest = parts.path.strip("/") or parts.query or parts.fragment or parts.username
    return parts.scheme in {"http", "https"} and bool(parts.hostname) and not rest


def _is_web_address(word: str) -> bool:
    try:
        parts = urlsplit(word)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname)


class Conf(project.Conf):
    """List every setting of the product; `conf` reads their values."""

    dispatcher = choice(
        "how workers learn of work: `rq` wakes them over Redis, `immediate` works in the process that commits",
        "rq",
        "immediate",
        check="workflow.E001",
    )
    functions = words("modules that register functions, decorators and step kinds when they are imported")
    http_allow = words(
        "private origins that workflows may call",
        fits=_is_origin,
        hint="Use origins such as http://10.0.0.5:8080, with commas between them.",
    )
    startup_validation = choice(
        "what to do if an active version does not fit this release: `strict` refuses to start, `warn` marks it unavailable",
        "strict",
        "warn",
        check="workflow.E003",
    )
    health_details = flag("whether `health/` shows its details to everybody")

    token_days = whole_or_none("days until a token expires if its maker sets no date; 0: the longest allowed")
    token_most_days = whole_or_none(
        "days until a token expires at the latest; 0: tokens may last until they are revoked"
    )
    tokens_per_person = whole("tokens that one person may have")
    token_requests = whole_or_none("REST requests per minute and token; 0: any number")
    tenant_requests = whole_or_none("REST requests per minute and tenant; 0: any number")
    redis_prefix = text(
        "put before the keys that count requests, where several products share a Redis", may_be_empty=True
    )

    hosts = whole("hosts that run the web or workers")
    shared_files = flag("whether all hosts share the folder `attachments/`")

    webhook_failures = whole("failed tries in a row after which a webhook is disabled")
    webhook_patience_hours = number_from_zero("hours over which these tries must have failed")
    webhook_keep_days = whole("days for which the log of a finished delivery is kept")

    streams = whole_from_zero("streams that may be open in one web process")
    streams_per_person = whole_from_zero("streams of one person among them")
    stream_check_seconds = number(
        "seconds for which a stream outlives the session, token, level or role that opened it"
    )

    poison_attempts = whole("tries after which a signal that fails, or kills its worker, becomes a dead letter")
    worker_memory = whole_or_none("megabytes beyond which a worker is killed; 0: any number")
    worker_seconds = number("seconds for which a worker may work on the same thing before it is killed")
    web_memory = Setting[int](
        "megabytes that a web process stays below: at four fifths of them another takes its place; 0: any number",
        fits=lambda value: type(value) is int and (value == 0 or value >= LEAST_WEB_MEMORY),
        hint="Use 256 or more megabytes, or 0 for no limit.",
    )
    drain_batch = whole("instances that a worker claims at once")
    wake_seconds = number("seconds after which a worker looks for work although nothing woke it")
    late_seconds = number("seconds for which work may be due while no worker looks, before the health says `down`")
    stop_seconds = number_from_zero("seconds for which a worker that is told to stop waits for its calls")
    turn_seconds = number("seconds of one transaction for a tenant that used much of a worker's time lately")
    long_turns = whole("workers that may work at once on tenants whose single instances take longer than a turn")

    slice_steps = whole("steps of one slice; the rest follows in another")
    slice_seconds = number("seconds of one slice; the rest follows in another")
    transaction_starts = whole("instances that start in one transaction; others are queued")
    transaction_steps = whole("steps of one transaction; the rest is queued")
    transaction_seconds = number("seconds of one transaction; the rest is queued")
    largest_state = whole_or_none("characters of JSON that one instance may keep; 0: any number")
    most_descendants = whole("instances that may come of one: its children, theirs, and what they start without a wait")
    longest_chain = whole("instances that may start one another without a wait in between")

    diagrams = flag("whether workers lay out diagrams; without them pages and REST show the outline")
    retention = flag("whether workers run retention once a day")

    audit_keys = words(
        "keys of the audit's chain, comma-separated: the first hashes, the others only verify; none: one made from `SECRET_KEY`",
        variable="WORKFLOW_AUDIT_KEY",
    )
    audit_signing_key = text("the file of the key that signs roots and exports; made where it is absent")
    audit_roots = flag("whether workers sign where all chains of the audit end")
    audit_root_hours = number("hours between two such roots")
    audit_root_dir = text("the folder that keeps the roots")
    audit_root_mail = words(
        "mail addresses that get each root",
        fits=lambda word: "@" in word,
        hint="Use mail addresses, with commas between them.",
    )
    audit_root_url = Setting[str](
        "an address that gets each root by POST",
        fits=lambda value: value == "" or _is_web_address(value),
        hint="Use an address such as https://archive.example.com/roots, or none.",
    )
    push_key = text("the file of the key that signs push messages; made where it is absent")
    metrics_dir = text(
        "the folder where the processes of this host keep their figures", variable="PROMETHEUS_MULTIPROC_DIR"
    )

    prepare = flag("whether statements are prepared on the server; 0 behind a pgbouncer older than 1.21")
    hot_path = flag("whether acts use the short way to the database; 0 runs the same statements over Django's cursors")
    pooled = flag("whether a pooler in transaction mode is used")
    pool_size = whole_or_none(
        "connections that one web process keeps; the web's own default is 20; 0: one for each thread, as in workers"
    )
    pool_patience = number("seconds for which a request waits for one of them")
    pool_line = whole("requests that may wait for them; others are refused at once")


SETTINGS: tuple[Setting[Any], ...] = tuple(
    one for half in (Conf, project.Conf) for one in vars(half).values() if isinstance(one, Setting)
)
conf = Conf()
