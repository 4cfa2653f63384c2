"""What the grader and a jailed worker say to each other: length-prefixed frames of plain data, never pickles.

A frame is two lengths (JSON bytes, buffer bytes), one JSON document and the raw bytes of its arrays. The JSON
document holds `None`, `bool`, `int`, `float` and `str` as themselves and everything else as a small tagged object:

    {"l": [...]}  list          {"t": [...]}   tuple
    {"d": [[k, v], ...]}  dict with str keys
    {"a": [dtype, shape]}  array, its bytes next in the buffer        {"n": dtype}  NumPy scalar, likewise
    {"f": "TypeName"}  anything else: only the name of its type travels

The worker half of this file runs beside student code and may be tampered with there, so the grader's half believes
nothing: lengths, depth, dtypes, shapes and the nonce are checked, and whatever is wrong raises `ProtocolError`.
Both sides use only exact types, so a subclass that lies in `__eq__` arrives as a `Foreign` that equals nothing.
This file imports the standard library only, and NumPy when an array turns up: the worker runs it alone.
"""

import json
import struct
import sys
from collections import Counter, OrderedDict, defaultdict
from functools import lru_cache

HEAD = struct.Struct(">II")  # bytes of JSON, bytes of buffers
MAX_JSON = 1 << 20  # bytes; a JSON document of this size decodes to some 25 MB of Python objects
MAX_BUFFERS = 32 << 20  # bytes
MAX_DEPTH = 32  # nested containers; the messages' own one or two come on top
MAX_ITEMS = 100_000  # of one container; more would not fit into MAX_JSON in any case
MAX_INT_BITS = 14_000  # below the 4,300 decimal digits at which Python refuses to print an int
MAX_RANK = 64  # NumPy's own limit
_DTYPES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128"
DTYPES = frozenset(_DTYPES.split())
_SCALARS = frozenset({type(None), bool, int, float, str})
_compact = json.JSONEncoder(separators=(",", ":")).encode
_CONTAINERS = (list, tuple, dict, OrderedDict, defaultdict, Counter)  # the last three are taken for the dicts they are


class ProtocolError(Exception):
    """The other side sent something that is no valid frame, or not the one that was due."""


