"""Converts the text of Yahoo!'s front page logs [LCLW11] to a folder that is read fast: see docs/front_page.md.

Text comes in blocks, compressed by gzip or not. A compiled loop reads their lines (see text_reader.py) and stops at
candidates that are not those of the line before, which are read here. Events are written in parts of 2^20, so memory
grows with the number of articles and of different pools, not with the number of events, and not with what a file
unpacks to. Irregular lines are counted; a line that is not a visit is an error, unless so many are tolerated.
"""

import json
import os
import shutil
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from secrets import token_hex
from typing import Any

import numpy as np
import polars as pl

from maskedbandit.errors import InvalidValue, ResultsExist
from maskedbandit.lab.engine.compiler import compile_loop
from maskedbandit.lab.logs.candidates import Catalogue
from maskedbandit.lab.logs.recorded_log import FINISHED
from maskedbandit.lab.logs.text_reader import (
    CANDIDATES,
    FEATURES,
    FULL,
    READING_ENDS,
    WHAT_IS_WRONG,
    Pool,
    Position,
    VisitColumns,
    read_lines,
)

NONE = np.empty(0, np.int64)
BYTES_AT_ONCE = 2**20  # events of a file
BLOCK = 2**22  # bytes of text at a time
PACKED = 2**18  # bytes of gzip at a time
LONGEST_LINE = 2**20  # bytes of a line

KINDS_OF_LINE = {
    "blank": "blank lines",
    "absent": "visits dropped: the article shown is not a candidate",
    "cut": "visits dropped: the file ends within the line",
    "malformed": "lines dropped: not visits",
    "earlier": "visits earlier than the one before, kept",
    "partial": "visits without all six user features, kept",
    "twice": "lists that name a candidate twice, once kept",
    "bare": "articles without all six features, kept",
    "changed": "articles whose features change, the first kept",
}


def blocks(path: Path, advance: Callable[[int], object]) -> Iterator[bytes]:
    """The text of a file, decompressed if need be; `advance` is called with numbers of bytes read from disk."""
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        unpack, begun = zlib.decompressobj(wbits=31), False
        while block := file.read(PACKED if packed else BLOCK):
            advance(len(block))
            if not packed:
                yield block
            while packed and (begun or (block := block.lstrip(b"\0"))):  # zeros fill up the disk's last sector
                before = unpack.copy()
                try:
                    text = unpack.decompress(block, BLOCK)  # a thousand times as long without a limit
                except zlib.error:
                    yield salvaged(before, block)
                    raise
                yield text
                begun = not unpack.eof
                if begun:
                    block = unpack.unconsumed_tail
                    if not block:
                        break
                else:
                    block = unpack.unused_data  # another file may follow
                    unpack = zlib.decompressobj(wbits=31)
        if begun:
            raise zlib.error("it ends before its end was marked")


def salvaged(unpack: Any, block: bytes) -> bytes:
    """The text of a block before it breaks: it is fed byte by byte, because a call that fails returns nothing."""
    text = bytearray()
    with suppress(zlib.error):
        for i in range(len(block)):
            text += unpack.decompress(block[i : i + 1])
    return bytes(text)


