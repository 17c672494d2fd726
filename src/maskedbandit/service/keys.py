"""Keys: who may ask the service for what. A key is shown once, when it is made; the database has a hash of it.

    mb_owner_3f2a9c01_<secret>      its role, its public part and its secret part

An owner makes studies and keys, and starts and stops studies. An officer of privacy reads everything that may be shown,
verifies ledgers, erases people, and pauses and stops studies. A client is an application: it assigns, exposes and
reports, and reads nothing else. A device is an application's page or app, on the devices of its people: its key is
published, is for one study, and is worth nothing without a token that the application's backend has signed for the
person (study/signatures.py), nor on pages of other sites than its origins. What is not allowed to a role is refused.

What is kept in memory is read again every second, so what another process revokes or ends here too.
"""

import hmac
import secrets
from collections.abc import Iterable
from hashlib import sha256
from itertools import count
from threading import Lock
from typing import Any, NamedTuple

from maskedbandit.errors import InvalidValue, Unauthorized, UnknownKey
from maskedbandit.service.origins import check_origins
from maskedbandit.store.databases.database import Database, do_again
from maskedbandit.store.study_rows import read_study
from maskedbandit.study.protocol import Protocol
from maskedbandit.value_words import shorten_value

OWNER, OFFICER, CLIENT, DEVICE = "owner", "officer", "client", "device"
SECRET_ROLES = (OWNER, OFFICER, CLIENT)  # whose keys may be for all studies
ROLES = (*SECRET_ROLES, DEVICE)
STAFF = (OWNER, OFFICER)
ROTATION_OVERLAP = 86_400_000  # milliseconds for which a rotated key still holds


class Key(NamedTuple):
    """A key, as it is stored."""

    key: str
    role: str
    study: str | None
    hash: str
    made: int
    ends: int | None
    origins: tuple[str, ...] = ()  # of a device key
    last_used: str | None = None  # the day, but for reports: host/last_use.py

    def holds(self, now: int) -> bool:
        """Whether it was not revoked."""
        return self.ends is None or now < self.ends


def write_change(database: Database, statement: str, *values: Any) -> None:
    """Make one change, again and again while transactions of studies are in its way."""

    def once() -> None:
        with database.transaction():
            database.change(statement, *values)

    do_again(once)


def hash_secret(secret: str) -> str:
    """The hash that is stored of a key or a session. Its secret has 128 random bits or more: a plain hash is enough."""
    return sha256(secret.encode()).hexdigest()


def write_key(database: Database, role: str, study: str | None, now: int, origins: Iterable[str] = ()) -> str:
    """A new key, as it is shown once; a device key may be used on pages of these origins."""
    if role not in ROLES:
        raise InvalidValue("role", role, f"one of {', '.join(ROLES)}")
    origins = check_origins(origins)
    if role == DEVICE:
        check_device_study(database, study)
    elif origins:
        raise InvalidValue("origins", origins, f"left out for a key of role {role}: they are for device keys")
    elif study is not None:
        read_study(database, study)  # is there one?
    public, secret = secrets.token_hex(4), secrets.token_urlsafe(32)
    new = "INSERT INTO api_key (key, role, study, hash, made, origins) VALUES (?, ?, ?, ?, ?, ?)"
    said = " ".join(origins) if role == DEVICE else None
    write_change(database, new, public, role, study, hash_secret(secret), now, said)
    return f"mb_{role}_{public}_{secret}"


def check_device_study(database: Database, study: str | None) -> None:
    """Raise `InvalidValue` unless a device key can be for this study."""
    if study is None:
        raise InvalidValue("study", study, "the study that the device key is for")
    if not Protocol.from_text(read_study(database, study).protocol).signed_by:
        allowed = "one whose protocol has `signed_by`: in others whoever reads a device key could come as anybody"
        raise InvalidValue("study", study, allowed)


def read_keys(database: Database) -> list[Key]:
    """All keys, oldest first."""
    find = "SELECT key, role, study, hash, made, ends, origins, last_used FROM api_key ORDER BY made"
    return [Key(*row)._replace(origins=tuple((row[6] or "").split())) for row in database.rows(find)]


def end_key(database: Database, public: str, when: int) -> Key:
    """Revoke a key, at this time at the latest."""
    read_key(database, public)  # is there such a key?
    write_change(
        database, "UPDATE api_key SET ends = ? WHERE key = ? AND (ends IS NULL OR ends > ?)", when, public, when
    )
    return read_key(database, public)


