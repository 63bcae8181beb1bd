"""The routes, one module per noun. Each has ``router``; those listed here are served."""

from fastapi import APIRouter

from penstock.console.http import login
from penstock.console.http.routes import (
    audit,
    dead_letters,
    dead_messages,
    errors,
    exports,
    health,
    ingestion,
    items,
    job_story,
    jobs,
    limits,
    me,
    overview,
    schedules,
    selections,
    settings,
    stages,
    stream,
    submit,
    tasks,
    uploads,
    users,
    workers,
)


def routers() -> tuple[APIRouter, ...]:
    return (
        login.router(),
        submit.pipelines,
        uploads.router,
        submit.router,
        jobs.router,
        job_story.router,
        items.router,
        selections.router,
        ingestion.router,
        exports.router,
        me.router,
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
