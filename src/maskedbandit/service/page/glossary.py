"""What the words of the pages mean, and what teams that ran other experiments call the same."""

WORDS_OF_OTHERS = {  # what others say: what it is called here, and how it differs
    "Enrolled, bucketed": "has a place: the person was given an arm and a seat in a cohort, and was charged for it.",
    "Exposure": "seeing the arm: the application says so with expose, and from then on the window of the person runs.",
    "Variant, treatment, variation": "an arm.",
    "Control": "the arm that others are compared with: the one with a fixed share of the people, or else the first.",
    "Holdout, holdback": ("an arm with a fixed share of the people, which the policy does not touch."),
    "Traffic allocation, split": "the share of each arm: a policy moves it as outcomes are released.",
    "Ramp, roll-out": "how many of the people who come may have a place at first, and later.",
    "Conversion, goal, success metric": "the outcome, or reward, of a person: one number, from least to most.",
    "Guardrail metric": "the guardrail: a second outcome by which harm is seen.",
    "SRM (sample ratio mismatch)": (
        "whether arms get as many people as they should. Places are dealt like cards, so who gets which arm cannot go "
        "wrong; whether all arms are seen equally often can, and the page looks at it."
    ),
    "Cohort (people who signed up in one week)": "not what a cohort is here: see above.",
    "Peeking, sequential testing": (
        "allowed: an interval holds at all times, however often somebody looks, and whenever the study is stopped."
    ),
    "p-value, significance": (
        "not used. An arm is called the best once it is better, at 95 %, than each other arm in play, at any time."
    ),
    "Multi-armed bandit, adaptive allocation": "the policy.",
    "Propensity": "the exact probability with which a person got the arm; it is stored with every assignment.",
    "Segment, breakdown, raw rows": "not there: only sums of cohorts leave a study, with noise.",
}
OWN_WORDS = {  # what is said here, and what it means
    "Arm": "What a person may be given: a text, a layout, a price.",
    "In play, paused, harmful": (
        "People may get an arm that is in play. One that is paused gets nobody until it is resumed. One that was found "
        "harmful by the guardrail gets nobody for good."
    ),
    "Place": "A seat in a cohort. A person has one in a study at most, and keeps the arm.",
    "Cohort": (
        "A number of people who get the same arm, and whose outcomes are added up once. Its sum is released when the "
        "window of the last of them is over."
    ),
    "Window": "How long an outcome counts, from the moment at which the person saw the arm.",
    "Release": "The sum of a cohort's outcomes, with noise, written into the ledger. Nothing else of outcomes leaves.",
    "Noise": "What is added to each sum at random, so that it hardly depends on any one person.",
    "ε (epsilon)": (
        "How much a place can tell of a person's outcome: at 1 nobody is right about it more than 73.2 times in 100, "
        "where guessing alone is right 50 times."
    ),
    "δ (delta)": "A probability with which that promise may fail; 0 unless it is said.",
    "Budget": "What all studies of a project together may cost one person. Whoever used it up takes no further part.",
    "Project": "Studies that share each person's budget.",
    "Policy": "The rule that decides which arm the next people get, from what was released.",
    "Search": "A study that ends with its answer, which is wrong with a probability that was chosen before.",
    "Guardrail": "A second outcome. An arm whose releases show harm by it is put out of play at once.",
    "Ledger": "Everything that was released or decided, in order, each entry with the hash of the one before it.",
    "Witness": "A folder elsewhere that keeps the newest hash, so that no entry can be taken back.",
    "Trust": "Who has to be trusted with outcomes before there is noise: the server, two operators, or nobody.",
    "Operational, released": (
        "Operational numbers are exact: the plan, who came, when, and which arm. Released ones come from outcomes, and "
        "have noise."
    ),
}
