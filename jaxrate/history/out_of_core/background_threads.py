"""Work in other threads: the next item is made, and the last one written, while one is used."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from queue import Full, Queue
from threading import Event, Thread
from typing import Any, NamedTuple

import jax

QUEUE_SIZE = 1  # items that wait between two threads
POLL_SECONDS = 0.05  # seconds after which a waiting thread checks whether it is still needed


class _EndOfItems(NamedTuple):
    """Marks the end of the items, and says why they ended."""

    error: BaseException | None = None


def _start_thread_in_same_context(work: Callable[[], None]) -> Thread:
    """Start a thread that works in the precision and the context of this one."""
    double, context = bool(jax.config.read("jax_enable_x64")), copy_context()

    def work_in_precision() -> None:
        with jax.enable_x64(double):
            work()

    thread = Thread(target=context.run, args=[work_in_precision], daemon=True)
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

    def receive_items() -> Iterator[Any]:
        while not isinstance(item := queue.get(), _EndOfItems):
            yield item
        if item.error is not None:
            raise item.error

    thread = _start_thread_in_same_context(work)
    try:
        yield receive_items()
    finally:
        over.set()
        thread.join()


@contextmanager
def write_behind(consume: Callable[[Any], None]) -> Iterator[Callable[[Any], None]]:
    """A function that hands items to another thread, which uses them in their order.

    An error of that thread is raised by the next call, or at the end, when all items have been used. After an error of
    this thread the waiting items are used all the same.
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

    thread = _start_thread_in_same_context(work)
    try:
        yield put
    finally:
        queue.put(_EndOfItems())
        thread.join()
    if failed:
        raise failed[0]
