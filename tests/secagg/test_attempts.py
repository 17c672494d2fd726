"""What messages show, and what must be new when a round is tried again. Seeds are fixed."""

import pytest

from maskedbandit.errors import AlreadySpent, InvalidValue, MaskedBanditError, OutOfTurn, ProtocolError
from maskedbandit.secagg import client as clients
from maskedbandit.secagg.client import RoundClient
from maskedbandit.secagg.messages import MASKED, pack_message
from tests.for_each import for_each
from tests.secagg.adversary import Liar, planned, seeded
from tests.secagg.rounds import Round


class TestPrivacyOfMessages:
    @for_each("signed", [False, True])
    @for_each("leaves", [{}, {0: 1, 1: 2}])
    def test_sizes_do_not_depend_on_values(self, signed, leaves):
        plan = planned(7, t=3, least=5, signed=signed, m=2**62)
        sizes = [
            [{user: len(message) for user, message in phase.items()} for phase in made.sent + made.received]
            for values in ([0] * 7, [2**62 - 1] * 7, [1, 2, 3, 4, 5, 6, 7])
            for made in [Round(plan, values, leaves).run()]
        ]
        assert sizes[0] == sizes[1] == sizes[2]

    def test_only_masked_values_depend_on_values(self):
        """Of two rounds with the same keys, and other values, every other message is the same."""
        made = [Round(planned(5), values).run() for values in ([1] * 5, [700] * 5)]
        for phase, (one, other) in enumerate(zip(made[0].sent, made[1].sent, strict=True)):
            assert (one == other) is (phase != 2)
        assert made[0].received == made[1].received

    def test_a_value_is_fixed_before_the_round_begins(self):
        """The constructor takes it; until it is masked no message of the server changes it."""
        client = Liar(planned(4)).clients[0]
        assert client._value == 10
        client.start()
        assert client._value == 10

    def test_no_text_shows_a_secret(self):
        plan = planned(5, m=2**62)
        values = [2**61 + 12345 + user for user in range(5)]
        made = Round(plan, values)
        made.phase()
        texts = [repr(each) + str(each) for each in (*made.clients.values(), made.server, plan)]
        secrets = [seed for client in made.clients.values() for seed in client._seeds]
        made.run()
        texts += [repr(each) + str(each) for each in (*made.clients.values(), made.server)]
        for kind in range(10):
            for client in Liar(plan, dict(enumerate(values))).until(2).clients.values():
                try:
                    client.receive(pack_message(kind, client._session, bytes(100)))
                except MaskedBanditError as said:
                    texts += [repr(said), str(said)]
        with pytest.raises(InvalidValue) as refused:
            RoundClient(plan, 0, 2**62 + 5, seeded(1))
        texts += [str(refused.value)]
        for text in texts:
            assert not any(str(value) in text or hex(value)[2:] in text for value in (*values, 2**62 + 5))
            assert not any(seed.hex() in text or repr(seed)[2:-1] in text for seed in secrets)


def clean(error: BaseException) -> None:
    """Of the frames that an error came through, those of the project hold nothing but what the caller has."""
    frame, seen = error.__traceback__, 0
    while frame:
        code, local = frame.tb_frame.f_code, frame.tb_frame.f_locals
        if "maskedbandit/secagg" in code.co_filename:
            seen += 1
            assert not local.keys() - {"self", "message", "answer", "wrong"}, local.keys()
        frame = frame.tb_next
    assert seen


ERRORS = {
    "keys": (1, lambda it: it.roster(0, keys=it.keys | {4: bytes(len(it.keys[4]))})),
    "sealed key shares": (2, lambda it: it.post(0, parcels={o: it.parcels[o][0] for o in (1, 2, 3)} | {4: bytes(50)})),
    "survivors": (3, lambda it: it.survivors(0, range(2))),
    "votes": (4, lambda it: it.ballots(0, range(5))[:-1] + b"x"),
}


class TestTracebacks:
    """Whoever logs an error with all variables logs no secrets, neither the device's own nor those of neighbours."""

    @for_each(("phase", "message"), ERRORS.values(), ids=ERRORS)
    def test_hold_no_secrets(self, phase, message):
        it = Liar(planned(5)).until(phase)
        with pytest.raises(ProtocolError) as refused:
            it.tell(0, message(it))
        clean(refused.value)

    def test_hold_none_if_nothing_can_be_written_down(self):
        def spend(user):
            raise OSError("disk")

        it = Liar(planned(5), spend=spend).until(2)
        with pytest.raises(OSError, match="disk") as refused:
            it.tell(0, it.post(0))
        clean(refused.value)

    def test_a_device_that_leaves_frames_as_they_are_is_caught(self, monkeypatch):
        monkeypatch.setattr(clients, "clear_frames", lambda traceback: None)
        it = Liar(planned(5)).until(2)
        with pytest.raises(ProtocolError) as refused:
            it.tell(0, ERRORS["sealed key shares"][1](it))
        with pytest.raises(AssertionError, match="pairs"):
            clean(refused.value)


