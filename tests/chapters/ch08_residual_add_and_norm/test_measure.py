"""The measurements of chapter 08: a slice of each stored part is what its code makes now."""

import pytest

from helpers.chapters.ch08_residual_add_and_norm import measure

pytestmark = pytest.mark.no_shape_check  # which a thousand steps of training would wait for


@pytest.mark.parametrize(
    ("start", "scheme", "L"),
    [("torch", "norm alone", 4), ("kept", "residual alone", 4), ("torch", "norm first", 96)],
)
def test_depth_is_what_is_stored(start, scheme, L):
    run = measure.one_stack(1, start=start, scheme=scheme, L=L)
    stored = measure.runs("depth", start=start, scheme=scheme, L=L)[1]
    assert run.keys() | {"seed"} == stored.keys()
    for key in run:
        assert run[key] == pytest.approx(stored[key], rel=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("stack", ["residual and norm", "norm alone"])
def test_copying_is_what_is_stored(stack):
    setting = {"L": 1, "lr": 0.001, "start": "torch", "steps": 300}
    run = measure.one_copy(0, stack=stack, **setting)
    assert {"seed": 0} | run == pytest.approx(measure.runs("copying", stack=stack, **setting)[0],
                                              abs=0.05)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "model", "lr"),
    [("ladder", "feed-forward, no attention", 0.003), ("rates", "attention alone", 0.01)],
)
def test_readers_half_way_are_what_is_stored(part, model, lr):
    reader, go_on = measure.in_training(model, lr=lr, seed=1)
    go_on(steps=1000)
    stored = measure.runs(part, model=model, lr=lr)[1]["half way"]
    assert measure.on_validation(reader) == pytest.approx(stored, abs=0.02)


def test_neurons_before_training_are_what_is_stored():
    reader, _ = measure.in_training("with feed-forward", seed=2)
    stored = measure.runs("ladder", model="with feed-forward")[2]["untrained"]
    assert measure.of_neurons(reader) == pytest.approx(stored, abs=0.002)


def test_taken_out_leaves_the_reader_as_it_was():
    reader, _ = measure.in_training("with feed-forward")
    before = measure.on_validation(reader)
    assert measure.taken_out(reader) != before
    assert len(reader.layers) == 2
    assert measure.on_validation(reader) == before
