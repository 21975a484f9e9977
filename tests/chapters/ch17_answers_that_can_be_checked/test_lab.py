"""Chapter 17: REINFORCE in NumPy's float64 and in fractions, and what is asked and paid."""

import re
from fractions import Fraction
from html import unescape

import numpy as np
import pytest
import torch
from support import NOTEBOOKS, chapter
from torch import nn

from helpers import checkpoint, minillama
from helpers.chapters.ch17_answers_that_can_be_checked import lab


class Table(nn.Module):
    """Logits of the next token by the last one alone."""

    T = 6

    def __init__(self, V=5):
        super().__init__()
        self.table = nn.Parameter(torch.randn(V, V, dtype=torch.float64))

    def forward(self, ids_BT):
        return self.table[ids_BT]


def one_step(monkeypatch, model, asked_NT, reward, group):
    """What one update adds to the table at the learning rate 1, and the ids that it drew."""
    drawn, draw = [], minillama.generate
    plain = lambda model, lr: torch.optim.SGD(model.parameters(), lr=lr)  # noqa: E731
    monkeypatch.setattr(minillama, "make_optimizer", plain)
    monkeypatch.setattr(minillama, "generate", lambda *a: (drawn.append(draw(*a)), drawn[-1])[1])
    before = model.table.detach().clone()
    update = minillama.reinforce(model, lambda: asked_NT, reward, 0, 1, group, lr=1.0)
    assert next(update) == (1, pytest.approx(reward(drawn[0]).mean().item()))
    return (model.table.detach() - before).numpy(), drawn[0].numpy()


