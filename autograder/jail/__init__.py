"""The jail: student code runs in it, and only plain data comes out.

`protocol` is what the two sides say, `worker` the inside, `session` the outside, `seccomp` the system calls that are
left, `bwrap` the walls. Nothing else in the grader starts a process for student code.
"""
