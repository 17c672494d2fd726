"""Who may ask besides whoever has a key: those who are paired here, a leader or sites, by their credentials."""

from maskedbandit.errors import Unauthorized
from maskedbandit.service.keys import Key, Keys
from maskedbandit.store.databases.database import Database
from maskedbandit.store.pairing import hash_credential, read_pairings

LEADER_ROLE, SITE_ROLE = "leader", "site"
CREDENTIAL_LENGTH = 43


class PairedKeys(Keys):
    """The keys in memory: a credential is one of the role of who is paired, by the fingerprint of whose it is.

    >>> from maskedbandit.store.databases.connection import open_database
    >>> from maskedbandit.store.pairing import accept_pairing, write_invitation
    >>> from maskedbandit.study.operators import OperatorKeys
    >>> database, keys = open_database("sqlite:///:memory:"), PairedKeys(LEADER_ROLE)
    >>> text = accept_pairing(database, write_invitation(database, 0), OperatorKeys(bytes(32), bytes(32)), "Clinic", 0)
    >>> keys.read(database)
    >>> keys.of(text, 0).role, keys.of(text, 0).key[:8]
    ('leader', 'fdbc5213')
    """

    def __init__(self, role: str) -> None:
        super().__init__()
        self._role = role
        self._paired: dict[str, Key] = {}  # by the hash of a credential

    def read(self, database: Database) -> None:
        """Read all keys and pairings."""
        super().read(database)
        self._paired = {
            each.credential: Key(each.fingerprint, self._role, None, each.credential, each.made, None)
            for each in read_pairings(database)
            if each.role == self._role
        }

    def of(self, text: str, now: int) -> Key:
        """The key that this text is, or raise `Unauthorized`."""
        if len(text) != CREDENTIAL_LENGTH:
            return super().of(text, now)
        if (found := self._paired.get(hash_credential(text))) is None:
            raise Unauthorized(f"no {self._role} that is paired with this service has this credential")
        return found

    def may_be_new(self, text: str) -> bool:
        """Whether this has the form of a key, or of a credential, that was made since they were read."""
        return len(text) == CREDENTIAL_LENGTH or super().may_be_new(text)
