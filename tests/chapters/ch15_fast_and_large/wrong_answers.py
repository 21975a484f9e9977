"""Chapter 15: what learners write before they have it, and what the check should tell them."""

from collections import defaultdict

import torch


class Right:
    """A KV cache in pages; those that were freed first are taken first."""

    def __init__(self, pages, size, D):
        self.pool = torch.zeros(pages, size, D)
        self.free = [*range(pages)]
        self.pages, self.T = defaultdict(list), defaultdict(int)

    def needs_page(self, T, pages, size):
        return len(pages) * size == T

    def take(self, pages):
        if not self.free:
            raise ValueError("full")
        pages.append(self.free.pop(0))

    def append(self, who, k_D):
        T, pages, size = self.T[who], self.pages[who], self.pool.shape[1]
        if self.needs_page(T, pages, size):
            self.take(pages)
        self.pool[pages[-1], T % size] = k_D
        self.T[who] += 1

    def keys(self, who):
        return self.pool[self.pages[who]].flatten(0, 1)[: self.T[who]]

    def leave(self, who):
        self.free += self.pages.pop(who)
        self.T.pop(who)


class Last(Right):
    def take(self, pages):
        self.free.reverse()
        super().take(pages)
        self.free.reverse()


class Eager(Right):
    def append(self, who, k_D):
        super().append(who, k_D)
        if self.T[who] % self.pool.shape[1] == 0:
            self.take(self.pages[who])


class Shared(Right):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        pages = []
        self.pages = defaultdict(lambda: pages)


class Elsewhere(Right):
    def append(self, who, k_D):
        super().append(who, k_D)
        self.lists = getattr(self, "lists", defaultdict(list))
        self.lists[who].append(k_D)
        self.pool.zero_()

    def keys(self, who):
        return torch.stack(self.lists[who])

    def leave(self, who):
        super().leave(who)
        del self.lists[who]


def pages(base=Right, **methods):
    """The class with other methods."""
    return type("Pages", (base,), methods)


def at_multiples(self, T, pages, size):
    return T % size == 0


def too_late(self, T, pages, size):
    return not pages or len(pages) * size < T


def too_early(self, T, pages, size):
    return not pages or (size > 1 and T % size == size - 1)


def keep_all(self, who):
    self.free += self.pages[who]


def forget_length_only(self, who):
    self.free += self.pages[who]
    self.T.pop(who)


def keep_length(self, who):
    self.free += self.pages.pop(who)


def keep_pages(self, who):
    self.pages.pop(who)
    self.T.pop(who)


def in_order_of_pool(self, who):
    return self.pool[sorted(self.pages[who])].flatten(0, 1)[: self.T[who]]


def rest_too(self, who):
    return self.pool[self.pages[who]].flatten(0, 1)


def without_error(self, pages):
    pages.append(self.free.pop())


def growing(self, pages):
    if not self.free:
        self.free = [len(self.pool)]
        self.pool = torch.cat([self.pool, torch.zeros_like(self.pool[:1])])
    pages.append(self.free.pop())


RIGHT = {
    "15.2": [(0.1, [0, 6, 8, 3, 15, 5, 1, 12])],
    "15.4": [(0.7, [0, 1 / 3, 0, 2 / 3])],
    "15.7": [Right, Last],
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
    "15.7": [
        (pages(needs_page=too_late), "too late"),
        (pages(needs_page=too_early), "too early"),
        (Eager, "one is taken too early"),
        (Shared, "its own list"),
        (pages(Shared, needs_page=at_multiples), "its own list"),
        (pages(leave=keep_pages), "not used again"),
        (pages(leave=keep_all), "is not a new one"),
        (pages(leave=forget_length_only), "is not a new one"),
        (pages(leave=keep_length, needs_page=at_multiples), "is not a new one"),
        (pages(keys=in_order_of_pool), "wrong order"),
        (pages(Last, keys=in_order_of_pool), "wrong order"),
        (pages(keys=rest_too), "rest of the last page"),
        (pages(take=without_error), "Yours raises IndexError"),
        (pages(take=growing), "takes a key all the same"),
        (pages(leave=lambda self, who: self.gone), "`leave` raises AttributeError"),
        (pages(keys=lambda self, who: self.pool[self.pages[who]]), "should have shape"),
        (pages(keys=lambda self, who: -Right.keys(self, who)), "not the keys"),
        (Elsewhere, "in `self.pool`"),
    ],
}
