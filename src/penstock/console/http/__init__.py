"""The HTTP service: FastAPI over the engine's own functions, for browsers, scripts and other services."""
