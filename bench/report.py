"""What all benchmarks report: a table, with a line for each measurement, and the goals that were missed."""

MISSED = list[str]()  # the lines of this process that did not meet their goal


def row(what: str, value: float, unit: str, goal: float | None = None, note: str = "") -> None:
    """Print one line of the table."""
    met = "" if goal is None else f"≤ {goal:<7g}{'yes' if value <= goal else 'NO'}"
    line = f"{what:58}{value:10.3g} {unit:8}{met:14}{note}"
    print(line, flush=True)
    if goal is not None and not value <= goal:
        MISSED.append(line)


def print_missed_goals() -> None:
    """Say at the end which goals were missed."""
    print(f"\n{len(MISSED)} goals were missed{':' if MISSED else ''}")
    for line in MISSED:
        print(line)
