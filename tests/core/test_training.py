"""training: the loop against one written out by hand, and its errors."""

import itertools
import math

import pytest
import torch
from tiny import seeded
from torch import nn
from torch.nn import functional as F

from helpers import bigram, corpus, training


def line(slope=0.0):
    """y = slope·x, one weight."""
    module = nn.Linear(1, 1, bias=False)
    nn.init.constant_(module.weight, slope)
    return module


def sgd(module, lr=0.1):
    return torch.optim.SGD(module.parameters(), lr=lr)


ONE = torch.ones(1, 1)
SAME = itertools.repeat((ONE, ONE))


def test_each_step_is_the_one_computed_by_hand():
    # Loss (w - 1)², gradient 2(w - 1): the distance to 1 shrinks by 1 - 2·0.1 a step.
    module = line()
    records = training.train(module, F.mse_loss, SAME, steps=5, optimizer=sgd(module))
    assert isinstance(records, tuple)
    assert [record.step for record in records] == [0, 1, 2, 3, 4]
    assert [r.loss for r in records] == pytest.approx([0.8 ** (2 * k) for k in range(5)])
    assert [r.gradient_norm for r in records] == pytest.approx([2 * 0.8**k for k in range(5)])
    assert module.weight.item() == pytest.approx(1 - 0.8**5)


def test_it_is_the_usual_loop_for_another_module_and_optimizer():
    def model():
        module = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2))
        for parameter in module.parameters():
            nn.init.normal_(parameter, generator=seeded(4))
        return module, torch.optim.AdamW(module.parameters(), lr=0.01)

    data = [(torch.randn(6, 3, generator=seeded(i)), torch.arange(6) % 2) for i in range(10)]
    ours, optimizer = model()
    records = training.train(ours, F.cross_entropy, data, steps=10, optimizer=optimizer)
    theirs, optimizer = model()
    losses, norms = [], []
    for x, y in data:
        optimizer.zero_grad()
        loss = F.cross_entropy(theirs(x), y)
        loss.backward()
        losses.append(loss.item())
        norms.append(nn.utils.clip_grad_norm_(theirs.parameters(), math.inf).item())
        optimizer.step()
    assert [r.loss for r in records] == losses
    assert [r.gradient_norm for r in records] == pytest.approx(norms)
    for mine, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert torch.equal(mine, other)


def test_on_step_sees_the_state_whose_loss_was_measured():
    module, seen = line(), []

    def look(record):
        seen.append((record, module.weight.item(), module.weight.grad.item()))

    records = training.train(module, F.mse_loss, SAME, steps=3, optimizer=sgd(module), on_step=look)
    assert tuple(record for record, _, _ in seen) == records
    for record, weight, gradient in seen:
        assert record.loss == pytest.approx((weight - 1) ** 2)
        assert abs(gradient) == pytest.approx(record.gradient_norm)
    assert seen[0][1] == 0.0


def test_parameters_without_gradient_are_left_alone():
    module = nn.ModuleDict({"used": line(), "unused": line(3.0)})
    module.forward = module["used"].forward
    (record,) = training.train(module, F.mse_loss, SAME, steps=1, optimizer=sgd(module))
    assert record.gradient_norm == pytest.approx(2)
    assert module["unused"].weight.item() == 3.0


def test_gradient_norm_is_of_this_step_where_the_optimizer_holds_a_part():
    module = nn.Sequential(line(0.5), line(0.5))
    part = torch.optim.SGD(module[0].parameters(), lr=0.0)
    records = training.train(module, F.mse_loss, SAME, steps=3, optimizer=part)
    assert len({record.gradient_norm for record in records}) == 1
    with pytest.raises(ValueError):
        training.train(line(), F.mse_loss, SAME, steps=1, optimizer=part)


