"""Evaluate arithmetic as it is written in a text, such as "12·768^2 + 13·768", with exact numbers."""

import ast
import operator
import re
from fractions import Fraction
from math import isqrt, sqrt

_REWRITE = [
    (re.compile(r"\{,\}|\\[,;:! ]|\\left|\\right|[$~]|(?<=\d),(?=\d{3})"), ""),
    (re.compile(r"\\[dt]?frac\{([^{}]+)\}\{([^{}]+)\}"), r"((\1)/(\2))"),
    (re.compile(r"\\sqrt\{([^{}]+)\}"), r"sqrt(\1)"),
    (re.compile(r"\\cdot|\\times|[·×]"), "*"),
    (re.compile(r"\^\{([^{}]+)\}"), r"**(\1)"),
    (re.compile(r"\^"), "**"),
    (re.compile("−"), "-"),
]
_OPERATIONS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}


def evaluate(text: str) -> Fraction | None:
    """The value of `text`, or None when it is not arithmetic with numbers alone."""
    for pattern, plain in _REWRITE:
        text = pattern.sub(plain, text)
    try:
        return _value(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, TypeError, KeyError, ZeroDivisionError):
        return None


def _value(node: ast.expr) -> Fraction:
    match node:
        case ast.Constant(value=int() | float() as number):
            return Fraction(str(number))
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -_value(inner)
        case ast.BinOp(left=left, op=op, right=right):
            return Fraction(_OPERATIONS[type(op)](_value(left), _value(right)))
        case ast.Call(func=ast.Name(id="sqrt"), args=[inner]):
            square = _value(inner)
            root = isqrt(square.numerator)
            return Fraction(root if root * root == square else sqrt(square))
    raise TypeError(f"{ast.dump(node)} is not arithmetic")
