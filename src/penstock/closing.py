"""Closing a listening socket without losing a connection that arrives in the same moment."""

import asyncio


async def stop_listening(server: asyncio.Server) -> None:
    """Close ``server``; when this returns, the handler of every accepted connection has begun.

    Before Python 3.12 a connection that was accepted, and not yet handed over when the server closed, stayed open for
    ever: nobody knew of it. So nothing is accepted from here on, and what was accepted is handed over first.
    """
    loop = asyncio.get_running_loop()
    for listening in server.sockets:
        loop.remove_reader(listening.fileno())
    try:
        for _ in range(3):  # one round of the loop for its transport, one for its protocol, one for its handler
            await asyncio.sleep(0)
    finally:
        server.close()
