"""Runs a reader's code in the page: what it prints, the lines of its own that an error comes from, its checks."""

import ast
import contextlib
import dataclasses
import io
import json
import linecache
import sys
import traceback

NAME = "your code"
MAX_OUTPUT = 20_000  # characters


class Output(io.TextIOBase):
    """What the code prints, sent on by `post` in lines until it is too much."""

    def __init__(self, post):
        self.post, self.waiting, self.left = post, "", MAX_OUTPUT

    def writable(self):
        return True

    def write(self, text):
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        if self.left:
            kept = text[: self.left]
            self.left -= len(kept)
            self.waiting += kept
            if "\n" in kept or not self.left:
                self.flush()
            if not self.left:
                self.post(f"\n[Not shown: all that follows the first {MAX_OUTPUT:,} characters.]\n")
        return len(text)

    def flush(self):
        if self.waiting:
            self.post(self.waiting)
            self.waiting = ""


class Nobody(io.TextIOBase):
    """What input() finds: the page asks nothing."""

    def readline(self, size=-1):
        raise EOFError("nothing can be typed in here; write the value into the code instead")


def perform(task, post):
    """Executes {"given", "code", "check"}; returns JSON {"ok", and after a check "rows", "passed", "summary", "mistake"}.

    `check` lists the functions to check, and is empty where the code only runs.
    """
    task = json.loads(task)
    output = sys.stdout = sys.stderr = Output(post)
    sys.stdin = Nobody()
    try:
        names = _executed(task["given"], task["code"], show=not task["check"])
        report = _report(task["check"], names) if task["check"] else {}
        result = {"ok": True, **report}
    except BaseException as error:
        output.flush()
        post(_told(error)[-MAX_OUTPUT:])  # however much was printed before
        result = {"ok": False}
    output.flush()
    return json.dumps(result)


def _executed(given, code, show):
    """The names that `given`, in silence, and `code` define. As in a notebook, the value of a last expression is shown."""
    names = {"__name__": "__main__"}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(given, "given", "exec"), names)
    linecache.cache[NAME] = (len(code), None, code.splitlines(keepends=True), NAME)
    tree = ast.parse(code, NAME)
    last = tree.body.pop() if show and tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, NAME, "exec"), names)
    if last:
        value = eval(compile(ast.Expression(last.value), NAME, "eval"), names)
        if value is not None:
            print(repr(value))
    return names


def _report(functions, names):
    from checks import check_rows

    report = check_rows({name: names.get(name) for name in functions})
    rows = [dataclasses.asdict(row) for row in report.rows]
    return {"rows": rows, "passed": report.passed, "summary": report.summary, "mistake": report.mistake}


def _told(error):
    """The traceback with the reader's lines alone."""
    if isinstance(error, SystemExit):
        return "The code stopped itself: it called exit().\n"
    told = traceback.TracebackException.from_exception(error)
    seen = [told]
    while seen:
        part = seen.pop()
        part.stack = traceback.StackSummary.from_list([frame for frame in part.stack if frame.filename == NAME])
        seen += [other for other in (part.__cause__, part.__context__) if other]
    return "".join(told.format())
