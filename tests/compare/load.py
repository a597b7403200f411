"""Sends records to the server, over again where the connection broke, and asks how many it kept."""
import json
import os
import socket
import sys
import time

SENT = 2000


def connect():
    for _ in range(200):
        try:
            return socket.create_connection(("127.0.0.1", int(os.environ["COMPARE_PORT"])))
        except OSError:
            time.sleep(0.05)
    sys.exit("the server does not answer")


if sys.argv[1:] == ["ready"]:
    socket.create_connection(("127.0.0.1", int(os.environ["COMPARE_PORT"])))
    sys.exit()
begin = time.perf_counter()
consumed = None
for attempt in range(3):
    try:
        stream = connect().makefile("rw")
        for number in range(SENT):
            stream.write(f"{number}\n")
        stream.write("how many\n")
        stream.flush()
        consumed = int(stream.readline())
        break
    except (OSError, ValueError) as error:
        print("again:", error, file=sys.stderr)
rate = SENT / (time.perf_counter() - begin)
print(json.dumps({"counts": {"sent": SENT, "consumed": consumed or 0}, "metrics": {"records_per_second": rate}}))
