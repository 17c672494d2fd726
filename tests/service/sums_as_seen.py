"""The audit of noisy sums, as each party sees them: all sums alike, and what a party can take off them."""

from collections.abc import Mapping

import numpy as np

from maskedbandit.privacy.loss import Loss
from maskedbandit.reports.audit.audit import AuditPart
from maskedbandit.reports.audit.samples import promise_to_samples, sampled_part
from tests.statistics import ALPHA

SEEN = ("the release", "what the others sent")  # columns of the samples


def audit_sums(
    views: tuple[np.ndarray, np.ndarray], loss: Loss, parties: Mapping[str, tuple[int, ...]]
) -> dict[str, AuditPart]:
    """What samples of two worlds show each party, of these columns, beyond a loss.

    A part is wrong with a probability of at most `ALPHA`.
    """
    promise, found = promise_to_samples(loss), {}
    for party, columns in parties.items():
        both = views[0][:, columns], views[1][:, columns]
        found[party] = sampled_part(party, promise, both, [], [SEEN[column] for column in columns], ALPHA)
    return found