def replace_key(database: Database, public: str, now: int) -> str:
    """A new key in place of an old one, which still holds for a day."""
    old = read_key(database, public)
    if not old.holds(now):
        raise InvalidValue("key", public, "one that was not revoked")
    fresh = write_key(database, old.role, old.study, now, old.origins)
    end_key(database, public, now + ROTATION_OVERLAP)
    return fresh


def read_key(database: Database, public: str) -> Key:
    """The key with this public part."""
    for key in read_keys(database):
        if key.key == public:
            return key
    raise UnknownKey(f"no key has the public part {shorten_value(public)}")


class Keys:
    """The keys of a database in memory: read again every second, so what another process revokes ends here too.

    >>> from maskedbandit.store.databases.connection import open_database
    >>> database = open_database("sqlite:///:memory:")
    >>> text, keys = write_key(database, "client", None, 0), Keys()
    >>> keys.read(database)
    >>> keys.of(text, 0).role, text in str(read_keys(database))
    ('client', False)
    """

    def __init__(self) -> None:
        self._known: dict[str, Key] = {}
        self._of_devices: dict[str, list[Key]] = {}  # by study
        self._turns, self._last, self._lock = count(1), 0, Lock()
        self._right: dict[str, str] = {}  # the public parts of texts that were right: a hash takes longer than a look

    def read(self, database: Database) -> None:
        """Read all keys. Of threads that read at the same time, whoever began last saw the most."""
        turn = next(self._turns)
        found = {key.key: key for key in read_keys(database)}
        devices: dict[str, list[Key]] = {}
        for key in found.values():
            if key.role == DEVICE:
                devices.setdefault(str(key.study), []).append(key)
        with self._lock:
            if turn > self._last:
                self._last, self._known, self._of_devices = turn, found, devices

    def of(self, text: Any, now: int) -> Key:
        """The key with this text, or raise `Unauthorized`."""
        if (public := self._right.get(text)) is None:
            public = self._right[text] = self._checked(text)
        key = self._known.get(public)  # as it is now
        if key is None or not key.holds(now):
            raise Unauthorized("this key was revoked")
        return key

    def may_be_new(self, text: str) -> bool:
        """Whether this has the form of a key that was made, by a command or another process, since keys were read."""
        parts = text.split("_", 3)
        return len(parts) == 4 and len(text) < 200 and parts[2] not in self._known

    def names_origin(self, study: str, origin: str, now: int) -> bool:
        """Whether a device key of a study that holds names an origin."""
        return any(origin in key.origins and key.holds(now) for key in self._of_devices.get(study, ()))

    def public(self, public: str, now: int) -> Key | None:
        """The key with this public part, if there is one that holds."""
        key = self._known.get(public)
        return key if key and key.holds(now) else None

    def _checked(self, text: Any) -> str:
        """The public part of a text that is a key."""
        if isinstance(text, str) and len(text) < 200 and text.isascii():
            parts = text.split("_", 3)
            if len(parts) == 4 and parts[0] == "mb":
                key = self._known.get(parts[2])
                if key and hmac.compare_digest(key.hash, hash_secret(parts[3])) and key.role == parts[1]:
                    return key.key
        raise Unauthorized("a key is needed, as `Authorization: Bearer mb_...`")


class SignedOut:
    """Sessions of the page that were ended before their time, in memory: whoever signs out is out, in every process.

    >>> from maskedbandit.store.databases.connection import open_database
    >>> database, over = open_database("sqlite:///:memory:"), SignedOut()
    >>> over.add(database, "ann's", ends=2000, now=1000)
    >>> "ann's" in over, "bob's" in over
    (True, False)
    """

    def __init__(self) -> None:
        self._known = set[str]()

    def read(self, database: Database) -> None:
        """Read all of them; none is ever taken back."""
        self._known.update(str(session) for (session,) in database.rows("SELECT session FROM signed_out"))

    def add(self, database: Database, session: str, ends: int, now: int) -> None:
        """Write down that a session is over, and forget those that would be over anyway."""
        write_change(database, "DELETE FROM signed_out WHERE ends <= ?", now)
        new = "INSERT INTO signed_out (session, ends) VALUES (?, ?) ON CONFLICT DO NOTHING"
        write_change(database, new, hash_secret(session), ends)
        self.read(database)

    def __contains__(self, session: str) -> bool:
        return hash_secret(session) in self._known
