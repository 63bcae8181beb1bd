"""OpenTelemetry, where it is installed: the enqueuer's trace goes on in the handler.

Without the extra (`pip install penstock[otel]`) both functions do nothing and cost nothing.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from penstock.core.context import Context
from penstock.core.define import StageDefinition

try:
    from opentelemetry import context as otel_context
    from opentelemetry import propagate, trace
except ImportError:  # pragma: no cover - the tests run with the extra
    INSTALLED = False
else:
    INSTALLED = True

Call = Callable[[Any, dict[str, Any]], Awaitable[Any]]


def current_trace() -> str | None:
    """The W3C traceparent of the span that is open here, if any."""
    if not INSTALLED or not trace.get_current_span().get_span_context().is_valid:
        return None
    carrier: dict[str, str] = {}
    propagate.inject(carrier)
    return carrier.get("traceparent")


def tracing_enabled() -> bool:
    """Whether somebody set up a tracer provider; the default one records nothing."""
    return INSTALLED and not isinstance(
        trace.get_tracer_provider(), trace.ProxyTracerProvider | trace.NoOpTracerProvider
    )


def traced(call: Call, definition: StageDefinition) -> Call:
    """The same call inside a span that continues the enqueuer's trace."""
    tracer = trace.get_tracer("penstock")
    name = f"{definition.pipeline}/{definition.name}"

    async def call_in_span(context: Context, values: dict[str, Any]) -> Any:
        parent = propagate.extract({"traceparent": context.trace}) if context.trace else otel_context.get_current()
        attributes: dict[str, str | int] = {
            "penstock.task_id": context.task_id,
            "penstock.attempt": context.attempt,
            "penstock.stage": name,
        }
        with tracer.start_as_current_span(name, context=parent, kind=trace.SpanKind.CONSUMER, attributes=attributes):
            return await call(context, values)

    return call_in_span
