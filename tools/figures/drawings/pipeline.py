"""From a person's device to the policy and back: what becomes of a reward."""

from tools.figures.drawings.card import CARD_WIDTH, LEADING, MARGIN, Card

WIDE, HIGH = 202, 118  # of a box
LEFT, RIGHT = MARGIN, CARD_WIDTH - MARGIN - WIDE
ABOVE, BORDER, BELOW = 44, 194, 226  # the top of the upper row, the border, the top of the lower row
BOXES = (  # left end, top, colour, name, what it does
    (LEFT, ABOVE, "open", "Device", "has a person's reward, a number from 0 to 1"),
    (RIGHT, ABOVE, "open", "Channel", "makes one noisy sum of a cohort; trust models differ in who adds noise"),
    (RIGHT, BELOW, "closed", "Release", "the noisy sum; a ledger says what it cost in privacy"),
    (LEFT, BELOW, "closed", "Policy", "decides by releases alone who gets which arm"),
)
ABOUT = (
    "A loop of four boxes. The device sends a person's reward to the channel, which makes one noisy sum of a "
    "cohort. Below a border there are only noisy sums, which everybody may see: the release, by which the "
    "policy decides which arm the next people get."
)


def draw_pipeline() -> str:
    """The drawing."""
    on = Card()
    on.text("soft", LEFT, ABOVE - 14, "Up here are rewards, which are private.")
    for left, top, colour, name, does in BOXES:
        on.rect(colour, left, top, WIDE, HIGH)
        on.text("name", left + 12, top + 26, name)
        on.write("does", left + 12, top + 26 + LEADING, does, WIDE - 16)
    on.line("border", LEFT, BORDER, RIGHT + WIDE, BORDER)
    inner, outer, middle = LEFT + WIDE, RIGHT, CARD_WIDTH / 2
    on.point(inner, ABOVE + HIGH / 2, outer, ABOVE + HIGH / 2)
    on.text("soft middle", middle, ABOVE + HIGH / 2 - 10, "reward")
    on.point(outer + WIDE / 2, ABOVE + HIGH, outer + WIDE / 2, BELOW)
    on.text("soft", outer + WIDE / 2 + 10, BORDER - 10, "noisy sum")
    on.point(outer, BELOW + HIGH / 2, inner, BELOW + HIGH / 2)
    on.text("soft middle", middle, BELOW + HIGH / 2 - 10, "all it ever")
    on.text("soft middle", middle, BELOW + HIGH / 2 + 20, "sees")
    on.point(LEFT + WIDE / 2, BELOW, LEFT + WIDE / 2, ABOVE + HIGH)
    on.text("soft", LEFT + WIDE / 2 + 10, BORDER - 10, "next arm")
    on.text("soft", LEFT, BELOW + HIGH + 26, "Down here are noisy sums alone, which everybody may see.")
    on.height = BELOW + HIGH + 30
    return on.finish("pipeline", "From a person's device to the policy, and back", ABOUT)
