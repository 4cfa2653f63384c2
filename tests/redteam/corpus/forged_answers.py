# Answer the right question in words that nobody expects.

# %% before each
import json
import struct

import protocol


def raw(document, body=b""):
    return struct.pack(">II", len(document), len(body)) + document + body


def frame(message, body=b""):
    return raw(json.dumps(message).encode(), body)


def value(packed, after=None):
    return {"result": {"t": [packed, after]}, "operations": 0}


def vit_param_count(cfg):
    protocol.encode = lambda message, buffers: forged(message["id"])
    return 15


# %% crashed: answering with a frame of four gigabytes
def forged(request):
    return struct.pack(">II", 2**32 - 1, 2**32 - 1)


# %% crashed: answering with a frame of nothing
def forged(request):
    return struct.pack(">II", 0, 0)


# %% crashed: answering with no JSON
def forged(request):
    return raw(b"\xff\xfe{]")


# %% crashed: answering with a million brackets
def forged(request):
    return raw(b"[" * 1_000_000)


# %% crashed: answering with a list for an answer
def forged(request):
    return raw(b"[15]")


# %% crashed: answering with an int of 100,000 digits
def forged(request):
    return raw(b'{"id": "%s", "result": %s}' % (request.encode(), b"9" * 100_000))


# %% crashed: answering with the same key twice
def forged(request):
    return raw(b'{"id": "%s", "id": [[]]}' % request.encode())


# %% crashed: answering with an array of minus one numbers
def forged(request):
    return frame({"id": request, **value({"a": ["float64", [-1, -8]]})})


# %% crashed: answering with an array of nothing by everything
def forged(request):
    return frame({"id": request, **value({"a": ["int8", [0, 2**60]]})})


# %% crashed: answering with an array of four axes too large together
def forged(request):
    return frame({"id": request, **value({"a": ["int8", [2**20] * 4]})})


# %% crashed: answering with an array of objects
def forged(request):
    return frame({"id": request, **value({"a": ["object", [1]]})}, b"\0" * 8)


# %% crashed: answering with an array without its bytes
def forged(request):
    return frame({"id": request, **value({"a": ["float64", [3]]})}, b"\0" * 23)


# %% crashed: answering with more bytes than arrays
def forged(request):
    return frame({"id": request, **value(15)}, b"x" * 999)


# %% crashed: answering with a value of an unknown kind
def forged(request):
    return frame({"id": request, **value({"p": "pickle"})})


# %% crashed: answering with a dict with a key twice
def forged(request):
    return frame({"id": request, **value({"d": [["total", 1], ["total", 2]]})})


# %% crashed: answering with an error in markup
def forged(request):
    return frame({"id": request, "error": "<b>points</b>"})


# %% crashed: answering with no answer
def forged(request):
    return frame({"id": request})


# %% crashed: answering with operations in words
def forged(request):
    return frame({"id": request, **value(15), "operations": "few"})


# %% graded: answering with a score beside the answer
def forged(request):
    return frame({"id": request, "score": 15, "points": 15, "status": "passed", **value(15)})


# %% graded: answering with arguments that were never given
def forged(request):
    return frame({"id": request, **value(15, {"t": [{"l": [15]}, {"d": []}]})})


# %% graded: answering with arguments of no shape
def forged(request):
    return frame({"id": request, **value(15, 15)})
