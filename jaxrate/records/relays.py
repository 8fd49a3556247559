"""Work handed from thread to thread: what comes next is made while the last is used, and put away meanwhile."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from queue import Full, Queue
from threading import Event, Thread
from typing import Any, NamedTuple

import jax

AHEAD = 1  # pieces that wait between two threads
BLINK = 0.05  # seconds after which a thread that waits looks whether it is still needed


class _End(NamedTuple):
    """That nothing comes any more, and why."""

    error: BaseException | None = None


def _started(work: Callable[[], None]) -> Thread:
    """A thread that works in the precision, and all else, of this one."""
    double, context = bool(jax.config.read("jax_enable_x64")), copy_context()

    def alike() -> None:
        with jax.enable_x64(double):
            work()

    thread = Thread(target=context.run, args=[alike], daemon=True)
    thread.start()
    return thread


@contextmanager
def ahead(items: Iterator[Any]) -> Iterator[Iterator[Any]]:
    """The items, each made by another thread while the one before it is used. Errors arrive in their place."""
    queue: Queue[Any] = Queue(AHEAD)
    over = Event()

    def put(item: Any) -> None:
        while not over.is_set():
            try:
                return queue.put(item, timeout=BLINK)
            except Full:
                continue

    def work() -> None:
        try:
            for item in items:
                put(item)
                if over.is_set():
                    return
            put(_End())
        except BaseException as error:
            put(_End(error))

    def taken() -> Iterator[Any]:
        while not isinstance(item := queue.get(), _End):
            yield item
        if item.error is not None:
            raise item.error

    thread = _started(work)
    try:
        yield taken()
    finally:
        over.set()
        thread.join()


@contextmanager
def behind(use: Callable[[Any], None]) -> Iterator[Callable[[Any], None]]:
    """A function that hands items to another thread, which uses them in their order.

    An error there is raised by the next call, or at the end, when all have been used. After an error here the items
    that wait are used all the same.
    """
    queue: Queue[Any] = Queue(AHEAD)
    failed: list[BaseException] = []

    def work() -> None:
        while not isinstance(item := queue.get(), _End):
            if not failed:
                try:
                    use(item)
                except BaseException as error:
                    failed.append(error)

    def put(item: Any) -> None:
        if failed:
            raise failed[0]
        queue.put(item)

    thread = _started(work)
    try:
        yield put
    finally:
        queue.put(_End())
        thread.join()
    if failed:
        raise failed[0]
