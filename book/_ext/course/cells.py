"""Code cells of the chapters that a reader can change and run in the page: those that need Python and NumPy alone.

What a cell needs is read from its code: the statements of earlier cells that make its names, back to their imports. A
cell is live if all of these import the standard library, NumPy, SciPy or the parts of the book's own library, vit, that
import nothing else. The statements go into the page beside the cell, for cells.js, and vit is published for it.
"""

from __future__ import annotations

import ast
import builtins
import json
import re
import shutil
import symtable
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from autograder.catalog import ROOT
from course import live, npm

BOOK = ROOT / "book"
BUILTIN = set(dir(builtins)) | {"__name__"}


@dataclass(frozen=True)
class Statement:
    """A statement of a cell: the names it makes and needs, the modules it imports."""

    code: str
    makes: frozenset[str]
    needs: frozenset[str]
    modules: frozenset[str]


def statements(code: str) -> list[Statement]:
    """The statements of a cell. Raises SyntaxError for one that is not Python, such as a magic."""
    found = []
    for node in ast.parse(code).body:
        first = min([node, *getattr(node, "decorator_list", [])], key=lambda part: part.lineno).lineno
        text = "\n".join(code.splitlines()[first - 1 : node.end_lineno])
        if isinstance(
            node, ast.Import | ast.ImportFrom
        ):  # one for each name, so that a cell needs no more than it uses
            parts = [ast.unparse(type(node)(**vars(node) | {"names": [alias]})) for alias in node.names]
        else:
            parts = [text]
        found += map(statement, parts)
    return found


def statement(text: str) -> Statement:
    """What one statement makes, needs and imports."""
    table = symtable.symtable(text, "cell", "exec")
    makes = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_assigned() or symbol.is_imported()}
    tree = ast.parse(text)
    changed, bound = set(), {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    for node in ast.walk(tree):
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            changed.add(node.target.id)
        elif isinstance(node, ast.For):
            bound |= {part.id for part in ast.walk(node.target) if isinstance(part, ast.Name)}
    read = (set(needs(table)) - bound) | (changed & makes)
    return Statement(text, frozenset(makes), frozenset(read), frozenset(modules(tree)))


def needs(table: symtable.SymbolTable) -> Iterator[str]:
    """The global names that code reads, in functions too."""
    for symbol in table.get_symbols():
        if symbol.is_referenced() and (table.get_type() == "module" or symbol.is_global()):
            yield symbol.get_name()
    for child in table.get_children():
        yield from needs(child)


def modules(node: ast.AST, package: str = "") -> Iterator[str]:
    """The modules that are imported anywhere in a piece of code; relative ones are inside of `package`."""
    for part in ast.walk(node):
        if isinstance(part, ast.Import):
            yield from (alias.name for alias in part.names)
        elif isinstance(part, ast.ImportFrom):
            origin = ".".join(filter(None, [package if part.level else "", part.module]))
            if origin == "vit":
                yield from (f"vit.{alias.name}" for alias in part.names)
            else:
                yield origin


@cache
def allowed(module: str) -> bool:
    """Whether the page can import a module."""
    top = module.partition(".")[0]
    if top != "vit":
        return top in sys.stdlib_module_names or top in npm.PACKAGES
    return all(map(allowed, own(module)))


def own(module: str) -> list[str]:
    """What a module of vit imports; what is not one imports what there is not."""
    path = BOOK / "vit" / f"{module.removeprefix('vit.')}.py"
    return list(modules(ast.parse(path.read_text(encoding="utf-8")), "vit")) if path.exists() else ["nothing"]


def reach(imported: set[str]) -> set[str]:
    """The modules and all that those of vit import in turn."""
    seen: set[str] = set()
    waiting = list(imported)
    while waiting:
        module = waiting.pop()
        if module not in seen:
            seen.add(module)
            waiting += own(module) if module.startswith("vit.") else []
    return seen


def wanted_before(statement: Statement, wanted: set[str]) -> set[str]:
    """The names that must be there before a statement, for it to run and for `wanted` to be there after it."""
    return (wanted - (statement.makes - statement.needs)) | statement.needs


def before(cell: list[Statement], earlier: list[Statement]) -> list[Statement] | None:
    """The earlier statements that a cell needs, in order, or None if the page cannot run them or the cell."""
    wanted: set[str] = set()
    for statement in reversed(cell):
        wanted = wanted_before(statement, wanted)
    chosen: list[Statement] = []
    # A random generator goes on with each use, so all that used it before belongs to what a cell needs.
    generators = {name for statement in earlier if "default_rng(" in statement.code for name in statement.makes}
    for statement in reversed(earlier):
        if statement.makes & wanted or statement.needs & wanted & generators:
            chosen.insert(0, statement)
            wanted = wanted_before(statement, wanted)
    # What a statement both makes and needs, as a loop does with a name of its own, may have no other maker.
    made = BUILTIN.union(*(statement.makes for statement in [*chosen, *cell]))
    fits = wanted <= made and all(allowed(module) for statement in [*chosen, *cell] for module in statement.modules)
    return chosen if fits else None


def mark(app: Sphinx, doctree: nodes.document) -> None:
    """Put beside each live cell of a page what the page's script needs to run it."""
    earlier: list[Statement] = []
    for cell in doctree.findall(
        lambda node: isinstance(node, nodes.container) and node.get("nb_element") == "cell_code"
    ):
        source = next(cell.findall(nodes.literal_block), None)
        try:
            present = statements(source.astext()) if source else []
        except SyntaxError:
            continue
        needed = before(present, earlier)
        if needed is not None and any(not statement.modules for statement in present):
            imported = set().union(*(statement.modules for statement in [*needed, *present]))
            data = {
                "given": "\n".join(statement.code for statement in needed),
                "packages": [name for name in npm.PACKAGES if any(m.split(".")[0] == name for m in reach(imported))],
                "files": files(reach(imported)),
                "packagesAt": live.address(app.config),
            }
            text = json.dumps(data).replace("</", "<\\/")
            source.parent += nodes.raw(
                "", f'<script type="application/json" class="live-cell">{text}</script>', format="html"
            )
            app.env.metadata[app.env.docname]["live"] = True
        earlier += present


def files(imported: set[str]) -> list[str]:
    """The files of the book that modules need, as paths in book/."""
    own = sorted(f"vit/{module.removeprefix('vit.')}.py" for module in imported if module.startswith("vit."))
    data = sorted(f"data/{path.name}" for path in (BOOK / "data").glob("*.json")) if "vit/data.py" in own else []
    return own + data


def add_script(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document) -> None:
    if 'class="live-cell"' in context.get("body", ""):
        app.add_js_file("web/cells.js", loading_method="defer")
        app.add_css_file("web/live.css")


def publish(app: Sphinx, error: Exception | None) -> None:
    """Copy what live cells import, to python/ of the site."""
    pages = [] if error else [Path(app.outdir, app.builder.get_target_uri(name)) for name in app.env.found_docs]
    wanted = {
        file
        for page in pages
        if page.exists()
        for text in re.findall(r'class="live-cell">(.*?)</script>', page.read_text(encoding="utf-8"))
        for file in json.loads(text)["files"]
    }
    for file in wanted:
        target = Path(app.outdir, "python", file)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(BOOK / file, target)


def setup(app: Sphinx) -> None:
    app.connect("doctree-read", mark)
    app.connect("html-page-context", add_script)
    app.connect("build-finished", publish)