def test_an_update_is_numpys(monkeypatch):
    torch.manual_seed(0)
    model, asked_NT = Table(), torch.tensor([[1, 2], [3, 4], [2, 2]])
    p_VV = np.exp(model.table.detach().numpy())
    p_VV /= p_VV.sum(axis=1, keepdims=True)
    reward = lambda ids_BT: (ids_BT[:, 2:] == 4).sum(dim=1).double() / 3  # noqa: E731
    moved, ids_BT = one_step(monkeypatch, model, asked_NT, reward, group=4)
    wanted, rewards = np.zeros_like(p_VV), (ids_BT[:, 2:] == 4).sum(axis=1) / 3
    assert (ids_BT.reshape(3, 4, 6)[:, :, :2] == asked_NT[:, None].numpy()).all()
    for b, ids in enumerate(ids_BT):
        group = rewards[b // 4 * 4 : b // 4 * 4 + 4]
        for t in range(2, 6):
            wanted[ids[t - 1]] += (rewards[b] - group.mean()) * (
                (np.arange(5) == ids[t]) - p_VV[ids[t - 1]]
            )
            if ids[t] == 0:  # the end: what follows doesn't count
                break
    wanted /= len(ids_BT)
    wanted *= min(1, 1 / np.linalg.norm(wanted))  # as chapter 11 clips
    np.testing.assert_allclose(moved, wanted, atol=1e-6)
    assert (ids_BT[:, 2:-1] == 0).any(), "or no answer ends before its last token"


def test_a_single_answer_to_a_question_teaches_nothing(monkeypatch):
    """The chapter's error to spot."""
    reward = lambda ids_BT: torch.arange(len(ids_BT)).double()  # noqa: E731
    moved, _ = one_step(monkeypatch, Table(), torch.tensor([[1, 2], [3, 4]]), reward, group=1)
    assert not moved.any()


def test_answers_end_at_their_first_stop_and_questions_do_not_count(monkeypatch):
    drawn_BT = torch.tensor([[1, 0, 3, 0, 4, 0], [1, 0, 0, 2, 2, 2], [1, 0, 3, 3, 3, 3]])
    monkeypatch.setattr(minillama, "generate", lambda model, ids_BT, n: drawn_BT)
    ids_BT, targets_BT = minillama.sample(Table(), torch.tensor([[1, 0]] * 3), end=0)
    no = -100
    assert targets_BT.tolist() == [[no, 3, 0, no, no], [no, 0, no, no, no], [no, 3, 3, 3, 3]]
    assert torch.equal(ids_BT, drawn_BT)


def fields(cell: str) -> list[tuple[str, str]]:
    """Names and patterns of the pencil's fields in a cell of the chapter."""
    [path] = [path for path in NOTEBOOKS if path.stem.startswith("17")]
    [found] = [c for c in chapter(path).code if c.id == cell]
    html = found.outputs[0].data["text/html"]
    return [
        (name.strip(), unescape(pattern))
        for name, pattern in re.findall(r'<label>(.*?)<input.*?pattern="(.*?)"', html)
    ]


def test_the_pencil_takes_what_fractions_give_and_no_slip():
    half, quarter = Fraction(1, 2), Fraction(1, 4)
    drawn, rewards = [0, 0, 1, 2], [0, 0, 1, 1]
    mean = Fraction(sum(rewards), 4)
    moves = [sum(r - mean for d, r in zip(drawn, rewards) if d == n) / 4 for n in range(3)]  # noqa: B905
    powers = [8 * move / 3 for move in moves]  # of 2, since the rate is 8/3 log 2
    shares = [float(p) * 2 ** float(k) for p, k in zip((half, quarter, quarter), powers)]  # noqa: B905
    after = [share / sum(shares) for share in shares]
    wanted = [mean, -half, half, *moves, *after, after[1] + after[2]]
    second = [
        sum(Fraction(r[n]) - Fraction(sum(r), 3) for r in ([0, 1, 1], [1, 0, 1])) / 6
        for n in range(3)
    ]
    assert second == [Fraction(-1, 18), Fraction(-1, 18), Fraction(1, 9)]
    for cell, numbers in (("update-pencil", wanted), ("second-pencil", second)):
        asked = fields(cell)
        assert len(asked) == len(numbers)
        for (name, pattern), number in zip(asked, numbers, strict=True):
            assert re.fullmatch(pattern, f"{float(number):.3f}"), name
            for slip in (-number, 4 * number, number + Fraction(1, 10)):
                assert not re.fullmatch(pattern, f"{float(slip):.3f}"), name


def test_lines_say_where_she_is_and_only_the_answer_counts():
    torch.manual_seed(0)
    ids_NT, targets_NT = lab.lines(400, 0.3)
    stepwise = 0
    for ids, targets in zip(ids_NT, targets_NT, strict=True):
        question, answer = lab.told(ids)
        side, sides = "near", []
        for move in question.split():
            side = {"cross": {"near": "far", "far": "near"}[side], "stay": side}[move]
            sides.append(side)
        stepwise += len(answer.split()) > 2
        assert answer.split() in ([side, "."], [*sides, "so", side, "."])
        assert lab.TOKENIZER.decode(targets[targets >= 0].tolist()) == answer
        assert lab.is_right(question, answer)
        assert lab.steps(ids[None])[0].tolist() == [lab.TOKENIZER.ids[f" {s}"] for s in sides]
    assert 80 < stepwise < 160


@pytest.mark.parametrize(
    ("answer", "right", "says", "price"),
    [
        (" far .", True, True, 2),
        (" near .", False, False, 2),
        (" far near .", False, True, 3),
        (" near far", False, True, 2),
    ],
)
def test_what_is_paid(answer, right, says, price):
    ids_BT = lab.TOKENIZER.encode(" cross" + 9 * " stay" + " ?" + answer)[None]
    for check, wanted in ((lab.is_right, right), (lab.says_it, says)):
        assert lab.paid(check, 0.125)(ids_BT).tolist() == [wanted - 0.125 * price]


def test_a_coin_pays_half_of_all_answers():
    torch.manual_seed(0)
    assert 60 < sum(lab.coin("", "") for _ in range(128)) < 68 + 12


def test_votes_and_looks_count(monkeypatch):
    """A student says far for the first nine of sixteen answers, and near for the others."""

    def sample(model, asked_NT, end):
        sides = torch.tensor([lab.FAR] * 9 + [lab.NEAR] * 7).repeat(len(asked_NT) // 16)
        said_NT = torch.stack([sides, torch.full_like(sides, lab.END)], dim=1)
        return torch.cat([asked_NT, said_NT], dim=1), None

    monkeypatch.setattr(lab, "sample", sample)
    monkeypatch.setattr(lab, "ask", lambda n: lab.TOKENIZER.encode(" cross ?").expand(n, -1))
    assert lab.vote(None) == 1
    found = lab.look(None, 32)
    assert found | {"right": 0.562, "steps": 0, "tokens": 2} == found
    assert found["most frequent"] == [" far .", 0.562]
    assert found["right with steps"] is None


def test_sides_are_right_one_by_one():
    question, answer = " cross cross stay" + 7 * " stay", " far far" + 8 * " near" + " so near ."
    assert lab.sides_right(question, answer) == 0.9
    assert lab.WITH_STEPS.match(answer)
    assert not lab.WITH_STEPS.match(9 * " far" + " so far .")


@pytest.mark.parametrize(("near", "price", "best"), [(0.5, 0.0, 2), (0.9, 0.06, 0)])
def test_course_goes_up_the_gradient_of_the_mean_reward(near, price, best):
    """By finite differences in the logits."""
    reward = np.array([near, 1 - near, 1]) - price * np.array([2, 2, 13])
    p_K3 = lab.course(near, price, updates=60)
    assert p_K3[0].tolist() == pytest.approx([0.5, 0.25, 0.25])

    def mean_reward(logits):
        return np.exp(logits) @ reward / np.exp(logits).sum()

    at, steps = np.log(p_K3[7]), 1e-5 * np.eye(3)
    slope = [(mean_reward(at + s) - mean_reward(at - s)) / 2e-5 for s in steps]
    after = p_K3[7] * np.exp(slope)
    np.testing.assert_allclose(p_K3[8], after / after.sum(), atol=1e-8)
    assert (np.diff(p_K3 @ reward) > -1e-12).all()
    assert p_K3[-1].argmax() == best


def test_initial_matrices_are_as_wide_as_asked():
    torch.manual_seed(0)
    model = lab.pretrain(std=0.1, n=0)
    assert model.embedding.weight.std().item() == pytest.approx(0.1, rel=0.1)
    assert model.blocks[0].attention.out.weight.std().item() == pytest.approx(0.05, rel=0.1)


def test_base_is_the_chapters_and_small():
    model, tokenizer = checkpoint.load(lab.BASE)
    assert checkpoint.sizes(model) == lab.SIZES
    assert tokenizer.vocab == lab.TOKENIZER.vocab
    assert lab.BASE.stat().st_size < 120_000
