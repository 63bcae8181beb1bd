"""The PostgreSQL that Penstock brings along, for everybody who has not set ``PENSTOCK_DATABASE_URL``.

Several Penstock processes share one server per home folder. The first to arrive starts it, the last to leave
stops it, and kernel locks do the counting, so that a ``kill -9`` of anybody leaves nothing to repair by hand.

    server         acquire and release: who uses the server, who starts it, who stops it
    home           the folder everything lives in, and where its socket goes
    account        the operating-system user the server runs as
    installation   where the binaries are, and a copy of them when that user cannot read them
    cluster        the data folder: created once, checked, its files and settings written before every start
    postmaster     the server process: find, start, ask the way a client does, wait for, stop
    processes      what the operating system knows about a process
    locks          file locks that wait for a bounded time
"""

from .home import default_home
from .installation import binaries
from .server import EmbeddedServer, acquire

__all__ = ["EmbeddedServer", "acquire", "binaries", "default_home"]
