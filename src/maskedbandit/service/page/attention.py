"""What needs attention, in a few words: the titles of the items at the top of a study's page."""

from maskedbandit.service.study_messages import AttentionKind

ATTENTION_TITLES: dict[AttentionKind, str] = {
    "harmful_arm": "An arm does harm.",
    "wrong_places": "Places do not fit.",
    "places_unseen": "Places are wasted.",
    "sample_ratio": "An arm is seen less often.",
    "clock_ahead": "A clock is wrong.",
    "witness_behind": "The witness is behind.",
    "nobody_comes": "Nobody comes.",
    "nobody_reports": "Perhaps nobody reports.",
    "one_window": "Most people came at once.",
    "budget_nearly_spent": "Budgets are nearly spent.",
}
FROM_RELEASES: tuple[AttentionKind, ...] = ("harmful_arm", "nobody_reports")  # all others follow from who came and when