class Foreign:
    """A value the protocol does not carry, known only by the name of its type. Equals nothing but itself."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


@lru_cache(maxsize=256)
def foreign_class(name: str) -> type[Foreign]:
    """A subclass of `Foreign` called `name`, made harmless: an identifier, and never the name of a plain type."""
    name = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in name[:60]) or "object"
    if name in ("int", "float", "str", "bool", "list", "tuple", "dict", "NoneType", "ndarray") or name in DTYPES:
        name += "_subclass"
    return type(name, (Foreign,), {"__slots__": ()})


@lru_cache(maxsize=64)
def _dtype_name(dtype) -> str:
    """`dtype.name`, which NumPy takes long to work out and does each time."""
    return dtype.name


@lru_cache(maxsize=64)
def _little_endian(dtype: str):
    """The dtype of that name as it travels."""
    import numpy as np

    return np.dtype(dtype).newbyteorder("<")


def pack(value: object) -> tuple[object, list[bytes]]:
    """`value` as a JSON-ready object and the bytes of its arrays, in order.

    Never raises for a strange value: what cannot travel becomes a `Foreign`, what is too deep or too large too.
    """
    buffers: list[bytes] = []
    return _pack(value, buffers, 0), buffers


def _pack(value: object, buffers: list[bytes], depth: int) -> object:
    kind = type(value)
    if value is None or kind is bool or kind is float:
        return value
    if kind is str:
        return value if len(value) < MAX_JSON else {"f": "str_beyond_the_size_limit"}
    if kind is int:
        return value if value.bit_length() <= MAX_INT_BITS else {"f": "int_of_too_many_digits"}
    if kind in _CONTAINERS:
        if depth == MAX_DEPTH or len(value) > MAX_ITEMS:
            return {"f": f"{kind.__name__}_beyond_the_size_limit"}
        if kind is list or kind is tuple:
            return {"l" if kind is list else "t": [_pack(item, buffers, depth + 1) for item in value]}
        if all(type(key) is str for key in value):
            return {"d": [[key, _pack(item, buffers, depth + 1)] for key, item in dict.items(value)]}
        return {"f": "dict_with_keys_that_are_not_str"}
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        if kind is numpy.ndarray and _dtype_name(value.dtype) in DTYPES:
            if value.nbytes > MAX_BUFFERS:
                return {"f": "ndarray_beyond_the_size_limit"}
            name = _dtype_name(value.dtype)
            buffers.append(value.astype(_little_endian(name), copy=False).tobytes())
            return {"a": [name, list(value.shape)]}
        if isinstance(value, numpy.generic) and kind is numpy.dtype(kind).type and value.dtype.name in DTYPES:
            buffers.append(value.tobytes())
            return {"n": value.dtype.name}
    return {"f": str(kind.__name__)[:60]}


def unpack(packed: object, buffers: memoryview) -> object:
    """The value that `pack` described.

    Raises
    ------
    ProtocolError
        When the description is not one that `pack` makes, or the buffers are not exactly the bytes it speaks of.
    """
    value, used = _unpack(packed, buffers, 0, 0)
    if used != len(buffers):
        raise ProtocolError("bytes that belong to no array")
    return value


def _unpack(packed: object, buffers: memoryview, at: int, depth: int) -> tuple[object, int]:
    kind = type(packed)
    if kind in _SCALARS:
        return packed, at
    if kind is not dict or len(packed) != 1 or depth > MAX_DEPTH + 2:
        raise ProtocolError("not a value")
    ((tag, body),) = packed.items()
    if tag in ("l", "t") and type(body) is list:
        items = []
        for item in body:
            if type(item) not in _SCALARS:
                item, at = _unpack(item, buffers, at, depth + 1)
            items.append(item)
        return (items if tag == "l" else tuple(items)), at
    if tag == "d" and type(body) is list:
        table = {}
        for pair in body:
            if type(pair) is not list or len(pair) != 2 or type(pair[0]) is not str or pair[0] in table:
                raise ProtocolError("not a dict")
            key, item = pair
            if type(item) not in _SCALARS:
                item, at = _unpack(item, buffers, at, depth + 1)
            table[key] = item
        return table, at
    if tag == "f" and type(body) is str:
        return foreign_class(body)(), at
    if tag == "n" and type(body) is str and body in DTYPES:
        array, at = _array(body, [], buffers, at)
        return array[()], at
    if tag == "a" and type(body) is list and len(body) == 2 and type(body[0]) is str and body[0] in DTYPES:
        return _array(body[0], body[1], buffers, at)
    raise ProtocolError("not a value")


def _array(dtype: str, shape: object, buffers: memoryview, at: int):
    import numpy as np

    if type(shape) is not list or len(shape) > MAX_RANK:
        raise ProtocolError("not a shape")
    size = bound = 1
    for n in shape:
        if type(n) is not int or not 0 <= n <= MAX_BUFFERS:
            raise ProtocolError("not a shape")
        size *= n
        # A zero anywhere makes the array empty, whatever the other sizes claim: bound them without it.
        bound *= n or 1
        if bound > MAX_BUFFERS:
            raise ProtocolError("a shape beyond the limit")
    kind = _little_endian(dtype)
    end = at + size * kind.itemsize
    if end > len(buffers):
        raise ProtocolError("an array without its bytes")
    array = np.empty(shape, dtype)  # of its own, in the machine's byte order
    if size:
        array.reshape(-1)[:] = np.frombuffer(buffers, kind, size, at)
    return array, end


def encode(message: dict, buffers: list[bytes]) -> bytes:
    """One frame. Raises `ProtocolError` when it would exceed the limits."""
    document = _compact(message).encode()
    body = b"".join(buffers)
    if len(document) > MAX_JSON or len(body) > MAX_BUFFERS:
        raise ProtocolError("the message is beyond the limit")
    return HEAD.pack(len(document), len(body)) + document + body


def lengths(head: bytes) -> tuple[int, int]:
    """The two lengths of a frame's head, in bytes. Raises `ProtocolError` when they are beyond the limits."""
    document, body = HEAD.unpack(head)
    if not 0 < document <= MAX_JSON or body > MAX_BUFFERS:
        raise ProtocolError("the message is beyond the limit")
    return document, body


def decode(document: bytes) -> dict:
    """The JSON object of a frame. Raises `ProtocolError` for anything else, however deep or long."""
    try:
        message = json.loads(document.decode())
    except (ValueError, RecursionError) as error:
        raise ProtocolError("not JSON") from error
    if type(message) is not dict:
        raise ProtocolError("not a JSON object")
    return message
