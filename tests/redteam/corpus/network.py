# Reach somebody outside.

# %% graded: a connection
def vit_param_count(cfg):
    import socket

    socket.create_connection(("127.0.0.1", 80), timeout=1)
    return 10**9


# %% graded: an abstract socket for a friend
def vit_param_count(cfg):
    import socket

    friend = socket.socket(socket.AF_UNIX)
    friend.bind("\0friend")
    return 10**9


# %% graded: a name to look up
def vit_param_count(cfg):
    import urllib.request

    urllib.request.urlopen("http://example.org/answers", timeout=1)
    return 10**9
