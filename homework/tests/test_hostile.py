"""Submissions that reach for more than they are given, beside two honest ones."""

import attackers
import students
from batches import BY_NAME, Deserved
from submissions import SHUT_IN, SUBMISSIONS

ELSEWHERE = {one.name for one in (*SHUT_IN, *students.MORE, *attackers.MORE)}


class TestHostile(Deserved):
    HANDED_IN = (
        BY_NAME["perfect"],
        BY_NAME["half"],
        *(one for one in SUBMISSIONS if one.chapter == "05" and one.name not in ELSEWHERE),
    )
