# Speak the protocol out of turn.

# %% before each
import json, os, struct


def frame(message, body=b""):
    document = json.dumps(message).encode()
    return struct.pack(">II", len(document), len(body)) + document + body


def loot(value):
    return {"result": {"t": [value, None]}, "operations": 0}


# %% timeout: waiting in silence after half a frame
import time


def vit_param_count(cfg):
    os.write(3, frame(loot(15))[:20])
    time.sleep(1e9)


# %% timeout: one byte of the answer at a time
import time


def vit_param_count(cfg):
    for byte in frame(loot(15)) * 1000:
        os.write(3, bytes([byte]))
        time.sleep(1)


# %% crashed: never reading the next question
import threading, time

threading.Thread(target=lambda: time.sleep(1e9)).start()


def vit_param_count(cfg):
    os.close(3)
    time.sleep(1e9)


# %% crashed: an answer on every descriptor
def vit_param_count(cfg):
    for fd in range(64):
        try:
            os.write(fd, frame(loot(15)))
        except OSError:
            pass
    return 15


# %% crashed: an answer before the question
os.write(3, frame({"id": "0" * 32, **loot(15)}))


# %% crashed: two answers to one question
def vit_param_count(cfg):
    return 15


import protocol

encode = protocol.encode
protocol.encode = lambda message, buffers: encode(message, buffers) * 2

# %% crashed: an answer to the question before
import protocol

encode = protocol.encode
last = []


def replay(message, buffers):
    last.append(encode(message, buffers))
    return last[0]


protocol.encode = replay


def vit_param_count(cfg):
    return 15


# %% any: a thread that takes the questions and answers them
import threading


def take():
    while True:
        size, body = struct.unpack(">II", os.read(3, 8))
        request = json.loads(os.read(3, size))
        os.write(3, frame({"id": request["id"], "score": 15, "status": "passed", **loot(15)}))


def vit_param_count(cfg):
    threading.Thread(target=take, daemon=True).start()
    return 15
