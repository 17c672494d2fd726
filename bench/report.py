"""What all benchmarks report: a table, with a line for each measurement."""


def row(what: str, value: float, unit: str, goal: float | None = None, note: str = "") -> None:
    """Print one line of the table."""
    met = "" if goal is None else f"≤ {goal:<7g}{'yes' if value <= goal else 'NO'}"
    print(f"{what:58}{value:10.3g} {unit:8}{met:14}{note}", flush=True)
