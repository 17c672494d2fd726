"""A witness that is lost with its volume, and put back from copies, as docs/upgrade.md says."""

import shutil
from pathlib import Path

import pytest

from maskedbandit.errors import BehindWitness
from maskedbandit.store.book.verify import verify_study
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.studies import find_witness
from tests.store.test_reconcile import House


def test_a_lost_witness_is_put_back_from_its_keys_and_its_newest_heads(tmp_path: Path) -> None:
    house = House(tmp_path)
    house.play(0, 200)
    database = open_database(house.address)
    witness = find_witness(database, tmp_path / "witness")
    copies = {name: (witness.folder / name).read_text() for name in ("keys", "heads")}
    house.play(200, 400)  # the copy of the heads is older than the database, by some releases
    before = verify_study(database, witness, "s")
    shutil.rmtree(tmp_path / "witness")
    with pytest.raises(BehindWitness, match="the keys of this database are not in"):
        house.open()
    witness.folder.mkdir(parents=True)
    (witness.folder / "keys").write_text(copies["keys"])
    with pytest.raises(BehindWitness, match="has never seen s"):
        house.open()
    (witness.folder / "heads").write_text(copies["heads"])
    house.open().close()
    assert verify_study(database, witness, "s").head == before.head
    database.close()
