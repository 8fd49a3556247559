"""Work handed from thread to thread: what comes next is made while the last is used, and put away meanwhile."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from queue import Full, Queue
from threading import Event, Thread
from typing import Any, NamedTuple

import jax

QUEUE_SIZE = 1  # pieces that wait between two threads
POLL_SECONDS = 0.05  # seconds after which a thread that waits looks whether it is still needed


class _EndOfItems(NamedTuple):
    """That nothing comes any more, and why."""

    error: BaseException | None = None


def _start_thread(work: Callable[[], None]) -> Thread:
    """A thread that works in the precision, and all else, of this one."""
    double, context = bool(jax.config.read("jax_enable_x64")), copy_context()

    def alike() -> None:
        with jax.enable_x64(double):
            work()

    thread = Thread(target=context.run, args=[alike], daemon=True)
    thread.start()
    return thread


@contextmanager
def prefetch(items: Iterator[Any]) -> Iterator[Iterator[Any]]:
    """The items, each made by another thread while the one before it is used. Errors arrive in their place."""
    queue: Queue[Any] = Queue(QUEUE_SIZE)
    over = Event()

    def put(item: Any) -> None:
        while not over.is_set():
            try:
                return queue.put(item, timeout=POLL_SECONDS)
            except Full:
                continue

    def work() -> None:
        try:
            for item in items:
                put(item)
                if over.is_set():
                    return
            put(_EndOfItems())
        except BaseException as error:
            put(_EndOfItems(error))

    def taken() -> Iterator[Any]:
        while not isinstance(item := queue.get(), _EndOfItems):
            yield item
        if item.error is not None:
            raise item.error

    thread = _start_thread(work)
    try:
        yield taken()
    finally:
        over.set()
        thread.join()


@contextmanager
def write_behind(consume: Callable[[Any], None]) -> Iterator[Callable[[Any], None]]:
    """A function that hands items to another thread, which uses them in their order.

    An error there is raised by the next call, or at the end, when all have been used. After an error here the items
    that wait are used all the same.
    """
    queue: Queue[Any] = Queue(QUEUE_SIZE)
    failed: list[BaseException] = []

    def work() -> None:
        while not isinstance(item := queue.get(), _EndOfItems):
            if not failed:
                try:
                    consume(item)
                except BaseException as error:
                    failed.append(error)

    def put(item: Any) -> None:
        if failed:
            raise failed[0]
        queue.put(item)

    thread = _start_thread(work)
    try:
        yield put
    finally:
        queue.put(_EndOfItems())
        thread.join()
    if failed:
        raise failed[0]
