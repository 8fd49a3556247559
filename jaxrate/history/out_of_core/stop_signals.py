"""SIGTERM and Ctrl-C while results must be saved first."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def catch_stop_signals() -> Iterator[threading.Event]:
    """An event that SIGTERM and Ctrl-C set. Once the results are saved, the signal takes its usual course."""
    requested = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield requested  # only the main thread receives signals
        return
    received: list[int] = []

    def handle_signal(number: int, frame: Any) -> None:
        if number == signal.SIGINT and number in received:
            raise KeyboardInterrupt  # Ctrl-C a second time does not wait
        received.append(number)
        requested.set()

    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    excluded = None, signal.SIG_IGN  # handlers outside Python cannot be restored; a shell's background jobs ignore
    before = {number: handler for number, handler in before.items() if handler not in excluded}
    for number in before:
        signal.signal(number, handle_signal)
    try:
        yield requested
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if received:
            signal.raise_signal(received[0])
