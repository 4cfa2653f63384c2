# End the process.

# %% graded: sys.exit with a good status
import sys


def vit_param_count(cfg):
    sys.exit(0)


# %% crashed: os._exit with a good status
import os


def vit_param_count(cfg):
    os._exit(0)


# %% crashed: abort
import os


def vit_param_count(cfg):
    os.abort()


# %% crashed: a null pointer
import ctypes


def vit_param_count(cfg):
    ctypes.string_at(0)


# %% any: recursion without a limit
import sys


def vit_param_count(cfg):
    sys.setrecursionlimit(2**31 - 1)
    return vit_param_count(cfg)


# %% any: recursion through C without a limit
import sys


def vit_param_count(cfg):
    sys.setrecursionlimit(2**31 - 1)
    x = []
    for _ in range(10**6):
        x = [x]
    return hash(repr(x))
