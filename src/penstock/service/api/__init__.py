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
    history,
    ingestion,
    items,
    job_story,
    jobs,
    limits,
    me,
    overview,
    schedules,
    selections,
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
        job_story.router,
        items.router,
        selections.router,
        ingestion.router,
        exports.router,
        me.router,
        tokens.router,
        users.router,
        audit.router,
        overview.router,
        history.router,
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
