# Values that hurt the one who reads them.

# %% graded: an int of 100,000 digits
def vit_param_count(cfg):
    return 10**100_000


# %% graded: an int of a hundred million bits
def vit_param_count(cfg):
    return 1 << 100_000_000


# %% graded: a list nested 100,000 deep
def vit_param_count(cfg):
    value = []
    for _ in range(100_000):
        value = [value]
    return value


# %% graded: a list that holds itself
def vit_param_count(cfg):
    value = []
    value.append(value)
    return value


# %% any: a dict that holds itself many times
def vit_param_count(cfg):
    value = {}
    value.update({str(n): value for n in range(9)})
    return value


# %% graded: a list of three million items
def vit_param_count(cfg):
    return [0] * 3_000_000


# %% graded: an array of 200 MB
def vit_param_count(cfg):
    import numpy

    return numpy.zeros(25_000_000)


# %% graded: a string of 100 MB
def vit_param_count(cfg):
    return "x" * 100_000_000


# %% graded: half a surrogate pair
def vit_param_count(cfg):
    return "\ud800"


# %% graded: keys that collide
def vit_param_count(cfg):
    return {n * (2**61 - 1): n for n in range(3_000)}


# %% graded: keys that are not quite strings
class Key(str):
    __hash__ = lambda self: 1
    __eq__ = lambda self, other: False


def vit_param_count(cfg):
    return {Key("total"): 1, Key("total "): 2}


# %% graded: a list that goes on for ever
class Endless(list):
    def __iter__(self):
        while True:
            yield 0


def vit_param_count(cfg):
    return Endless([1])


# %% graded: an exception whose name and text are markup
Markup = type("<script>alert(1)</script>", (ValueError,), {})


def vit_param_count(cfg):
    raise Markup("</td><script>alert(2)</script>" * 1000 + repr(cfg))


# %% crashed: an exception that cannot be looked at
class Shy(Exception):
    __traceback__ = property(lambda self: 1 / 0)
    __str__ = __repr__ = lambda self: 1 / 0


def vit_param_count(cfg):
    raise Shy


# %% graded: an exception whose class lies about its ancestors
class Meta(type):
    def mro(cls):
        return [cls, KeyboardInterrupt, BaseException, object]

    __name__ = property(lambda cls: 1 / 0)


class Odd(KeyboardInterrupt, metaclass=Meta):
    pass


def vit_param_count(cfg):
    raise Odd


# %% crashed: a value whose class has no name
class Meta(type):
    __name__ = property(lambda cls: 1 / 0)
    __module__ = property(lambda cls: 1 / 0)


class Nameless(metaclass=Meta):
    pass


def vit_param_count(cfg):
    return Nameless()


# %% graded: a cell of control characters, and an error that repeats them
raise RuntimeError("\x1b[2J\x1b]0;owned\x07 \u202e <img src=x onerror=alert(1)> \r\n\0" * 50)
