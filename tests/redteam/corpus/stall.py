# Never come back.

# %% timeout: an endless loop
def vit_param_count(cfg):
    while True:
        pass


# %% timeout: an endless sleep
import time


def vit_param_count(cfg):
    time.sleep(1e9)


# %% timeout: a notebook that never finishes
while True:
    pass

# %% timeout: a loop that catches whatever would end it
import signal

for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass


def vit_param_count(cfg):
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass


# %% timeout: a regular expression that explodes
def vit_param_count(cfg):
    import re

    re.match(r"(a+)+$", "a" * 64 + "b")


# %% timeout: one product of enormous ints
def vit_param_count(cfg):
    return (3**40_000_000) ** 3 % 7


# %% timeout: a deadlock
def vit_param_count(cfg):
    import threading

    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


# %% timeout: output without end
import sys


def vit_param_count(cfg):
    while True:
        print("x" * 10_000, file=sys.stderr)


# %% graded: a question to the terminal
def vit_param_count(cfg):
    return int(input("how many? "))


# %% graded: reading from standard input
import sys


def vit_param_count(cfg):
    return int(sys.stdin.read() or 0)


# %% timeout: a destructor that never ends
class Sticky:
    def __del__(self):
        while True:
            pass


def vit_param_count(cfg):
    Sticky()
    return 0


# %% timeout: a type that takes for ever to name itself
class Meta(type):
    @property
    def __name__(cls):
        while True:
            pass


class Slow(metaclass=Meta):
    pass


def vit_param_count(cfg):
    return Slow()
