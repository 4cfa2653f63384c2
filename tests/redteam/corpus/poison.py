# Harm the worker, or the next student through it.

# %% graded: killing the process above
import os


def vit_param_count(cfg):
    for pid in (1, os.getppid(), -1, 0):
        for number in (9, 15, 19):
            try:
                os.kill(pid, number)
            except OSError:
                pass
    return 0


# %% any: killing it below Python
import ctypes


def vit_param_count(cfg):
    libc = ctypes.CDLL(None)
    for number in (62, 200, 234, 129, 297, 424, 434):
        libc.syscall(number, 1, 1, 9)
    libc.raise_(9) if hasattr(libc, "raise_") else getattr(libc, "raise")(9)
    return 0


# %% crashed: a changed library
def vit_param_count(cfg):
    import numpy, math

    numpy.prod = math.prod = sum = lambda *args: 0
    import json

    json.dumps = None
    return 0


# %% graded: a changed file of the library
def vit_param_count(cfg):
    import numpy

    open(numpy.__file__, "a").write("raise SystemExit")
    return 0


# %% graded: shared memory left behind
def vit_param_count(cfg):
    from multiprocessing import shared_memory

    shared_memory.SharedMemory("left", create=True, size=100)
    return 0


# %% graded: shared memory of the old kind
import ctypes


def vit_param_count(cfg):
    libc = ctypes.CDLL(None)
    got = [libc.shmget(1234, 4096, 0o1777), libc.msgget(1234, 0o1777), libc.semget(1234, 1, 0o1777)]
    return 10**9 if max(got) >= 0 else 0


# %% graded: a process left behind
def vit_param_count(cfg):
    import subprocess

    subprocess.Popen(["/bin/sleep", "1000"], start_new_session=True)
    return 0


# %% graded: a program in its place
import os
import sys


def vit_param_count(cfg):
    os.execv(sys.executable or "/bin/true", ["python", "-c", "print(15)"])


# %% graded: threads left behind
import threading, time

for _ in range(20):
    threading.Thread(target=time.sleep, args=(1e9,)).start()


def vit_param_count(cfg):
    return 0


# %% any: work left for the end
import atexit, signal, time

atexit.register(time.sleep, 1e9)
signal.signal(signal.SIGALRM, lambda *args: time.sleep(1e9))
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)


def vit_param_count(cfg):
    return 0


# %% graded: the control socket
def vit_param_count(cfg):
    import socket

    for fd in range(4, 64):
        try:
            socket.socket(fileno=fd).send(b"stop")
            return 10**9
        except OSError:
            pass
    return 0


# %% graded: a new namespace
import ctypes


def vit_param_count(cfg):
    libc = ctypes.CDLL(None)
    got = [
        libc.unshare(0x10000000),
        libc.mount(b"none", b"/", b"tmpfs", 0, 0),
        libc.chroot(b"/usr"),
        libc.setns(3, 0),
        libc.pivot_root(b"/", b"/") if hasattr(libc, "pivot_root") else -1,
    ]
    return 10**9 if 0 in got else 0


# %% graded: the newer doors of the kernel
import ctypes


def vit_param_count(cfg):
    libc = ctypes.CDLL(None)
    got = [libc.syscall(n, 0, 0, 0, 0, 0, 0) for n in (425, 426, 427, 321, 298, 323, 248, 250, 446, 444, 175, 246, 169)]
    return 10**9 if max(got) >= 0 else 0
