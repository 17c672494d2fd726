"""How far a command is: a bar on a terminal, and elsewhere a line for each thing that begins."""

import logging
import sys
import threading
from types import TracebackType
from typing import Any, Self

CLOCK = 1.0  # seconds between two drawings of the bar, also while a long run lasts


class Progress(logging.Handler):
    """Shows what a command does, on standard error. `quiet` leaves out all but notes and warnings.

    The bar needs tqdm, which is optional: without it there are lines. What the package logs is shown as well.
    """

    def __init__(self, total: int, unit: str, scaled: bool = False, quiet: bool = False) -> None:
        super().__init__(logging.INFO)
        self.quiet, self.bar, self.begun = quiet, bar(total, unit, scaled) if not quiet else None, ""
        self._said = set[str]()  # a full disk, for one, is logged once for every kernel
        self._ended = threading.Event()
        self._clock = threading.Thread(target=self._tick, daemon=True)

    def __enter__(self) -> Self:
        logger = logging.getLogger("maskedbandit")
        logger.addHandler(self)
        self._level = logger.level
        logger.setLevel(logging.INFO)
        if self.bar is not None:
            self._clock.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, wrong: BaseException | None, at: TracebackType | None) -> None:
        logger = logging.getLogger("maskedbandit")
        logger.removeHandler(self)
        logger.setLevel(self._level)
        self._ended.set()
        if self.bar is not None:
            self._clock.join()
            self.bar.close()

    def begin(self, name: str) -> None:
        """Something of this name begins."""
        if self.bar is not None:
            self.bar.set_description(name)
        elif not self.quiet and name != self.begun:
            print(f"maskedbandit: {name}", file=sys.stderr)
        self.begun = name

    def advance(self, n: int = 1) -> None:
        """So many units are done."""
        if self.bar is not None:
            self.bar.update(n)

    def note(self, text: str) -> None:
        """Print something that readers of the results have to know."""
        if self.bar is not None:
            self.bar.write(f"maskedbandit: {text}", file=sys.stderr)
        else:
            print(f"maskedbandit: {text}", file=sys.stderr)

    def emit(self, record: logging.LogRecord) -> None:
        said = record.getMessage()
        if said not in self._said and (not self.quiet or record.levelno >= logging.WARNING):
            self._said.add(said)
            self.note(said)

    def _tick(self) -> None:
        while self.bar is not None and not self._ended.wait(CLOCK):
            self.bar.refresh()


def bar(total: int, unit: str, scaled: bool) -> Any:
    """A bar on a terminal; None elsewhere, or without tqdm."""
    if not sys.stderr.isatty():
        return None
    try:
        from tqdm import tqdm
    except ModuleNotFoundError:
        return None
    return tqdm(total=total, unit=unit, unit_scale=scaled, smoothing=0.05, file=sys.stderr, leave=False)
