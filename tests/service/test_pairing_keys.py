"""A leader that pairs with a helper shows that the keys are its own, and that something can be sealed for it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from maskedbandit.store.pairing import sign_invitation
from maskedbandit.study.operators import OperatorKeys
from tests.service.helper_inside import HelperInside, PlayedLeader, helped_leader


@pytest.fixture
def leader(tmp_path: Path) -> Iterator[PlayedLeader]:
    with helped_leader(f"sqlite:///{tmp_path}/helper.db", tmp_path) as made:
        yield made


def test_nobody_pairs_with_the_keys_of_another(leader: PlayedLeader, tmp_path: Path) -> None:
    """Public keys are no secret: whoever took a leader's place here could end its studies."""
    assert isinstance(leader.helper, HelperInside)
    thief, token = PlayedLeader(leader.helper, tmp_path / "thief"), leader.helper.invite()
    stolen = {"seals": leader.keys.seals.hex(), "signs": leader.keys.signs.hex()}
    signed = [sign_invitation(thief.witness.signing_key(), leader.keys, token)]
    signed += [sign_invitation(leader.witness.signing_key(), leader.keys, "another")]
    for signature in signed:
        assert thief.pair(token, **stolen, signature=signature).code == "forged"
    assert leader.ask("GET", "").status == 200, "the leader still is who it was"
    assert thief.pair(token).status == 200


def test_a_leader_has_keys_with_which_something_can_be_sealed(leader: PlayedLeader) -> None:
    assert isinstance(leader.helper, HelperInside)
    token, keys = leader.helper.invite(), OperatorKeys(bytes(32), leader.keys.signs)
    signature = sign_invitation(leader.witness.signing_key(), keys, token)
    assert leader.pair(token, seals=keys.seals.hex(), signature=signature).code == "invalid_value"
    assert leader.pair(token).status == 200
