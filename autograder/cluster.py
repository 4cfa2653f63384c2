"""Grades on a Dask cluster: the same slots, one in each thread of its workers, and the same results.

Every worker needs this course at the same version; a submission that meets another one becomes an engine-error and is
graded by the next run. The cluster sees submissions and tests, so it must be one that the instructor trusts.
"""

import contextlib
import threading
from collections.abc import Iterator
from itertools import islice

from distributed import Client, as_completed
from distributed.client import FutureCancelledError
from distributed.scheduler import KilledWorker

from autograder import doctor
from autograder.batch import RunStopped
from autograder.results import tests_version
from autograder.slot import Slot, SlotLost
from autograder.task import Task, failed

CONNECT_SECONDS = 20.0
AHEAD = 3  # submissions sent for each thread of the cluster, so that none waits for the network


@contextlib.contextmanager
def connected(address: str) -> Iterator[Client]:
    """A client of the cluster whose scheduler is at `address`. Raises RunStopped when there is none."""
    try:
        client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise RunStopped(f"no Dask scheduler answers at {address}: {error}") from None
    with client:
        if not client.nthreads():
            raise RunStopped(f"the Dask cluster at {address} has no workers yet: start some and run this again.")
        yield client


def engine(client: Client) -> str:
    """The best kind of jail on the cluster's workers. Raises RunStopped when none works on one of them."""
    kinds = client.run(doctor.best_engine)
    for worker, kind in kinds.items():
        if kind is None:
            raise RunStopped(f"no jail works on the worker {worker}: run `autograder doctor` there.")
    return max(kinds.values(), key=list(doctor.LAUNCHERS).index)


def grade_there(tasks: Iterator[Task], engine: str, client: Client) -> Iterator[dict]:
    """The results of `tasks`, graded on the cluster. A worker that is lost costs nothing: others do its work again.

    Raises
    ------
    RunStopped
        When the connection to the cluster is lost for good.
    """
    sent = {}

    def send(task: Task):
        future = client.submit(_grade, task, engine, pure=False)
        sent[future] = task
        return future

    ahead = AHEAD * sum(client.nthreads().values())
    running = as_completed([send(task) for task in islice(tasks, ahead)], loop=client.loop)
    for future in running:
        task = sent.pop(future)
        try:
            result = future.result()
        except KilledWorker:
            result = failed(task, engine, "The grader failed here: the workers that took it were lost.")
        except FutureCancelledError as error:
            raise RunStopped("the connection to the cluster is lost; the same command continues.") from error
        for following in islice(tasks, 1):
            running.add(send(following))
        yield result


_own = threading.local()


def _grade(task: Task, engine: str) -> dict:
    """One submission, on the worker, in the slot of its thread."""
    if task.seed.partition(".")[2] != tests_version(task.exercise):
        return failed(task, engine, "The grader failed here: the worker has another version of this course.")
    if not hasattr(_own, "slot"):
        _own.slot = Slot(engine)
    try:
        return _own.slot.grade(task)
    except SlotLost as reason:
        return failed(task, engine, f"The grader failed here, twice: {reason}.")
