"""Sealed reports: they count where their device meant them to, and whatever was altered is left out, by name."""

from dataclasses import fields, replace
from hashlib import sha256
from random import Random

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from hypothesis import given
from hypothesis import strategies as st

from maskedbandit.errors import Forged, InvalidValue, Malformed, ProtocolError
from maskedbandit.secagg import uploads
from maskedbandit.secagg.prio3 import (
    FIELD,
    HELPER,
    LEADER,
    NONCE,
    ONE_PROOF,
    QUERY,
    SEED,
    Range,
    evaluate,
    expand,
    unpack,
)
from maskedbandit.secagg.uploads import (
    MOST_TURNS,
    REPORT_SUITE,
    SEAL,
    ReportTerms,
    ShareReader,
    Upload,
    digest_reports,
    seal_report,
)
from tests.altered_messages import count_messages
from tests.for_each import for_each
from tests.secagg.test_prio3 import forged

KEY, OTHER_KEY = bytes(range(SEED)), bytes(SEED)
PRIVATE = [X25519PrivateKey.from_private_bytes(bytes([9 + role]) * 32) for role in (LEADER, HELPER)]
PUBLIC = PRIVATE[0].public_key().public_bytes_raw(), PRIVATE[1].public_key().public_bytes_raw()
TERMS = ReportTerms(b"s" * 32, 3, b"o" * 32, 255, 7)
TURN = 5
READERS = [ShareReader(role, PRIVATE[role], KEY) for role in (LEADER, HELPER)]


def made(value=200, terms=TERMS, turn=TURN, seed=1):
    return seal_report(terms, value, PUBLIC, turn, Random(seed).randbytes)


def read(upload, terms=TERMS, readers=READERS):
    """The sum of what both operators read, or an error."""
    mine = readers[0].read(terms, upload.report, upload.turn, upload.leader)
    his = readers[1].read(terms, upload.report, upload.turn, upload.helper)
    terms.range.check(mine.verifier, his.verifier)
    return (mine.value + his.value) % FIELD


