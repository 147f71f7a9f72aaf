"""Write logs as a fixed message with the facts apart: JSON lines in production, words at a person's terminal.

Facts are ids, counts and names of errors; payloads and secrets never stand in a log.
"""

from typing import Any

import structlog

SHARED: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.ExtraAdder(),
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.format_exc_info,
]


def configure_structlog() -> None:
    """Let structlog's loggers pass through the standard library's handlers."""
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
