"""What is kept outside of the database: the head of every ledger, as a witness, and the keys.

A database can be restored from last night's copy, or copied to another machine. Then the ledger in it is whole and yet
not the one that was promised: releases that people have seen are not in it, and would be made again, with other noise
and from people whose charges were forgotten. So the head of each ledger is also written to a file that is not in the
database, before a release is shown to anybody; a study whose ledger is older than that is not opened.

The folder is `~/.config/maskedbandit/<database>`, or below another that one names; best it is on another volume. It
holds

    keys     one private key that signs the ledgers, and one for each project that makes pseudonyms of people
    heads    the head of every ledger, and what its releases cost the worst person
    lists    of each attempt at a sum in which devices add up, the hash of the list of devices that they were told

Whoever has only the database can neither sign an entry nor tell who a pseudonym is. Losing the folder is losing the
studies: keep a copy of `keys` where the database's copies are not.
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.hmac import HMAC

from maskedbandit.errors import BehindWitness, Corrupted, StorageFailed
from maskedbandit.privacy.loss import ZERO
from maskedbandit.store.book.chain import Head, is_on_chain
from maskedbandit.store.databases.database import Database


class Seen(NamedTuple):
    """What the witness has seen of a ledger."""

    head: Head
    worst: str  # the text of a loss that bounds what any person was charged for a cohort of the study


def standard_folder() -> Path:
    """Where the witnesses of all databases are if nothing else is said."""
    home = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(home) / "maskedbandit"


class Witness:
    """The folder of one database.

    **Guarantee**: `watching` lets a ledger move only from the head that was seen last, and ends after the new one is on
    disk.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._heads: dict[str, Any] | None = None  # as they were when they were read

    def exists(self) -> bool:
        """Whether there are keys."""
        return (self.folder / "keys").exists()

    def create(self) -> None:
        """Make the folder, and the key that signs, if there is none. Nothing else makes it: it may be mistyped."""
        with _named_errors(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with self._locked():
            if not self.exists():
                self._write("keys", {"signs": Ed25519PrivateKey.generate().private_bytes_raw().hex(), "people": {}})

    def signing_key(self) -> Ed25519PrivateKey:
        """The key that signs the ledgers."""
        return Ed25519PrivateKey.from_private_bytes(bytes.fromhex(self._keys()["signs"]))

    def add_project(self, project: str) -> None:
        """Make the key for the pseudonyms of a project's people, if there is none."""
        with self._locked():
            keys = self._keys()
            if project not in keys["people"]:
                keys["people"][project] = secrets.token_hex(32)
                self._write("keys", keys)

    def secret(self, use: str) -> bytes:
        """The secret for a use of the service, such as signing cookies; it is made if there is none."""
        with self._locked():
            keys = self._keys()
            if use not in (known := keys.setdefault("secrets", {})):
                known[use] = secrets.token_hex(32)
                self._write("keys", keys)
            return bytes.fromhex(known[use])

    def pseudonyms(self, project: str) -> Pseudonyms:
        """What makes pseudonyms of a project's people."""
        return Pseudonyms(self._key_of_people(project))

    def lots(self, project: str, use: str) -> Lots:
        """What draws the lots of a project's people for one use, independent of those for any other."""
        return Lots(hmac.digest(self._key_of_people(project), f"\nlots\n{use}".encode(), "sha256"))

    def _key_of_people(self, project: str) -> bytes:
        key = self._keys()["people"].get(project)
        if key is None:
            raise self._lost()
        return bytes.fromhex(key)

    def seen(self, study: str) -> Seen | None:
        """What was seen of the ledger of a study."""
        found = (self._read("heads") if self._heads is None else self._heads).get(study)
        return None if found is None else Seen(Head(*found[:2]), found[2])

    def expect(self, study: str) -> None:
        """Know a study before the first entry of its ledger, if nothing was seen of it."""
        with self._locked():
            heads = self._read("heads")
            if study not in heads:
                self._write("heads", {**heads, study: [*Head(), ZERO.to_text()]})

    def check_others(self, database: Database, study: str, known: Mapping[str, Any] = {}) -> Mapping[str, Any]:
        """Raise `BehindWitness` unless the database has what was seen of all other ledgers, which is returned.

        Studies share the accounts of their people. So if one ledger is behind, charges for its releases are missing,
        and another study would spend them again. What is `known` is what was returned before: that was found here.
        """
        heads = self._read("heads") if self._heads is None else self._heads
        for other, (*head, _) in heads.items():
            if other != study and heads[other] != known.get(other) and not is_on_chain(database, other, Head(*head)):
                raise BehindWitness(
                    f"the ledger of {other} is behind its witness in {self.folder}: this is a restored or another copy "
                    f"of the database, in which charges are missing, so {study} cannot be used either. Use the newest "
                    f"copy; if it is lost, reconcile {other} first"
                )
        return heads

    @contextmanager
    def watching(self, database: Database, study: str, before: Head, after: Head, worst: str) -> Iterator[None]:
        """Around the commit that moves the ledger of a study from one head to another.

        Raise `BehindWitness` before it if another process has moved the ledger on, or another study's in a copy of this
        database; write the new head after it.
        """
        with self._locked():
            self.check_others(database, study)
            heads = self._read("heads")
            last = Head(*heads[study][:2]) if study in heads else Head()
            if last != before:
                raise BehindWitness(
                    f"the ledger of {study} has {before.entries} entries here, and its witness in {self.folder} has "
                    f"seen {last.entries}: another copy of this database is in use"
                )
            yield
            heads[study] = [*after, worst]
            self._write("heads", heads)

    def saw(self, study: str, head: Head, worst: str) -> None:
        """Write down the head of a ledger that was checked against what was seen before."""
        with self._locked():
            self._write("heads", {**self._read("heads"), study: [*head, worst]})

    def keep_list(self, study: str, attempt: str, told: str) -> bool:
        """Write down what devices are told in an attempt at a sum; whether they were told nothing else before.

        A copy of the database that was made before the ledger moved is not behind, and may have other devices in the
        sum. Told of both lists, the devices would reveal the value of one that is in the first list alone.
        """
        with self._locked():
            lists = self._read("lists")
            before = lists.setdefault(study, {}).setdefault(attempt, told)
            self._write("lists", lists)
        return bool(before == told)

    def as_now(self) -> Witness:
        """The witness with the heads of now, for questions about a database that goes on meanwhile."""
        found = copy(self)
        found._heads = self._read("heads")
        return found

    def _keys(self) -> Any:
        found = self._read("keys")
        if not found:
            raise self._lost()
        return found

    def _lost(self) -> BehindWitness:
        return BehindWitness(
            f"the keys of this database are not in {self.folder}: name the folder that has them, with --witness. "
            "A copy of a database cannot be used without them"
        )

    def _read(self, name: str) -> dict[str, Any]:
        path = f"{self.folder}/{name}"  # a plain open of it: this is read before whatever is due, for each that comes
        try:
            with open(path, "rb", buffering=0) as file:
                found: dict[str, Any] = json.loads(file.read())
        except FileNotFoundError:
            return {}
        except ValueError:
            raise Corrupted(f"{path} cannot be read: restore it from its copy") from None
        except OSError as why:
            raise StorageFailed(f"{path} cannot be read: {why.strerror}") from why
        return found

    def _write(self, name: str, content: dict[str, Any]) -> None:
        """Replace a file as a whole: after a crash there is the old one or the new one."""
        path = self.folder / name
        with _named_errors(path):
            fresh = path.with_suffix(".new")
            file = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            try:
                rest = json.dumps(content, sort_keys=True).encode()
                while rest:
                    rest = rest[os.write(file, rest) :]
                os.fsync(file)
            finally:
                os.close(file)
            os.replace(fresh, path)
            folder = os.open(self.folder, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Let one process in at a time, until the end of a block."""
        import fcntl

        if not self.folder.is_dir():
            raise self._lost()
        with _named_errors(self.folder):
            file = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
        finally:
            os.close(file)


class Pseudonyms:
    """Keyed hashes of people's names. Without the key nobody can tell whose a pseudonym is, or make one.

    >>> Pseudonyms(bytes(32)).of("ann")
    '78352bae17eb6789b087bccad1370630'
    """

    def __init__(self, key: bytes) -> None:
        self._keyed = HMAC(key, SHA256())  # to prepare the key takes as long as the rest: it is done once

    def of(self, unit: str) -> str:
        """The pseudonym of a person: 128 bits of HMAC-SHA-256."""
        keyed = self._keyed.copy()
        keyed.update(unit.encode())
        return keyed.finalize()[:16].hex()


class Lots:
    """Numbers in [0, 1) that nobody can tell, or choose, without the key: one for each pseudonym, for ever.

    >>> float(Lots(bytes(32)).of("78352bae17eb6789b087bccad1370630"))
    0.6475369123984895
    """

    def __init__(self, key: bytes) -> None:
        self._key = key

    def of(self, pseudonym: str) -> Fraction:
        """The lot of a person: HMAC-SHA-256 as a binary fraction."""
        drawn = hmac.digest(self._key, pseudonym.encode(), "sha256")
        return Fraction(int.from_bytes(drawn, "big"), 1 << 8 * len(drawn))


@contextmanager
def _named_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as why:
        raise StorageFailed(f"{path} cannot be written: {why.strerror}") from why
