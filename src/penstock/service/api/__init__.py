"""The routes, one module per noun. Each has ``router``; those listed here are served."""

from fastapi import APIRouter

from penstock.service import login
from penstock.service.api import (
    audit,
    dead_letters,
    dead_messages,
    errors,
    exports,
    health,
    ingestion,
    items,
    jobs,
    limits,
    me,
    overview,
    pipelines,
    schedules,
    stages,
    stream,
    submit,
    tasks,
    tokens,
    uploads,
    users,
    workers,
)


def routers() -> tuple[APIRouter, ...]:
    return (
        login.router(),
        pipelines.router,
        uploads.router,
        submit.router,
        jobs.router,
        items.router,
        ingestion.router,
        exports.router,
        me.router,
        tokens.router,
        users.router,
        audit.router,
        overview.router,
        stages.router,
        workers.router,
        limits.router,
        schedules.router,
        dead_messages.router,
        dead_letters.router,
        errors.router,
        tasks.router,
        stream.router,
        health.router,
    )
