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
    own_sessions,
    passwords,
    schedules,
    settings,
    stages,
    stream,
    submit,
    tasks,
    tokens,
    users,
    workers,
)


def routers() -> tuple[APIRouter, ...]:
    return (
        login.router(),
        submit.router,
        jobs.router,
        items.router,
        ingestion.router,
        exports.router,
        me.router,
        tokens.router,
        passwords.router,
        own_sessions.router,
        settings.router,
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
