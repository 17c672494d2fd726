"""Tokens of people: nobody but the application can make one, and it is for one person of one study, for a time."""

from itertools import product

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

import maskedbandit as mb
from maskedbandit.device_refusals import TokenExpired, TokenExpiresTooLate, TokenForged, TokenUnknownKey
from maskedbandit.errors import InvalidValue, Unauthorized
from maskedbandit.study import signatures
from maskedbandit.study.signatures import (
    LONGEST_LIFE,
    MOST_SIGNERS,
    check_token,
    name_signer,
    read_signer,
    read_signers,
    sign_person,
)

PRIVATE = [f"{i:02x}" * 32 for i in range(1, 12)]
PUBLIC = [
    Ed25519PrivateKey.from_private_bytes(bytes.fromhex(each)).public_key().public_bytes_raw().hex() for each in PRIVATE
]
NOW = 1_764_000_000  # seconds
GOOD = sign_person(PRIVATE[0], "small", "ann", NOW + 60)


def test_a_token_holds_for_one_person_of_one_study_for_a_time() -> None:
    assert mb.sign_person is sign_person
    check_token(PUBLIC[:2], "small", "ann", GOOD, 1000 * NOW)
    check_token(PUBLIC[:2], "small", "ann", sign_person(PRIVATE[1], "small", "ann", NOW + 60), 1000 * NOW)
    for study, unit in (("small", "bob"), ("other", "ann"), ("small", "ann "), ("small", "")):
        with pytest.raises(TokenForged):
            check_token(PUBLIC[:2], study, unit, GOOD, 1000 * NOW)
    with pytest.raises(TokenExpired):
        check_token(PUBLIC, "small", "ann", GOOD, 1000 * (NOW + 60))
    with pytest.raises(TokenUnknownKey):
        check_token(PUBLIC[1:], "small", "ann", GOOD, 1000 * NOW)
    with pytest.raises(TokenExpiresTooLate):
        check_token(PUBLIC, "small", "ann", GOOD, 1000 * (NOW + 60 - LONGEST_LIFE) - 1)


def test_no_other_text_says_the_same() -> None:
    """Every change of one character is refused."""
    for i, character in enumerate(GOOD):
        other = "0" if character != "0" else "1"
        with pytest.raises(Unauthorized):
            check_token(PUBLIC[:1], "small", "ann", GOOD[:i] + other + GOOD[i + 1 :], 1000 * NOW)


def test_what_is_refused_says_nothing_of_the_person() -> None:
    for token in (GOOD, GOOD[:-1], "", f"{GOOD[:-2]}00"):
        with pytest.raises(Unauthorized) as why:
            check_token(PUBLIC[:1], "small", "somebody else", token, 1000 * NOW)
        assert not any(each in str(why.value) for each in ("somebody", "ann", GOOD[-20:]))


def list_replays(token: str) -> dict[str, tuple[str, str, str]]:
    """A token where it does not belong: for another study, another person, and with another time."""
    key, _, signature = token.split(".")
    later = f"{key}.{NOW + 600}.{signature}"
    return {"study": ("other", "ann", token), "unit": ("small", "bob", token), "expires": ("small", "ann", later)}


@pytest.mark.parametrize("forgotten", ["study", "unit", "expires"])
def test_a_signature_that_forgets_something_would_be_found(forgotten: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for replayed in list_replays(GOOD).values():
        with pytest.raises(TokenForged):
            check_token(PUBLIC[:1], *replayed, 1000 * NOW)

    def write_less(study: str, unit: str, expires: int) -> bytes:
        return str({"study": study, "unit": unit, "expires": expires, forgotten: None}).encode()

    monkeypatch.setattr(signatures, "write_person_text", write_less)
    replays = list_replays(sign_person(PRIVATE[0], "small", "ann", NOW + 60))
    check_token(PUBLIC[:1], *replays.pop(forgotten), 1000 * NOW)
    for replayed in replays.values():
        with pytest.raises(TokenForged):
            check_token(PUBLIC[:1], *replayed, 1000 * NOW)


SPACED = [PUBLIC[0], f"{PUBLIC[0][:32]} {PUBLIC[0][32:]}"]  # the same key twice, in a text that Python reads


def test_what_signs_is_one_key_or_a_few() -> None:
    assert read_signers(PUBLIC[0]) == (PUBLIC[0],)
    assert read_signers(PUBLIC[:MOST_SIGNERS]) == tuple(PUBLIC[:MOST_SIGNERS])
    twice = [PUBLIC[0], PUBLIC[0].upper()]
    for wrong in ([], PUBLIC[: MOST_SIGNERS + 1], "00", [PUBLIC[0], "00"], twice, 5, [[]], {}, SPACED):
        with pytest.raises(InvalidValue, match="signed_by"):
            read_signers(wrong)
    assert isinstance(read_signer(PUBLIC[0])[1], Ed25519PublicKey)


FORGEABLE = ["00" * 32, "01" + "00" * 31, "00" * 31 + "80", f"ec{'ff' * 30}7f", f"ed{'ff' * 30}7f", f"ee{'ff' * 30}7f"]
FORGEABLE += ["26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"]
FORGEABLE += ["c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"]


@pytest.mark.sparing(3)
@pytest.mark.parametrize("public", FORGEABLE)
def test_a_key_for_which_anybody_can_sign_is_refused(public: str) -> None:
    """And it would have to be: of some times a signature is found that nobody made."""
    signatures_of_nobody = [f"{point}{'00' * 32}" for point in FORGEABLE]
    name, held = name_signer(bytes.fromhex(public)), 0
    for expires, signature in product(range(NOW + 1, NOW + 30), signatures_of_nobody):
        try:
            check_token([public], "small", "ann", f"{name}.{expires}.{signature}", 1000 * NOW)
        except TokenForged:
            continue
        held += 1
    assert held
    for each in (public, [PUBLIC[0], public]):
        with pytest.raises(InvalidValue, match="anybody can sign"):
            read_signers(each)


def test_what_cannot_be_signed() -> None:
    for private, study, expires in (
        ("00", "small", NOW),
        (PRIVATE[0], "", NOW),
        (PRIVATE[0], "small ann", NOW),
        (PRIVATE[0], "small", NOW + 0.5),
        (PRIVATE[0], "small", -1),
        (PRIVATE[0], "small", 10**12),
    ):
        with pytest.raises(InvalidValue) as why:
            sign_person(private, study, "ann", expires)
        assert PRIVATE[0] not in str(why.value)
