"""Read the WORKFLOW_* settings: the only module of the engine and the inbox that does.

Each setting says once what it is for and which values it takes. `conf.drain_batch` is an `int`, read from Django's settings
at that moment, so that tests can override it. workflowplatform/settings.py reads the environment and has the defaults;
engine/checks.py refuses wrong values; the table in docs/operations.md is written from here (`python -m tests.settings_table`).
"""

from collections.abc import Callable, Sequence
from typing import Any, Generic, Self, TypeVar, overload
from urllib.parse import urlsplit

from django.conf import settings

Value = TypeVar("Value")

LEAST_WEB_MEMORY = 256
"""Megabytes; a web process holds about half of that as soon as it has drawn its first pages."""
SECRETS = {"WORKFLOW_AUDIT_KEY", "WORKFLOW_OWNER_DATABASE_URL"}


class Setting(Generic[Value]):
    """Describe one setting; on an instance of `Conf` it is the setting's value."""

    def __init__(
        self, about: str, *, fits: Callable[[Any], bool], hint: str, variable: str = "", check: str = "workflow.E002"
    ) -> None:
        self.about, self.hint, self.variable, self.check = about, hint, variable, check
        self.name = ""
        self._fits = fits

    def __set_name__(self, owner: type, name: str) -> None:
        """Take the name of the setting from the attribute, and of its environment variable where it has no other."""
        self.name = f"WORKFLOW_{name.upper()}"
        self.variable = self.variable or self.name

    @overload
    def __get__(self, conf: None, owner: type) -> Self: ...
    @overload
    def __get__(self, conf: object, owner: type) -> Value: ...
    def __get__(self, conf: object, owner: type) -> Self | Value:
        """Return the current value, or this description where the class is asked."""
        return self if conf is None else getattr(settings, self.name)

    @property
    def is_wrong(self) -> bool:
        """Whether the current value is not allowed."""
        return not self._fits(getattr(settings, self.name))

    @property
    def shown(self) -> str:
        """The current value, for an operator's eyes; dots instead of a secret."""
        return "…" if self.variable in SECRETS else repr(getattr(settings, self.name))


def _whole(about: str, *, least: int = 1, hint: str = "Use a whole number above zero.") -> Setting[int]:
    return Setting(about, fits=lambda value: _is_number(value, int) and value >= least, hint=hint)


def _whole_or_none(about: str) -> Setting[int]:
    return _whole(about, least=0, hint="Use a whole number above zero, or 0 for no limit.")


def _whole_from_zero(about: str) -> Setting[int]:
    return _whole(about, least=0, hint="Use zero or a whole number above it.")


def _number(about: str) -> Setting[float]:
    def fits(value: Any) -> bool:
        return _is_number(value, int | float) and value > 0

    return Setting(about, fits=fits, hint="Use a number above zero.")


def _number_from_zero(about: str) -> Setting[float]:
    def fits(value: Any) -> bool:
        return _is_number(value, int | float) and value >= 0

    return Setting(about, fits=fits, hint="Use zero or a number above it.")


def _is_number(value: Any, kind: Any) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


def _flag(about: str) -> Setting[bool]:
    return Setting(about, fits=lambda value: isinstance(value, bool), hint="Use 1 or 0.")


def _choice(about: str, *choices: str, check: str) -> Setting[str]:
    return Setting(about, fits=lambda value: value in choices, hint=f"Use one of: {', '.join(choices)}.", check=check)


def _text(about: str, *, may_be_empty: bool = False, variable: str = "") -> Setting[str]:
    return Setting(
        about,
        fits=lambda value: isinstance(value, str) and (may_be_empty or bool(value)),
        hint="Use text." if may_be_empty else "Use text that is not empty.",
        variable=variable,
    )


def _words(
    about: str,
    *,
    fits: Callable[[str], bool] = bool,
    hint: str = "Use text, with commas between entries.",
    variable: str = "",
) -> Setting[Sequence[str]]:
    def all_fit(value: Any) -> bool:
        return isinstance(value, list | tuple) and all(isinstance(word, str) and fits(word) for word in value)

    return Setting(about, fits=all_fit, hint=hint, variable=variable)


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


