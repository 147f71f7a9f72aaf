"""Write logs as a fixed message with the facts apart: JSON lines in production, words at a person's terminal.

Facts are ids, counts and names of errors; payloads and secrets are never logged. What libraries and exceptions say of a call
is not ours to choose: while a call with secrets is under way, `hide_in_logs` hides them in every line that its thread writes.
"""

from collections.abc import Callable, MutableMapping
from contextvars import ContextVar
from typing import Any

import structlog

Hide = Callable[[str], str]
MOST_HIDDEN = 16
_hides: ContextVar[tuple[Hide, ...]] = ContextVar("hides", default=())


def hide_in_logs(hide: Hide) -> Callable[[], None]:
    """Pass every text that this thread logs through a function from now on; return what ends that."""
    before = _hides.get()
    _hides.set((*before, hide)[-MOST_HIDDEN:])

    def show_again() -> None:
        _hides.set(before)

    return show_again


def _hide_secrets(_logger: Any, _method: str, line: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    for hide in _hides.get():
        for name, value in line.items():
            text = value if isinstance(value, str) else repr(value)
            if name != "_record" and (shown := hide(text)) != text:
                line[name] = shown
    return line


SHARED: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.ExtraAdder(),
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.format_exc_info,
    _hide_secrets,
]


def configure_structlog() -> None:
    """Send structlog's messages through the standard library's handlers."""
    structlog.configure(
        processors=[*SHARED, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )


def logging_settings(*, level: str, for_people: bool) -> dict[str, Any]:
    """Return Django's LOGGING: one handler, one format for our own lines and everybody else's."""
    configure_structlog()
    last = structlog.dev.ConsoleRenderer(colors=False) if for_people else structlog.processors.JSONRenderer()
    quiet = {"level": "WARNING"}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "lines": {
                "()": structlog.stdlib.ProcessorFormatter,
                "processors": [structlog.stdlib.ProcessorFormatter.remove_processors_meta, last],
                "foreign_pre_chain": SHARED,
            }
        },
        "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "lines"}},
        "root": {"handlers": ["console"], "level": level},
        "loggers": {"axes": quiet, "rq.worker": quiet, "httpx": quiet},
    }
