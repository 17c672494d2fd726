"""Who may ask a helper: the leaders that are paired with it, by their credentials, and its own staff, by keys."""

from maskedbandit.errors import Unauthorized
from maskedbandit.service.keys import Key, Keys
from maskedbandit.store.databases.database import Database
from maskedbandit.store.pairing import hash_credential, read_pairings

LEADER_ROLE = "leader"
CREDENTIAL_LENGTH = 43


class LeaderKeys(Keys):
    """The keys of a helper in memory: a credential is one of role `leader`, by the fingerprint of whose it is.

    >>> from maskedbandit.store.databases.connection import open_database
    >>> from maskedbandit.store.pairing import accept_leader, write_invitation
    >>> from maskedbandit.study.operators import OperatorKeys
    >>> database, keys = open_database("sqlite:///:memory:"), LeaderKeys()
    >>> text = accept_leader(database, write_invitation(database, 0), OperatorKeys(bytes(32), bytes(32)), "Clinic", 0)
    >>> keys.read(database)
    >>> keys.of(text, 0).role, keys.of(text, 0).key[:8]
    ('leader', 'fdbc5213')
    """

    def __init__(self) -> None:
        super().__init__()
        self._leaders: dict[str, Key] = {}  # by the hash of a credential

    def read(self, database: Database) -> None:
        """Read all keys and pairings."""
        super().read(database)
        self._leaders = {
            each.credential: Key(each.fingerprint, LEADER_ROLE, None, each.credential, each.made, None)
            for each in read_pairings(database)
            if each.role == LEADER_ROLE
        }

    def of(self, text: str, now: int) -> Key:
        """The key with this text, or raise `Unauthorized`."""
        if text.startswith("mb_"):
            return super().of(text, now)
        if (found := self._leaders.get(hash_credential(text))) is None:
            raise Unauthorized("no leader that is paired with this helper has this credential")
        return found

    def may_be_new(self, text: str) -> bool:
        """Whether this has the form of a key, or of a credential, that was made since they were read."""
        return len(text) == CREDENTIAL_LENGTH or super().may_be_new(text)
