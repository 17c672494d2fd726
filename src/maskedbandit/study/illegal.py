"""Why a decision of a policy cannot be carried out: what the driver and the compiled loop of the lab say of it."""

from maskedbandit.errors import IllegalDecision


def no_such_arm(policy: str, arm: int) -> IllegalDecision:
    """It names an arm that does not exist."""
    return IllegalDecision(f"{policy} asked for arm {arm}, which does not exist")


def no_such_count(policy: str, n: int) -> IllegalDecision:
    """It asks for less than nobody."""
    return IllegalDecision(f"{policy} asked for {n} users: the number of users is 0 (stop) or more")


def no_such_close(policy: str, close: int) -> IllegalDecision:
    """It says nothing known of what becomes of the cohort."""
    return IllegalDecision(f"{policy} answered with close = {close}: it is 0, 1 or TOGETHER")


def no_such_deck(policy: str, arm: int, n: int) -> IllegalDecision:
    """It does not fit those with which it is to be dealt."""
    return IllegalDecision(
        f"{policy} asked for cohorts together, and then for {n} users of arm {arm}: "
        "each of them is of another arm, of at least one user, closes after its users, and no other one is open"
    )


def nothing_to_wait_for(policy: str) -> IllegalDecision:
    """It waits, and no release is to come."""
    return IllegalDecision(f"{policy} waits, but it already has every release")


def unknown_size(policy: str) -> IllegalDecision:
    """It lets a cohort grow whose size has to be known before its first user comes."""
    return IllegalDecision(f"{policy} opens cohorts of unknown size, but the size decides their noise or their price")