class TestAttempts:
    """A round that failed is tried again: everything is new."""

    def test_keys_session_and_masks_are_new(self):
        first, again = (
            Liar(planned(5, cohort=b"cohort, attempt %d" % attempt, m=2**62), seed=attempt).until(3)
            for attempt in (1, 2)
        )
        assert not set(first.keys.values()) & set(again.keys.values())
        assert first.session(0) != again.session(0)
        assert not set(first.masked.values()) & set(again.masked.values())

    def test_equal_inputs_share_no_mask_even_under_one_plan(self):
        """Two sessions of one plan, the same values: no 62-bit word of what is sent is the same."""
        sent = [
            set(Liar(planned(5, m=2**62), [(u, 1) for u in range(5)], seed=s).until(3).masked.values()) for s in (1, 2)
        ]
        assert not sent[0] & sent[1]

    def test_a_mutant_that_keeps_its_keys_is_caught(self):
        """Only the session differs, and the masks still do: the same keys in one session would give the same masks."""
        one, two = (Liar(planned(5, m=2**62), [(u, 1) for u in range(5)], seed=1).until(3).masked for _ in range(2))
        assert one == two  # the same bits: what a device that draws no new ones sends
        other = Liar(planned(5, m=2**62, cohort=b"other"), [(u, 1) for u in range(5)], seed=1).until(3).masked
        assert not set(one.values()) & set(other.values())

    def difference(self, sticky, seed):
        """Two attempts, the second without user 0; what the difference of the sums says of its reward, 0 or 1."""
        noise, m = seeded(seed), 2**20
        reward = noise.below(2)

        def noisy(user):  # noise shares of noise that are mostly 0, as those of a cohort are
            noise_share = noise.below(9) - 4 if noise.below(4) == 0 else 0
            return ((reward if user == 0 else 1) + noise_share) % m

        first = [noisy(user) for user in range(5)]
        again = first if sticky else [noisy(user) for user in range(5)]
        plans = [planned(5, t=2, least=3, signed=False, m=m, cohort=b"%d" % attempt) for attempt in (1, 2)]
        one = Round(plans[0], first, seed=seed).run().total
        two = Round(plans[1], again, {0: 2}, seed=seed + 1).run().total
        return reward, first[0], (one - two) % m

    @pytest.mark.slow
    def test_sticky_noise_is_recovered_from_the_difference_of_two_sums(self):
        for seed in range(20):
            _, sent, difference = self.difference(sticky=True, seed=100 + seed)
            assert difference == sent  # the device's own message, which is the bare reward three times out of four

    @pytest.mark.slow
    def test_fresh_noise_is_not(self):
        """The noise of nine noise shares is in the difference: it is the device's message in few of 40 attempts."""
        hits = [
            sent == difference for seed in range(40) for _, sent, difference in [self.difference(False, 100 + 2 * seed)]
        ]
        assert sum(hits) < 20


class TestSpending:
    def test_a_device_writes_down_before_its_value_leaves(self):
        book = []
        liar = Liar(planned(4), spend=book.append).until(2)
        assert book == []
        answer = liar.tell(0, liar.post(0))
        assert (book, answer[1]) == ([0], MASKED)

    def test_a_device_keeps_neither_value_nor_seeds_once_its_value_has_left(self):
        it = Liar(planned(4)).until(3)
        for user, client in it.clients.items():
            kept = [each for name, each in vars(client).items() if name not in ("plan", "user")]
            assert not any(each in (it.values[user], *it.seeds[user], it.seeds[user]) for each in kept)
            assert not {"_value", "_seeds", "_mask"} & vars(client).keys()

    def test_a_device_that_is_called_while_it_answers_leaves(self):
        """As by a second thread, or by the book in which it writes down."""
        it = Liar(planned(4), spend=lambda user: it.clients[user].receive(it.post(user))).until(2)
        with pytest.raises(OutOfTurn, match="left the round"):
            it.tell(0, it.post(0))
        assert it.silent(0)

    @for_each("error", [AlreadySpent, OSError, KeyboardInterrupt])
    def test_a_device_that_cannot_write_sends_nothing(self, error):
        def spend(user):
            raise error("no")

        liar = Liar(planned(4), spend=spend).until(2)
        with pytest.raises(error):
            liar.tell(0, liar.post(0))
        assert liar.silent(0)
        assert len(liar.sent[0]) == 2

    def test_the_server_leaves_out_who_took_part_before(self):
        def spend(user):
            if user == 2:
                raise AlreadySpent("user 2")

        made = Round(planned(5, t=3, least=4), [1, 2, 3, 4, 5])
        made.server._spend = spend
        assert made.run().total == 1 + 2 + 4 + 5
        assert isinstance(made.refused[2], AlreadySpent)
