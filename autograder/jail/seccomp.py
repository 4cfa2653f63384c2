"""The system calls student code may make, as a BPF program. The grader compiles it, the worker only installs it.

An allow list: computing, threads, memory, clocks, reading files. Everything else answers ENOSYS ("not implemented"),
which is what C libraries expect of a call that does not exist and fall back from (clone3 to clone). So no process,
program, socket, memfd, signal to others, trace, mount, namespace, key ring, io_uring or shared memory.
"""

import errno
import tempfile
from functools import cache

_CLONE_THREAD = 0x0001_0000
_PRCTL = (15, 16)  # PR_SET_NAME, PR_GET_NAME: the names of threads
_FCNTL = (0, 1, 2, 3, 4, 1030)  # F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC; no owners, no pipe sizes
_IOCTL = (
    0x5401,
    0x5413,
    0x541B,
    0x5421,
    0x5450,
    0x5451,
)  # is it a terminal, its size, bytes to read, (non)blocking, cloexec

# Names that an architecture lacks are left out there (aarch64 has no `open`, for example).
ALLOWED = {
    "files: reading, and writing to what is already open": """
        read readv pread64 preadv write writev close close_range open openat access faccessat faccessat2 stat
        fstat lstat newfstatat statx statfs fstatfs lseek getdents getdents64 readlink readlinkat getcwd chdir
        fchdir fadvise64 dup dup2 dup3 pipe pipe2 poll ppoll select pselect6 umask""",
    "memory": """
        brk mmap munmap mremap mprotect madvise mincore""",
    "threads, clocks, this process": """
        futex set_robust_list get_robust_list rseq membarrier sched_yield sched_getaffinity set_tid_address
        getcpu nanosleep clock_nanosleep clock_gettime clock_getres gettimeofday time times getrusage
        getrandom rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigtimedwait sigaltstack alarm
        setitimer getitimer pause getpid getppid gettid getuid geteuid getgid getegid getresuid getresgid
        getgroups getpgrp getpgid getsid uname sysinfo getrlimit restart_syscall exit exit_group""",
}


class SeccompMissing(RuntimeError):
    """libseccomp is not on this machine."""


@cache
def program() -> bytes:
    """The filter as a BPF program (an array of `struct sock_filter`) for this machine's architecture.

    Raises
    ------
    SeccompMissing
        When the system's libseccomp.so.2 cannot be loaded.
    """
    try:
        import pyseccomp as seccomp
    except (ImportError, RuntimeError, OSError) as error:
        raise SeccompMissing("the system's libseccomp.so.2 is missing") from error

    rules = seccomp.SyscallFilter(seccomp.ERRNO(errno.ENOSYS))
    for name in " ".join(ALLOWED.values()).split():
        if seccomp.resolve_syscall(seccomp.Arch.NATIVE, name) >= 0:
            rules.add_rule(seccomp.ALLOW, name)
    thread = seccomp.Arg(0, seccomp.MASKED_EQ, _CLONE_THREAD, _CLONE_THREAD)
    rules.add_rule(seccomp.ALLOW, "clone", thread)
    for name, position, values in (("prctl", 0, _PRCTL), ("fcntl", 1, _FCNTL), ("ioctl", 1, _IOCTL)):
        for value in values:
            rules.add_rule(seccomp.ALLOW, name, seccomp.Arg(position, seccomp.EQ, value))
    # prlimit64 only to read, and only one's own limits.
    rules.add_rule(seccomp.ALLOW, "prlimit64", seccomp.Arg(0, seccomp.EQ, 0), seccomp.Arg(2, seccomp.EQ, 0))
    with tempfile.TemporaryFile() as file:
        rules.export_bpf(file)
        file.seek(0)
        return file.read()


def available() -> bool:
    """Whether the filter can be made here."""
    try:
        program()
    except SeccompMissing:
        return False
    return True
