"""Processes of tests, from one that imports once what all of them need.

A process of pytest has one such server, whichever tests ask it.
"""

from multiprocessing import get_context

GOALS = [f"maskedbandit.lab.goals.{goal}.goal" for goal in ("regret", "identify", "select", "answer", "replay")]
FIGURES = "maskedbandit.lab.goals.regret.figure"  # of which every experiment is asked
PARTS = ["maskedbandit.policies.regret.ucb1", "maskedbandit.channels.raw", "maskedbandit.lab.delays.constant"]
LOOPS = ["numba", "maskedbandit.lab.engine.compiler"]

PROCESSES = get_context("forkserver")
PROCESSES.set_forkserver_preload(["pytest", "maskedbandit.lab.experiments.table", *GOALS, FIGURES, *PARTS, *LOOPS])
