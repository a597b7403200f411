"""A server that keeps records, well or badly, as its folder's file `mode` says."""
import os
import signal
import socket
import sys
import time

mode = open("mode").read().strip()


def serve(is_first):
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", int(os.environ["COMPARE_PORT"])))
    listener.listen()
    kept = 0
    while True:
        connection, _ = listener.accept()
        stream = connection.makefile("rw")
        for line in stream:
            number = int(line) if line.strip().isdigit() else None
            if number is not None:
                if mode == "hang" and number == 500:
                    time.sleep(600)
                if mode == "restart" and number == 500 and is_first:
                    os._exit(1)
                if not (mode == "lose" and number % 1000 == 999):
                    kept += 1
            else:
                stream.write(f"{kept}\n")
                stream.flush()
                kept = 0


if mode == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
with open(os.path.join(os.environ["COMPARE_DATA"], "pid"), "w") as file:
    file.write(str(os.getpid()))
if mode != "restart":
    serve(True)
is_first = True
while True:
    child = os.fork()
    if child == 0:
        serve(is_first)
    os.waitpid(child, 0)
    is_first = False
