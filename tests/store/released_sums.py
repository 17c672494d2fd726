"""The sums that a study releases of cohorts of one person each, who reports nothing."""

from pathlib import Path
from typing import Any

import numpy as np

from tests.store.test_arms import Played


def play_sums(folder: Path, many: int = 700, **protocol: Any) -> np.ndarray:
    """All sums of so many cohorts, a row for each: that of the reward, and those of the further outcomes."""
    played = Played(folder, policy={"name": "thompson_sampling"}, people=10**6, **protocol)
    for _ in range(many // 100):
        played.come(100)
        played.wait()
    told = [each for each in played.said() if each["kind"] == "released"]
    played.study.close()
    return np.array(
        [[float.fromhex(each["total"]), *(float.fromhex(total) for total, _ in each["further"])] for each in told]
    ).astype(int)