class Conf:
    """List every setting of the product; `conf` reads their values."""

    dispatcher = _choice(
        "how workers learn of work: `rq` wakes them over Redis, `immediate` works in the process that commits",
        "rq",
        "immediate",
        check="workflow.E001",
    )
    functions = _words("modules that register functions, decorators and step kinds when they are imported")
    http_allow = _words(
        "private origins that workflows may call",
        fits=_is_origin,
        hint="Use origins such as http://10.0.0.5:8080, with commas between them.",
    )
    public_url = _text("where people reach the product; mails link to it", may_be_empty=True)
    startup_validation = _choice(
        "what to do if an active version does not fit this release: `strict` refuses to start, `warn` marks it unavailable",
        "strict",
        "warn",
        check="workflow.E003",
    )
    health_details = _flag("whether `health/` shows its details to everybody")

    token_days = _whole_or_none("days until a token expires if its maker sets no date; 0: the longest allowed")
    token_most_days = _whole_or_none(
        "days until a token expires at the latest; 0: tokens may last until they are revoked"
    )
    tokens_per_person = _whole("tokens that one person may have")
    token_requests = _whole_or_none("REST requests per minute and token; 0: any number")
    tenant_requests = _whole_or_none("REST requests per minute and tenant; 0: any number")
    redis_prefix = _text(
        "put before the keys that count requests, where several products share a Redis", may_be_empty=True
    )

    hosts = _whole("hosts that run the web or workers")
    shared_files = _flag("whether all hosts share the folder `attachments/`")
    largest_upload = _whole("bytes of all files of one form together")

    webhook_failures = _whole("failed tries in a row after which a webhook is disabled")
    webhook_patience_hours = _number_from_zero("hours over which these tries must have failed")
    webhook_keep_days = _whole("days for which the log of a finished delivery is kept")

    streams = _whole_from_zero("streams that may be open in one web process")
    streams_per_person = _whole_from_zero("streams of one person among them")
    stream_check_seconds = _number(
        "seconds for which a stream outlives the session, token, level or role that opened it"
    )

    poison_attempts = _whole("tries after which a signal that fails, or kills its worker, becomes a dead letter")
    worker_memory = _whole_or_none("megabytes beyond which a worker is killed; 0: any number")
    worker_seconds = _number("seconds for which a worker may work on the same thing before it is killed")
    web_memory = Setting[int](
        "megabytes that a web process stays below: at four fifths of them another takes its place; 0: any number",
        fits=lambda value: _is_number(value, int) and (value == 0 or value >= LEAST_WEB_MEMORY),
        hint="Use 256 or more megabytes, or 0 for no limit.",
    )
    drain_batch = _whole("instances that a worker claims at once")
    wake_seconds = _number("seconds after which a worker looks for work although nothing woke it")
    late_seconds = _number("seconds for which work may be due while no worker looks, before the health says `down`")
    stop_seconds = _number_from_zero("seconds for which a worker that is told to stop waits for its calls")
    turn_seconds = _number("seconds of one transaction for a tenant that used much of a worker's time lately")
    long_turns = _whole("workers that may work at once on tenants whose single instances take longer than a turn")

    slice_steps = _whole("steps of one slice; the rest follows in another")
    slice_seconds = _number("seconds of one slice; the rest follows in another")
    transaction_starts = _whole("instances that start in one transaction; others are queued")
    transaction_steps = _whole("steps of one transaction; the rest is queued")
    transaction_seconds = _number("seconds of one transaction; the rest is queued")
    largest_state = _whole_or_none("characters of JSON that one instance may keep; 0: any number")
    most_descendants = _whole(
        "instances that may come of one: its children, theirs, and what they start without a wait"
    )
    longest_chain = _whole("instances that may start one another without a wait in between")

    diagrams = _flag("whether workers lay out diagrams; without them pages and REST show the outline")
    retention = _flag("whether workers run retention once a day")

    audit_keys = _words(
        "keys of the audit's chain, comma-separated: the first hashes, the others only verify; none: one made from `SECRET_KEY`",
        variable="WORKFLOW_AUDIT_KEY",
    )
    audit_signing_key = _text("the file of the key that signs roots and exports; made where it is absent")
    audit_roots = _flag("whether workers sign where all chains of the audit end")
    audit_root_hours = _number("hours between two such roots")
    audit_root_dir = _text("the folder that keeps the roots")
    audit_root_mail = _words(
        "mail addresses that get each root",
        fits=lambda word: "@" in word,
        hint="Use mail addresses, with commas between them.",
    )
    audit_root_url = Setting[str](
        "an address that gets each root by POST",
        fits=lambda value: value == "" or _is_web_address(value),
        hint="Use an address such as https://archive.example.com/roots, or none.",
    )
    push_key = _text("the file of the key that signs push messages; made where it is absent")
    metrics_dir = _text(
        "the folder where the processes of this host keep their figures", variable="PROMETHEUS_MULTIPROC_DIR"
    )

    prepare = _flag("whether statements are prepared on the server; 0 behind a pgbouncer older than 1.21")
    hot_path = _flag("whether acts use the short way to the database; 0 runs the same statements over Django's cursors")
    pooled = _flag("whether a pooler in transaction mode is used")
    pool_size = _whole_or_none(
        "connections that one web process keeps; the web's own default is 20; 0: one for each thread, as in workers"
    )
    pool_patience = _number("seconds for which a request waits for one of them")
    pool_line = _whole("requests that may wait for them; others are refused at once")
    proxies = _words("networks of your proxies, comma-separated, such as `127.0.0.1,10.0.0.0/24`, or `unix`")
    owner_database_url = _text("the database as the owner of its tables, for `manage.py migrate`", may_be_empty=True)
    application_role = _text(
        "the database role that `manage.py migrate` gives the application's rights to", may_be_empty=True
    )


SETTINGS: tuple[Setting[Any], ...] = tuple(one for one in vars(Conf).values() if isinstance(one, Setting))
conf = Conf()
