"""OpenTelemetry, where it is installed: the enqueuer's trace goes on in the handler."""


def current_trace() -> str | None:
    """The W3C traceparent of the span that is open here, if any."""
    return None
