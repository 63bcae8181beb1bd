"""Handlers that do not end by themselves, where a process of its own can find them."""

import time


def sleeps_alone() -> None:
    time.sleep(60)