def test_one_batch_is_taken_a_step_and_no_more():
    module, source = line(), iter([(ONE, ONE)] * 5)
    training.train(module, F.mse_loss, source, steps=3, optimizer=sgd(module))
    assert len(list(source)) == 2


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_bad_loss_stops_at_its_step(bad):
    module = line(0.5)
    data = [(ONE, ONE), (ONE, ONE), (ONE, ONE * bad), (ONE, ONE)]
    with pytest.raises(FloatingPointError, match=f"at step 2 the loss is {bad}"):
        training.train(module, F.mse_loss, data, steps=4, optimizer=sgd(module))
    assert module.weight.item() == pytest.approx(1 - 0.5 * 0.8**2)  # two updates, no third


def test_bad_gradient_stops_too():
    module = line(0.0)

    def root(output, target):
        return output.sum().sqrt()  # 0 at 0, with an infinite slope

    with pytest.raises(FloatingPointError, match=r"at step 0 .*norm inf"):
        training.train(module, root, SAME, steps=1, optimizer=sgd(module))
    assert module.weight.item() == 0.0


class Nested(nn.Module):
    """A module of which one part is kept in eval mode; it remembers the modes it ran in."""

    def __init__(self):
        super().__init__()
        self.inner, self.frozen, self.seen = line(0.5), nn.Dropout(0.9), []
        self.train()
        self.frozen.eval()

    def forward(self, x):
        self.seen.append((self.training, self.frozen.training))
        return self.inner(x)


def test_evaluate_weighs_by_targets_and_restores_modes():
    module = Nested()
    windows = [(torch.ones(3, 1), torch.ones(3, 1)), (torch.ones(1, 1), torch.full((1, 1), 2.5))]
    # Losses 0.25 (3 targets) and 4 (1 target); the plain mean of the two would be 2.125.
    assert training.evaluate(module, F.mse_loss, windows) == pytest.approx(4.75 / 4)
    assert module.seen == [(False, False)] * 2
    assert module.training
    assert not module.frozen.training
    assert module.inner.weight.grad is None


def test_evaluate_builds_no_graph_and_modes_survive_an_error():
    module = Nested()

    def fails(output, target):
        assert not output.requires_grad
        raise RuntimeError("on purpose")

    with pytest.raises(RuntimeError, match="on purpose"):
        training.evaluate(module, fails, [(ONE, ONE)])
    assert module.training
    assert not module.frozen.training


def test_train_runs_in_train_mode_and_restores():
    module = Nested().eval()
    training.train(module, F.mse_loss, SAME, steps=1, optimizer=sgd(module))
    assert module.seen == [(True, True)]
    assert not module.training


# ---------------------------------------------- the parts put together


def test_the_table_learns_what_counting_finds():
    ids = torch.randint(3, (5000,), generator=seeded())
    counts = bigram.count_bigrams(ids, 3)
    model = nn.Embedding.from_pretrained(torch.zeros(3, 3), freeze=False)
    whole = itertools.repeat((ids[None, :-1], ids[None, 1:]))
    records = training.train(model, bigram.loss, whole, steps=400, optimizer=sgd(model, lr=3))
    assert records[0].loss == pytest.approx(math.log(3))
    floor = bigram.conditional_entropy(counts)
    loss = training.evaluate(model, bigram.loss, corpus.windows(ids, 64))
    assert loss == pytest.approx(floor, abs=1e-5)
    assert loss >= floor - 1e-6
    # Gradient descent keeps each row's mean, so the constants are known before training.
    log_p = torch.from_numpy(bigram.smoothed(counts, add=0)).log()
    differences = model.weight.detach() - log_p
    assert (differences + log_p.mean(dim=1, keepdim=True)).abs().max() < 1e-3


def test_mini_batches_with_one_seed_give_one_table():
    ids = torch.randint(3, (500,), generator=seeded())

    def run(seed):
        model = nn.Embedding.from_pretrained(torch.zeros(3, 3), freeze=False)
        stream = corpus.batches(ids, batch_size=4, context=8, generator=seeded(seed))
        training.train(model, bigram.loss, stream, steps=20, optimizer=sgd(model))
        return model.weight.detach()

    assert torch.equal(run(1), run(1))
    assert not torch.equal(run(1), run(2))
