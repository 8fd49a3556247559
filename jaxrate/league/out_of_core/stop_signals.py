"""SIGTERM and Ctrl-C while work is done that must be put away first."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def catch_stop_signals() -> Iterator[threading.Event]:
    """An event that SIGTERM and Ctrl-C set. Once the work is put away, the signal takes its usual course."""
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked  # only the main thread hears signals
        return
    heard: list[int] = []

    def hear(number: int, frame: Any) -> None:
        if number == signal.SIGINT and number in heard:
            raise KeyboardInterrupt  # whoever presses Ctrl-C again does not wait
        heard.append(number)
        asked.set()

    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    kept = None, signal.SIG_IGN  # handlers that are not of Python cannot be put back; a shell's background ignores
    before = {number: handler for number, handler in before.items() if handler not in kept}
    for number in before:
        signal.signal(number, hear)
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if heard:
            signal.raise_signal(heard[0])
