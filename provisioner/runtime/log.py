"""The daemon's log: one line an event on stderr, as text for people on a terminal and as JSON elsewhere. It decides
nothing."""

import sys

import structlog


def open_log(*, verbose: bool) -> structlog.stdlib.BoundLogger:
    """The root logger; parts bind their own names to it. It is passed in, never looked up."""
    level = 10 if verbose else 20
    renderer = (
        structlog.dev.ConsoleRenderer(colors=True) if sys.stderr.isatty() else structlog.processors.JSONRenderer()
    )
    logger: structlog.stdlib.BoundLogger = structlog.wrap_logger(
        structlog.PrintLogger(sys.stderr),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        cache_logger_on_first_use=False,
    )
    return logger
