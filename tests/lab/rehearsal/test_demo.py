"""The demonstration of a round: what it says is what happened, and what cannot be is one line."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from scipy.stats import binom

from maskedbandit.backends.secagg import SecAgg
from maskedbandit.cli import main
from maskedbandit.errors import InvalidValue
from maskedbandit.lab.rehearsal.demo import RARE_FAILURE, Demo, allowed, bent, costs, describe_round, draw_secagg_round
from tests.for_each import for_each


@pytest.fixture(scope="module")
def round():
    return Demo(48, dropout="0.15", corrupted="0.05", epsilon="1/2", lost="0.25", seed=4).run()


@pytest.mark.slow
def test_the_sum_is_that_of_the_survivors_and_noise(round) -> None:
    survivors = round.aggregate.survivors
    assert survivors == [user for user in range(48) if round.leaves.get(user, 4) > 2]
    assert 0 < len(round.leaves) < 20
    true = sum(round.rewards[user] for user in survivors)
    assert abs(round.released - true) < 30
    assert round.released == int(round.released)


def test_without_losses_and_nearly_without_noise_it_is_the_true_sum() -> None:
    round = Demo(32, dropout=0, corrupted=0, epsilon=50).run()
    assert round.released == sum(round.rewards)
    assert round.leaves == {}
    assert round.channel.counted_on(32) == 32
    assert "lost               nobody" in describe_round(round)


@pytest.mark.slow
def test_all_is_said(round) -> None:
    said = describe_round(round)
    c, least = 2, 48 - 2 - 12
    assert round.channel.counted_on(48) == least
    m, tau = round.channel.residues(48)
    for part in (
        "n = 48",
        f"{least} honest devices are counted on, and each device adds 1/{least} of the noise",
        f"at least {least + c} values",
        f"by up to {48 + 2 * tau:,} unnoticed, {1 + 2 * tau / 48:.1f} times n",
        f"m = {m:,}",
        f"tau = {tau:,}",
        f"k = 47 neighbours, any {round.plan.threshold} of",
        f"{len(round.aggregate.survivors)} devices, whose values are in the sum",
        f"noisy sum          {round.released:,.0f}:",
        "ε                  0.5, unless the cryptography is broken",
        f"at least {len(round.aggregate.survivors) - c} honest devices survived, and {least} are enough",
    ):
        assert part in said, part
    for phase in round.aggregate.phases:
        assert f"\n{phase.name:19}" in said
    assert "the noise has a standard deviation of " in said
    assert all(len(line) <= 130 for line in said.splitlines())


@pytest.mark.slow
def test_the_standard_deviation_is_that_of_the_noise(round) -> None:
    said = float(describe_round(round).partition("standard deviation of ")[2].partition("\n")[0])
    z = np.arange(-400, 401)
    pmf = round.channel.noise.stretch(Fraction(2)).pmf(z, count=len(round.aggregate.survivors) / 34)
    assert said == pytest.approx(np.sqrt(np.sum(z * z * pmf)), abs=0.01)


def test_costs_are_those_of_the_devices_that_were_there(round) -> None:
    """Bytes of one device: those of all, over the number of those who were not lost before the phase."""
    rows = dict(costs(round))
    assert rows.pop("phase").split() == ["devices", "bytes", "up", "bytes", "down", "CPU", "seconds,", "all"]
    total = rows.pop("in all").split()
    assert list(rows) == [phase.name for phase in round.aggregate.phases]
    ups, downs = [], []
    for number, phase in enumerate(round.aggregate.phases):
        here = sum(round.leaves.get(user, 9) > number for user in range(48))
        ups.append(phase.up / here)
        downs.append(phase.down / here)
        found = rows[phase.name].replace(",", "").split()
        assert found == [f"{here}", f"{ups[-1]:.0f}", f"{downs[-1]:.0f}", f"{phase.seconds:.2f}"]
    assert total[:3] == ["each:", f"{sum(ups):,.0f}", f"{sum(downs):,.0f}"]
    assert float(total[3]) == pytest.approx(sum(phase.seconds for phase in round.aggregate.phases), abs=0.01)
    assert len({round.leaves.get(user, 9) for user in range(48)}) > 3  # phases have different numbers of devices
    assert [f"{up:.0f}" for up in ups] != [f"{down:.0f}" for down in downs]


def test_the_chance_of_more_losses_is_report(round) -> None:
    """That more than 12 of 48 are lost, each with 15 %."""
    drop = Fraction(15, 100)
    more = sum(comb(48, gone) * drop**gone * (1 - drop) ** (48 - gone) for gone in range(13, 49))
    assert f"more than 12 devices drop out with {float(more):.0e}; then the round may fail" in describe_round(round)


def test_losses_are_told_by_phase(round) -> None:
    for phase, count in zip(round.aggregate.phases, round.lost_by_phase(), strict=True):
        (line,) = [line for line in describe_round(round).splitlines() if line.startswith("lost")]
        assert (f" {phase.name} {count}" in line) == (count > 0)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_round() -> None:
    one, two, other = (Demo(40, dropout="0.05", corrupted=0, lost="0.2", seed=seed).run() for seed in (5, 5, 6))
    assert one.ring.order == two.ring.order
    assert (one.rewards, one.leaves, one.released) == (two.rewards, two.leaves, two.released)
    assert one.rewards != other.rewards


@pytest.mark.slow
@pytest.mark.parametrize("server", ["honest", "malicious"])
def test_a_sparse_graph_and_a_server_that_may_lie(server) -> None:
    how = {"dropout": "0.05", "corrupted": "0.02", "lost": "0.1", "server": server, "seed": 1}
    n = 130
    demo, auto = Demo(n, **how, graph="sparse"), Demo(n, **how)
    chosen = auto.backend.rules.find_neighbourhood(n, auto.channel.counted_on(n)).k
    assert (chosen == n - 1) == (server == "malicious")  # where the server may lie a sparse graph must be asked for
    heard: list[None] = []
    round = demo.run(lambda: heard.append(None))
    said = describe_round(round)
    assert round.plan.neighbours < n - 1
    assert ("2^-80" if server == "malicious" else "2^-40") in said
    assert ("keys and survivors are signed" in said) == ("\nvotes  " in said) == (server == "malicious")
    assert "rests on the server" not in said
    assert len(heard) == sum(n - gone for gone in np.cumsum(round.lost_by_phase()))
    assert abs(len(heard) - demo.messages) < 60
    draw_secagg_round(round)


def test_how_many_losses_are_allowed_for() -> None:
    for n, dropout in ((64, 0.1), (1000, 0.1), (50, 0.5)):
        most = allowed(n, Fraction(str(dropout)))
        assert binom.sf(most, n, dropout) <= RARE_FAILURE < binom.sf(most - 1, n, dropout)
    assert allowed(100, Fraction(0)) == 0


@for_each(
    ("how", "said"),
    [
        ({"n": 10}, "n is 10: it must be larger, or less must be lost: 1 corrupted and 7 lost leave 2 honest"),
        ({"n": 2}, "n is 2: it must be a whole number of at least 3"),
        (
            {"n": 64, "dropout": "0.9"},
            "dropout is '0.9': it must be so low that some devices are neither lost nor corrupted",
        ),
        ({"n": 64, "dropout": "0.3", "lost": "0.2"}, "lost is '0.2': it must be at least the dropout, 0.3"),
        ({"n": 64, "dropout": "x"}, "dropout is 'x': it must be a finite number of at least 0"),
        ({"n": 64, "lost": "x"}, "lost is 'x'"),
        ({"n": 64, "epsilon": "0"}, "epsilon is '0'"),
        ({"n": 64, "seed": -1}, "seed is -1"),
        ({"n": 200, "corrupted": "0.4", "lost": "0.3", "server": "malicious"}, "lost is 60: it must be from 0 to 59"),
        ({"n": 64, "corrupted": "-1"}, "corrupted is '-1'"),
    ],
)
def test_what_cannot_be_says_why(how, said) -> None:
    with pytest.raises(InvalidValue) as wrong:
        Demo(**how)
    assert said in str(wrong.value)


def test_the_picture_has_every_device_and_names_who_was_lost(round) -> None:
    figure = draw_secagg_round(round)
    (plot,) = figure.axes
    named = [text.get_text() for text in figure.legends[0].get_texts()]
    assert sum(int(text.split()[0]) for text in named) == 48
    for user, phase in round.leaves.items():
        (text,) = [text for text in named if f"lost before the {round.aggregate.phases[phase].name}" in text]
        assert text.endswith(": in the sum") == (user in round.aggregate.survivors)
    assert {2, 3} <= set(round.leaves.values())  # some were lost before their values came, some after
    assert f"{len(round.aggregate.survivors)} values are in the sum" in plot.get_title()
    assert f"with {round.plan.least - 1} it would not be opened" in plot.get_title()
    assert round.plan.least == 36
    points = np.concatenate([np.column_stack(line.get_data()) for line in plot.lines])
    assert len(points) == 48
    assert len({(round_to(x), round_to(y)) for x, y in points}) == 48
    assert np.hypot(*points.T) == pytest.approx(np.ones(48))
    early = sum(phase == 0 for phase in round.leaves.values())
    edges = sum(len(each.get_segments()) for each in plot.collections)
    assert edges == (48 - early) * (47 - early) // 2  # on a complete graph, of those who sent keys


def round_to(x: float) -> int:
    return int(np.rint(1e6 * x))


def test_edges_of_a_sparse_graph_bend_to_the_middle() -> None:
    near, far = (np.hypot(*bent(0.0, angle, 20, 200).T).min() for angle in (0.05, 0.3))
    assert far < near < 1
    chord = bent(0.0, np.pi, 99, 100)
    assert chord == pytest.approx(np.array([[1, 0], [-1, 0]]))


@pytest.mark.slow
def test_the_command_prints_and_draws(tmp_path, capsys) -> None:
    out = tmp_path / "out"
    command = ["secagg-demo", "-n", "40", "--dropout", "0.05", "--corrupted", "0", "--lost", "0.2", "--out", str(out)]
    assert main(command) == 0
    streams = capsys.readouterr()
    assert f"picture            {out / 'graph.png'}" in streams.out
    assert "n = 40" in streams.out
    for name in ("graph.png", "graph.svg"):
        assert (out / name).stat().st_size > 10_000
    before = (out / "graph.svg").read_bytes()
    assert main(command) == 0
    assert (out / "graph.svg").read_bytes() == before


@pytest.mark.parametrize("arguments", [["-n", "10"], ["--dropout", "1"], ["--out", "{file}"], ["--epsilon", "no"]])
def test_bad_input_is_one_line_and_writes_nothing(arguments, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    assert main(["secagg-demo", *(each.format(file=tmp_path / "file") for each in arguments)]) == 2
    streams = capsys.readouterr()
    assert (streams.out, streams.err.count("\n")) == ("", 1)
    assert streams.err.startswith("maskedbandit: ")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.slow
def test_a_round_that_fails_is_one_line(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(SecAgg, "leaves", lambda self, n, bits: dict.fromkeys(range(20), 1))
    assert main(["secagg-demo", "-n", "64", "--lost", "0.2", "--corrupted", "0", "--out", str(tmp_path)]) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.endswith("44 users are left after the phase of sealed key shares: 51 are needed")
    assert list(tmp_path.iterdir()) == []
