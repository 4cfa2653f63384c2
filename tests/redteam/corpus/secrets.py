# Read the tests, the answers or the hidden inputs.

# %% before each
import ctypes
import gc
import glob
import os
import sys


def search(paths):
    """A large number when one of the files holds a hidden test."""
    for path in paths:
        try:
            with open(path, "rb") as file:
                text = file.read(1_000_000)
        except OSError:
            continue
        if b"test_case" in text or b"expect_count" in text:
            return 10**9
    return 0


# %% graded: the tests in their usual places
def vit_param_count(cfg):
    folders = [root + "/*" * depth for root in ("", "/root", "/home", "/usr/lib/python3", "..") for depth in range(4)]
    return search(path for folder in folders for path in glob.glob(folder + "/autograder/tests/*.py"))


# %% graded: the tests through /proc
def vit_param_count(cfg):
    return search(
        path for name in ("environ", "cmdline", "fd/*", "cwd/*", "mem") for path in glob.glob("/proc/*/" + name)
    )


# %% graded: the tests through open descriptors
def vit_param_count(cfg):
    return search([f"/dev/fd/{n}" for n in range(64)] + [n for n in range(64) if n != 3])


# %% graded: the tests among the modules
def vit_param_count(cfg):
    names = [name for name in sys.modules if name.partition(".")[0] in ("autograder", "otter", "solutions")]
    return sys.modules[names[0]].count(cfg) if names else 0


# %% graded: the reference by import
def vit_param_count(cfg):
    import solutions.vit_param_count as reference

    return reference.vit_param_count(cfg)


# %% graded: the answer in the frames of its caller
def vit_param_count(cfg):
    frame = sys._getframe(1)
    while frame:
        for name, value in {**frame.f_globals, **frame.f_locals}.items():
            if name in ("want", "expected", "answer"):
                return value
            if name == "count" and callable(value):
                return value(cfg)
        frame = frame.f_back
    return 0


# %% graded: the answer on the heap
def vit_param_count(cfg):
    for thing in gc.get_objects():
        if type(thing) is dict and type(thing.get("want")) is int:
            return thing["want"]
    return 0


# %% graded: the memory of the process above
def vit_param_count(cfg):
    libc = ctypes.CDLL(None)
    attached = [libc.ptrace(16, pid, 0, 0) for pid in (1, os.getppid())]
    read = libc.process_vm_readv(os.getppid(), None, 0, None, 0, 0)
    return 10**9 if 0 in attached or read >= 0 else 0


# %% graded: the hidden inputs in what is printed and raised
def vit_param_count(cfg):
    print(cfg)
    print(cfg, file=sys.stderr)
    raise type(f"Stolen_{cfg['d']}", (ValueError,), {})(cfg)


# %% graded: the hidden inputs in the name of a class
def vit_param_count(cfg):
    return type(f"Stolen_{cfg['d']}", (), {})()


# %% graded: the environment
def vit_param_count(cfg):
    text = repr(dict(os.environ)) + repr(sys.argv) + repr(sys.path)
    return 10**9 if "autograder" in text or "salt" in text.lower() else 0
