"""Chapter 15: what learners write before they have it, and what the check should tell them."""

RIGHT = {
    "15.2": [(0.1, [0, 6, 8, 3, 15, 5, 1, 12])],
    "15.4": [(0.7, [0, 1 / 3, 0, 2 / 3])],
}

WRONG = {
    "15.2": [
        ((1.5 / 16, [0, 6, 8, 3, 15, 5, 1, 12]), "fewer than sixteen"),
        ((1 / 15, [0, 6, 8, 3, 15, 5, 1, 12]), "begin at the smallest"),
        ((0.2, [0, 6, 8, 3, 15, 5, 1, 12]), "The scale is not 0.2"),
        ((0.1, [-5, 1, 3, -2, 10, 0, -4, 8]), "from 0 to 15"),
        ((0.1, [0, 6, 8, 3, 15, 5, 0, 12]), "always went down"),
        ((0.1, [0, 6, 9, 3, 15, 5, 1, 12]), "0.32 is nearer"),
        ((0.1, [0, 6]), "should have shape"),
        (0.1, "Give a scale"),
    ],
    "15.4": [
        ((0.3, [0, 1 / 3, 0, 2 / 3]), "rejected"),
        ((0.23, [0, 1 / 3, 0, 2 / 3]), "independently"),
        ((0.5, [0, 1 / 3, 0, 2 / 3]), "term by term"),
        ((0.7, [0.1, 0.4, 0.2, 0.3]), "Drawn from p again"),
        ((0.7, [0, 0.1, 0, 0.2]), "sum to 1"),
        ((0.7, [0, 0.5, 0, 0.5]), "too little"),
        (0.7, "Give a probability"),
    ],
}
