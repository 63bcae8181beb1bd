"""A parser that does what a crafted file might make a real one do. Runs in a capped child only."""

import os
import resource
import signal
import sys
import time

from penstock.console.files.refused import FileRefused

MB = 1024 * 1024


def serve(order, blob, send):
    match order["do"]:
        case "echo":
            send({"kind": "echo", "length": len(blob)}, blob)
        case "eat":
            eaten = [bytearray(MB) for _ in range(order["mb"])]
            send({"kind": "eaten", "mb": len(eaten)})
        case "abort":
            os.write(2, b"memory allocation of 1234567 bytes failed\n")
            os.abort()
        case "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "ended":
            os.kill(os.getpid(), signal.SIGTERM)
        case "hang":
            signal.pause()
        case "spin":
            while True:
                pass
        case "panic":
            raise KeyboardInterrupt("not an Exception")
        case "noise":
            print("x" * 500_000)
        case "talk":
            sys.stdout.write("to nobody\n")
            sys.stdout.flush()
            send({"kind": "talked"})
        case "refuse":
            raise FileRefused("no good.", "Do better.", row=7, column="sku")
        case "stream":
            for number in range(order["pieces"]):
                send({"kind": "piece", "number": number}, b"x" * MB)
        case "know":
            send({"kind": "known", "environment": dict(os.environ), "caps": _caps(), "session": os.getsid(0)})
        case "garbage":
            os.write(order["descriptor"], b"\xff" * 64)
            time.sleep(60)


def _caps():
    names = ("RLIMIT_AS", "RLIMIT_CPU", "RLIMIT_NOFILE", "RLIMIT_CORE", "RLIMIT_FSIZE")
    return {name: resource.getrlimit(getattr(resource, name))[0] for name in names}