class Conversion:
    """A folder that is being written."""

    def __init__(self, out: Path, tolerate: int) -> None:
        self.out, self.tolerate = out, tolerate
        self.catalogue, self.counts = Catalogue(), Counter[str]()
        self.parts = self.events = 0
        self.visits = VisitColumns(
            time=np.empty(BYTES_AT_ONCE, np.int64),
            arm=np.empty(BYTES_AT_ONCE, np.int32),
            click=np.empty(BYTES_AT_ONCE, np.uint8),
            pool=np.empty(BYTES_AT_ONCE, np.int32),
            user=np.empty((BYTES_AT_ONCE, FEATURES), np.float32),
        )
        self.position = Position(*(np.zeros(1, np.int64) for _ in Position._fields))
        self.pool = Pool(np.frombuffer(b"", np.uint8), NONE, NONE, np.full(1, -1))
        self.read = compile_loop(read_lines)

    def file(self, path: Path, advance: Callable[[int], object]) -> None:
        """Read all of a file."""
        rest = b""
        self.position.line[0] = 0
        try:
            for block in blocks(path, advance):
                cut = block.rfind(b"\n") + 1
                if cut:
                    self.lines(path, rest + block[:cut])
                    rest = block[cut:]
                else:
                    rest += block
                if len(rest) > LONGEST_LINE:
                    self.endless(path, rest)
        except zlib.error as wrong:
            self.refuse(path, f"broken ({wrong})", "a whole gzip file: get it again")
            return
        if b"\r" in rest and rest.count(b"|user") > 1:
            self.endless(path, rest)
        if rest.strip():
            self.lines(path, rest + b"\n", cut=True)

    def lines(self, path: Path, text: bytes, cut: bool = False) -> None:
        """Read whole lines; of one that was cut off, only if it has the candidates of the line before."""
        array, position = np.frombuffer(text, np.uint8), self.position
        position.next[0] = 0
        while (stop := self.read(array, array.size, self.pool, position, self.visits)) != READING_ENDS:
            start, end = int(position.next[0]), int(position.end[0])
            if stop == FULL:
                self.flush()
                continue
            if stop == CANDIDATES and not cut:
                pool = self.catalogue.look(text[position.tail[0] : end])
                if pool is not None:
                    self.pool = pool
                    continue
            if cut:
                self.counts["cut"] += 1
            else:
                self.refuse(path, cut_line(text[start:end]), f"a visit, which {WHAT_IS_WRONG[stop]}")
            position.next[0] = end + 1
            position.line[0] += 1

    def endless(self, path: Path, line: bytes) -> None:
        """Stop: a file that is not a log cannot be skipped line by line."""
        where = f"{path}, line {self.position.line[0] + 1}"
        allowed = f"shorter than {LONGEST_LINE} bytes: this is not a log"
        if b"\r" in line:
            allowed = "one visit: lines end with a line feed, and these with a carriage return alone"
        raise InvalidValue(where, f"{cut_line(line)}...", allowed)

    def refuse(self, path: Path, found: str, allowed: str) -> None:
        """Count what is malformed, or stop."""
        self.counts["malformed"] += 1
        if self.counts["malformed"] > self.tolerate:
            hint = f"(--tolerate {max(100, 10 * self.tolerate)} skips so many such lines; see docs/front_page.md)"
            raise InvalidValue(f"{path}, line {self.position.line[0] + 1},", found, f"{allowed} {hint}")

    def flush(self) -> None:
        """Write the visits that were read."""
        n = int(self.position.filled[0])
        if n:
            sizes = np.array([len(arms) for arms in self.catalogue.pools], np.float64)
            columns = {name: getattr(self.visits, name)[:n] for name in ("time", "arm", "click", "pool")}
            columns |= {f"u{f + 1}": self.visits.user[:n, f] for f in range(FEATURES)}
            columns["propensity"] = 1 / sizes[self.visits.pool[:n]]
            self.write(f"events-{self.parts:05d}", columns)
            self.parts, self.events = self.parts + 1, self.events + n
        self.position.filled[0] = 0

    def write(self, name: str, columns: dict[str, Any]) -> None:
        content = BytesIO()
        pl.DataFrame(columns).write_parquet(content, compression="zstd", compression_level=1)
        (self.out / f"{name}.parquet").write_bytes(content.getbuffer())

    def finish(self, sources: Iterable[Path]) -> dict[str, Any]:
        """Write the rest, and a summary of what was found."""
        self.flush()
        known = self.catalogue
        if not self.events:
            raise InvalidValue("FILE", " ".join(map(str, sources)), "files that hold at least one visit")
        features = np.array(known.features, np.float32)
        table = {"id": np.array(known.ids, np.int64), **{f"f{f + 1}": features[:, f] for f in range(FEATURES)}}
        self.write("articles", table)
        self.write("pools", {"arms": pl.Series([list(arms) for arms in known.pools], dtype=pl.List(pl.Int32))})
        counted = {name: int(getattr(self.position, name)[0]) for name in ("blank", "absent", "earlier", "partial")}
        counted |= {"twice": len(known.twice), "bare": len(known.bare), "changed": len(known.changed), **self.counts}
        about = {
            "events": self.events,
            "d": FEATURES,
            "k": len(known.ids),
            "pools": len(known.pools),
            "least": 1 / max(map(len, known.pools)),
            "parts": self.parts,
            "sources": [path.name for path in sources],
            "irregular": {name: counted.get(name, 0) for name in KINDS_OF_LINE},
        }
        (self.out / FINISHED).write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
        return about


def cut_line(line: bytes) -> str:
    """The beginning of a line, as text."""
    return line[:60].decode("ascii", "backslashreplace")


def convert_logs(
    files: Iterable[str | Path], out: str | Path, tolerate: int = 0, advance: Callable[[int], object] = lambda n: None
) -> dict[str, Any]:
    """Read files in this order, write a folder, and say what was found; `advance` is called with numbers of bytes read.

    The folder has its name once it is whole. One that holds anything is left alone, and no link is followed.
    """
    paths, out = [Path(file) for file in files], Path(out)
    if tolerate < 0:
        raise InvalidValue("--tolerate", tolerate, "a whole number of at least 0")
    if (out / FINISHED).exists():
        raise ResultsExist(f"{out} holds a log already: choose another folder with --out, or remove this one")
    for path in paths:
        if not path.is_file():
            raise InvalidValue("FILE", str(path), "a file that exists (see docs/front_page.md for where to get them)")
    if out.is_symlink() or (out.exists() and not (out.is_dir() and not any(out.iterdir()))):
        raise InvalidValue("--out", str(out), "a new folder, or an empty one")
    whole = Path(os.path.abspath(out))
    draft = whole.with_name(f"{whole.name}.{token_hex(8)}.draft")
    try:
        whole.parent.mkdir(parents=True, exist_ok=True)
        draft.mkdir()
    except OSError as wrong:
        raise InvalidValue("--out", str(out), f"a folder that can be written ({wrong.strerror})") from None
    try:
        conversion = Conversion(draft, tolerate)
        for path in paths:
            conversion.file(path, advance)
        about = conversion.finish(paths)
        draft.rename(whole)
    except BaseException:
        shutil.rmtree(draft)
        raise
    return about


def describe_conversion(about: dict[str, Any]) -> str:
    """The result of a conversion, in lines."""
    rows = [("events", about["events"]), ("articles", about["k"]), ("pools", about["pools"])]
    rows += [(KINDS_OF_LINE[name], count) for name, count in about["irregular"].items() if count]
    return "\n".join(f"{count:>14,}  {what}" for what, count in rows)
