"""Chapter 09: what learners write before they have it, and what the check should tell them."""

from helpers import minigpt
from helpers.chapters import judges

rate = judges()["09.3"].right


class Block(minigpt.Block):
    def forward(self, x):  # without norm_1
        x = x + self.dropout(self.attention(x))
        return x + self.dropout(self.feed_forward(self.norm_2(x)))


RIGHT = {
    "09.6": [([1, 2, 3], [11, 12, 13])],
}

WRONG = {
    "09.3": [
        (lambda step, lr, warm_up: rate(step, lr, warm_up) ** 2 / lr, "not the straight ramp"),
        (lambda step, lr, warm_up: 2 * rate(step, lr, warm_up), "yours ends at"),
    ],
    "09.5": [(1.0, "too little"), (0.01, "too much")],
    "09.6": [
        (([1e200, -1e200, 3e200], [1e200, 5e200, -3e200]), "overflows"),
        (([1, 2, 3], [2, 4, 6]), "multiple of the other"),
        (([1, 2, 3], [-1, -2, -3]), "points against the other"),
        (([1, 2, 3], [3, 1, 2]), "Their norms differ"),
        (([1, 2, 3], [1, 2, 3.00001]), "Their norms differ"),
        (([1, 1, 1], [1, 2, 3]), "all alike"),
        ([1, 2, 3], "Give the two vectors"),
        (([1, 2], [11, 12]), "should have shape"),
    ],
    "09.1": [(Block, "without a norm")],
}
