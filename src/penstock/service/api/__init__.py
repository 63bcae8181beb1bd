"""The routes, one module per noun. Each has ``router``; those listed here are served."""

from fastapi import APIRouter

from penstock.service.api import me


def routers() -> tuple[APIRouter, ...]:
    return (me.router,)
