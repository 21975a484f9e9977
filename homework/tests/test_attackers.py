"""More of those who attack the grader, its notebooks and its archives, beside two honest ones."""

import attackers
from batches import BY_NAME, Deserved


class TestAttackers(Deserved):
    HANDED_IN = (BY_NAME["perfect"], BY_NAME["half"], *attackers.MORE)