class TestReports:
    @pytest.mark.slow
    @given(st.sampled_from([1, 2, 255, 1000]), st.data())
    def test_both_operators_together_read_the_value(self, largest, data):
        terms, value = replace(TERMS, largest=largest), data.draw(st.integers(0, largest))
        assert read(made(value, terms, seed=data.draw(st.integers(0, 2**32))), terms) == value

    @for_each("largest", [1, 255, 1000])
    def test_all_have_one_size(self, largest):
        terms = replace(TERMS, largest=largest)
        sizes = set()
        for value in {0, 1, largest // 2, largest}:
            for turn in (0, TURN, MOST_TURNS - 1):
                upload = made(value, terms, turn, seed=value)
                upload.check(largest)
                sizes.add((len(upload.report), len(upload.leader), len(upload.helper)))
        assert sizes == {(NONCE, SEAL + terms.range.size, SEAL + SEED)}

    def test_what_the_helper_gets_has_nothing_of_the_value(self):
        """The same random bytes give the same share, whatever the value is."""
        helper = {TERMS.range.shard(value, Random(4).randbytes(2 * SEED))[HELPER] for value in range(256)}
        assert len(helper) == 1

    def test_what_the_leader_gets_is_masked_by_numbers_that_the_helper_alone_knows(self):
        rand = Random(4).randbytes(2 * SEED)
        values, other = TERMS.range, TERMS.range.expand_helper(rand[:SEED])[0]
        for value in (0, 77, 255):
            numbers = [int.from_bytes(values.shard(value, rand)[LEADER][8 * i : 8 * i + 8], "little") for i in range(8)]
            assert [(a + b) % FIELD for a, b in zip(numbers, other, strict=True)] == values.encode(value)

    def test_a_report_that_is_made_again_looks_like_another(self):
        one, two = made(seed=1), made(seed=2)
        assert one.report != two.report
        assert {one.leader, one.helper}.isdisjoint({two.leader, two.helper})


ALTERED = {
    "study": lambda terms: replace(terms, study=b"t" * 32),
    "cohort": lambda terms: replace(terms, cohort=4),
    "offer": lambda terms: replace(terms, offer=b"p" * 32),
    "place": lambda terms: replace(terms, place=8),
}


def check_binding(part):
    """Neither operator opens a report of which this part is another; both would sum it elsewhere if they did."""
    upload, terms = made(), TERMS
    if part in ALTERED:
        terms = ALTERED[part](terms)
    elif part == "report":
        upload = upload._replace(report=bytes(NONCE))
    elif part == "turn":
        upload = upload._replace(turn=TURN + 1)
    elif part == "operator":
        upload = upload._replace(leader=upload.helper, helper=upload.leader)
    for role in (LEADER, HELPER):
        reader = ShareReader(1 - role, PRIVATE[role], KEY) if part == "role" else READERS[role]
        with pytest.raises(Forged, match="not for this operator"):
            reader.read(terms, upload.report, upload.turn, upload[2 + role])


PARTS = [*ALTERED, "report", "turn", "role", "operator"]


class TestBinding:
    @for_each("part", PARTS)
    def test_seals_are_bound_to_every_part(self, part):
        check_binding(part)

    def test_every_part_of_the_terms_is_tried(self):
        """`largest` is a number of the offer, whose digest is tried; of another number of bits it fits no share."""
        assert {field.name for field in fields(ReportTerms)} == {*ALTERED, "largest"}
        for largest in (511, 127, 1):
            with pytest.raises(ProtocolError):
                read(made(), replace(TERMS, largest=largest))

    @pytest.mark.parametrize("part", PARTS[:-1])
    def test_a_seal_that_is_not_bound_to_a_part_is_found(self, part, monkeypatch):
        def bind(terms, role, report, turn):
            known = {"role": bytes((role,)), "report": report, "turn": turn.to_bytes(8), "study": terms.study}
            known |= {"offer": terms.offer, "cohort": terms.cohort.to_bytes(8), "place": terms.place.to_bytes(8)}
            return b"".join(value for name, value in known.items() if name != part)

        monkeypatch.setattr(ReportTerms, "bind", bind)
        with pytest.raises((pytest.fail.Exception, Malformed)):  # a share of the other role has another size
            check_binding(part)

    def test_no_two_bindings_are_the_same_text(self):
        """Each part has a fixed size, so none can be moved into another."""
        texts = {TERMS.bind(role, bytes(NONCE), turn) for role in (0, 1) for turn in (0, 1, 256)}
        texts |= {replace(TERMS, cohort=cohort).bind(0, bytes(NONCE), 0) for cohort in (0, 256)}
        texts |= {replace(TERMS, place=place).bind(0, bytes(NONCE), 0) for place in (0, 256)}
        assert len(texts) == 10
        assert len({len(text) for text in texts}) == 1

    def test_a_proof_is_bound_to_the_study(self):
        """If both seals did not hold, the proof would not either: its randomness is another one."""
        shares = TERMS.range.shard(200, Random(1).randbytes(2 * SEED))
        other = replace(TERMS, study=b"t" * 32).range
        told = [other.query(role, KEY, bytes(NONCE), share)[1] for role, share in enumerate(shares)]
        with pytest.raises(Forged, match="proof"):
            other.check(*told)


def sealed(share, role, upload, terms=TERMS):
    """What a device that seals by the rules makes of any bytes."""
    key = X25519PublicKey.from_public_bytes(PUBLIC[role])
    return REPORT_SUITE.encrypt(share, key, terms.bind(role, upload.report, upload.turn))


class TestDevicesThatLie:
    def test_a_value_out_of_range_is_left_out(self):
        values, random = TERMS.range, Random(3)
        for wrong in ([2, *[0] * 7], [FIELD - 1, *[0] * 7], [0] * 7 + [200]):
            leader, helper = forged(values, wrong, random)
            upload = made()
            upload = upload._replace(leader=sealed(leader, LEADER, upload), helper=sealed(helper, HELPER, upload))
            upload.check(255)
            with pytest.raises(Forged, match="proof does not hold"):
                read(upload)

    def test_a_proof_that_is_made_for_a_key_does_not_hold_for_another(self):
        """Devices do not know the key of both operators, from which come the numbers that a proof is checked with."""
        upload = made()
        readers = [READERS[0], ShareReader(HELPER, PRIVATE[HELPER], OTHER_KEY)]
        with pytest.raises(Forged, match="proof does not hold"):
            read(upload, readers=readers)

    @for_each("share", [b"", bytes(8), bytes(319), bytes(328), b"\xff" * 320, bytes(312) + FIELD.to_bytes(8, "little")])
    def test_a_share_of_another_form_is_malformed(self, share):
        upload = made()
        with pytest.raises(Malformed):
            read(upload._replace(leader=sealed(share, LEADER, upload)))

    @for_each("share", [b"", bytes(31), bytes(33), bytes(320)])
    def test_a_seed_of_another_form_is_malformed(self, share):
        upload = made()
        with pytest.raises(Malformed):
            read(upload._replace(helper=sealed(share, HELPER, upload)))

    @for_each("part", ["leader", "helper"])
    def test_no_byte_of_a_seal_can_be_changed(self, part):
        upload = made()
        whole = getattr(upload, part)
        for at in range(0, len(whole), 7):
            changed = whole[:at] + bytes((whole[at] ^ 1,)) + whole[at + 1 :]
            with pytest.raises(Forged):
                read(upload._replace(**{part: changed}))

    @for_each("sealed", [b"", bytes(31), bytes(32), bytes(47), bytes(48), bytes(80), b"\xff" * 80])
    def test_what_is_no_seal_is_refused_by_name(self, sealed):
        for role in (LEADER, HELPER):
            with pytest.raises(Forged):
                READERS[role].read(TERMS, bytes(NONCE), 0, sealed)


class TestSizes:
    UPLOAD = made()

    @for_each("change", [{"report": bytes(15)}, {"report": bytes(17)}, {"report": "x" * 16}, {"report": None}])
    def test_of_the_name(self, change):
        with pytest.raises(Malformed, match="name of a report has 16 bytes"):
            self.UPLOAD._replace(**change).check(255)

    @for_each("part", ["leader", "helper"])
    def test_of_the_shares(self, part):
        whole = getattr(self.UPLOAD, part)
        for wrong in (b"", whole[:-1], whole + b"\x00", bytearray(whole), whole.hex(), None):
            with pytest.raises(Malformed, match=f"{part}'s share of a report has {len(whole)} bytes"):
                self.UPLOAD._replace(**{part: wrong}).check(255)
        with pytest.raises(Malformed, match="leader's share"):
            self.UPLOAD.check(1)

    @for_each("turn", [-1, MOST_TURNS, 1.0, True, "1", None])
    def test_of_the_turn(self, turn):
        with pytest.raises(Malformed, match="turn of a report"):
            self.UPLOAD._replace(turn=turn).check(255)

    @for_each(
        "change",
        [{"study": b""}, {"study": "s" * 32}, {"offer": bytes(31)}, {"offer": bytearray(32)}]
        + [{name: value} for name in ("cohort", "place") for value in (-1, 2**63, 1.0, True, None)],
    )
    def test_of_the_terms(self, change):
        with pytest.raises(InvalidValue, match=r"study and offer|cohort|place"):
            replace(TERMS, **change)

    @for_each("role", [2, -1, "leader", None])
    def test_there_are_two_roles(self, role):
        with pytest.raises(InvalidValue, match="role"):
            ShareReader(role, PRIVATE[0], KEY)


REPORTS = {place: sha256(str(place).encode()).digest()[:NONCE] for place in (0, 3, 7, 300)}


class TestDigestOfAList:
    def test_is_that_of_the_list_in_any_order(self):
        assert digest_reports(REPORTS) == digest_reports(dict(reversed(REPORTS.items())))

    def test_is_another_for_every_other_list(self):
        lists = [REPORTS, {}]
        lists += [{place: report for place, report in REPORTS.items() if place != left} for left in REPORTS]
        lists += [REPORTS | {place: bytes(NONCE)} for place in (0, 3, 8)]
        reports = list(REPORTS.values())
        lists.append(dict(zip(REPORTS, [reports[1], reports[0], *reports[2:]], strict=True)))
        assert len({digest_reports(each) for each in lists}) == len(lists)


def alter(random, upload, other):
    """An upload and terms of which something is not as it was."""
    terms, kind = TERMS, random.randrange(10)
    part = random.choice(("leader", "helper"))
    whole = bytearray(getattr(upload, part))
    if kind == 0:
        for _ in range(random.randint(1, 4)):
            whole[random.randrange(len(whole))] ^= random.randint(1, 255)
        if bytes(whole) == getattr(upload, part):
            whole[0] ^= 1
    elif kind == 1:
        del whole[random.randrange(len(whole)) :]
    elif kind == 2:
        whole += random.randbytes(random.randint(1, 64))
    elif kind == 3:
        whole = bytearray(random.randbytes(random.randint(0, 2 * len(whole))))
    elif kind == 4:
        whole = bytearray(getattr(other, part))
    elif kind == 5:
        return upload._replace(report=random.randbytes(NONCE)), terms
    elif kind == 6:
        return upload._replace(turn=random.choice((0, TURN + 1, MOST_TURNS - 1))), terms
    elif kind == 7:
        return upload, ALTERED[random.choice(list(ALTERED))](terms)
    elif kind == 8:  # sealed by the rules: bytes that are no share, or a share of which one number is another
        role = ("leader", "helper").index(part)
        share = random.randbytes(random.choice((0, 8, 31, 32, 33, 320, TERMS.range.size + 8)))
        whole = bytearray(sealed(share, role, upload))
    else:
        bits = [random.randrange(FIELD) if random.random() < 0.2 else random.randrange(2) for _ in range(8)]
        bits[random.randrange(8)] = random.randrange(2, FIELD)
        leader, helper = forged(TERMS.range, bits, random)
        return upload._replace(leader=sealed(leader, 0, upload), helper=sealed(helper, 1, upload)), terms
    return upload._replace(**{part: bytes(whole)}), terms


def fuzz(count, seed=33):
    """How many of so many altered uploads were accepted; any error but a named one ends it."""
    random, accepted = Random(seed), 0
    pool = [made(random.randint(0, 255), seed=number) for number in range(64)]
    for _ in range(count):
        upload, terms = alter(random, *random.sample(pool, 2))
        try:
            read(upload, terms)
        except ProtocolError:
            continue
        accepted += 1
    return accepted


def test_no_altered_upload_is_accepted():
    assert fuzz(500) == 0


@pytest.mark.slow
def test_no_altered_upload_of_very_many_is_accepted():
    assert fuzz(len(count_messages(10**5)), seed=34) == 0


def test_operators_who_check_no_proof_are_found(monkeypatch):
    monkeypatch.setattr(Range, "check", lambda values, leader, helper: None)
    assert fuzz(500) > 0


def test_operators_whose_seals_hold_nothing_are_found(monkeypatch):
    class Open:
        """It seals nothing: what it is bound to is not looked at."""

        @staticmethod
        def encrypt(share, key, info):
            return bytes(SEAL) + share

        @staticmethod
        def decrypt(sealed, private, info):
            return sealed[SEAL:]

    monkeypatch.setattr(uploads, "REPORT_SUITE", Open)
    assert fuzz(500) > 0


def test_an_upload_is_what_it_was():
    assert read(made()) == 200
    assert isinstance(made(), Upload)


@pytest.mark.parametrize("value", [0, 1])
def test_two_points_of_a_proof_tell_its_value(value: int) -> None:
    """Why the key of the proofs follows from the keys of both operators, and neither chooses it."""
    bits = Range(1, b"a study")
    leader, helper = bits.shard(value, Random(3).randbytes(64))
    lines = []
    for key in (KEY, OTHER_KEY):
        (t,) = expand(key, bits.label(QUERY), ONE_PROOF + bytes(16), 1)
        near = evaluate([1, 0], t), evaluate([0, 1], t)
        lines.append((near, unpack(bits.query(LEADER, key, bytes(16), leader)[1], 4)[1]))
    ((a, b), x), ((c, d), y) = lines  # a seed and the leader's share of the bit, in two equations
    share = (a * y - c * x) * pow(a * d - b * c, -1, FIELD) % FIELD
    assert (share + bits.expand_helper(helper)[0][0]) % FIELD == value
