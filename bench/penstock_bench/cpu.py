"""CPU time a drain takes, at the client and in the server: what is left to compare when a machine is busy."""

from dataclasses import dataclass

import psutil

from penstock_bench import statements as bench
from penstock_bench.ground import Site


@dataclass(frozen=True, slots=True, kw_only=True)
class Cpu:
    """``server_seconds`` is None where the server is not a process of ours to look at."""

    client_seconds: float
    server_seconds: float | None

    def __sub__(self, before: "Cpu") -> "Cpu":
        if self.server_seconds is None or before.server_seconds is None:
            server = None
        else:
            server = self.server_seconds - before.server_seconds
        return Cpu(client_seconds=self.client_seconds - before.client_seconds, server_seconds=server)

    @property
    def seconds(self) -> float | None:
        return None if self.server_seconds is None else self.client_seconds + self.server_seconds


async def used(site: Site, *clients: int) -> Cpu:
    """So far, by the processes of these ids and by everybody who works for this database now."""
    server = sum([_seconds(pid) for pid in await bench.backends(site.connection)]) if site.ground.embedded else None
    return Cpu(client_seconds=sum(map(_seconds, clients)), server_seconds=server)


def _seconds(pid: int) -> float:
    try:
        times = psutil.Process(pid).cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    return float(times.user + times.system)
