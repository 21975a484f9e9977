"""The GPT that trains in the page: held to torch, with minigpt and its variants as the oracle."""

import copy

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from play import in_node, watch

from helpers import minigpt, variants

SIZES = {"V": 23, "T": 10, "C": 16, "H": 4, "L": 2}
BATCH = 3
SWITCHES = {
    "": {},
    "mask": {"causal": False},
    "positions": {"positions": "none"},
    "residual": {"residual": False},
}

# --- the algorithm, held to torch ---------------------------------------------------------------

GRADIENTS = """(sizes, without, weights, x, y, floats, code) => {
    const start = bookKernelMade().start(code, sizes, x.length);
    const model = bookModelMade().GPT(sizes, x.length,
        { ...start, without, Floats: globalThis[floats] });
    for (const { name, value } of model.parameters) if (weights[name]) value.set(weights[name]);
    const logits = model.forward(Int32Array.from(x.flat()), x.length);
    const given = [...logits], V = sizes.V;
    const loss = bookLoopMade().crossEntropy(logits, y.flat(), V);
    model.backward(logits);
    const grads = model.parameters.map(({ name, grad }) => [name, [...grad]]);
    return { memory: Boolean(start.memory), logits: given, loss, grads: Object.fromEntries(grads) };
}"""


def model_of(without: str) -> minigpt.GPT:
    """One of minigpt's, its vectors away from 0 and 1, so that no gradient can hide."""
    torch.manual_seed(1)
    model = variants.GPT(**SIZES, **SWITCHES[without]) if without else minigpt.GPT(**SIZES)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.3 * torch.randn_like(parameter)
    return model


def weights_of(model) -> dict[str, list]:
    return {name: p.flatten().tolist() for name, p in model.named_parameters()}


def batch() -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(2)
    ids_BT = torch.randint(SIZES["V"], (BATCH, SIZES["T"] + 1))
    return ids_BT[:, :-1], ids_BT[:, 1:]


@pytest.mark.parametrize("without", SWITCHES)
@pytest.mark.parametrize("floats", ["Float64Array", "Float32Array", "kernel"])
def test_loss_and_all_gradients_are_those_of_torch(without, floats):
    model, (x_BT, y_BT) = model_of(without), batch()
    weights = weights_of(model)
    model.double()
    logits_BTV = model(x_BT)
    loss = F.cross_entropy(logits_BTV.mT, y_BT)
    loss.backward()
    kernel = watch.kernel() if floats == "kernel" else "none"
    floats, near = {"Float64Array": (floats, 1e-6)}.get(floats, ("Float32Array", 1e-4))
    asked = SIZES, without, weights, x_BT.tolist(), y_BT.tolist(), floats, kernel
    found = in_node(watch.scripts(), GRADIENTS, *asked)
    assert found["memory"] == (kernel != "none")
    assert found["loss"] == pytest.approx(loss.item(), rel=near)
    np.testing.assert_allclose(found["logits"], logits_BTV.detach().flatten(), atol=near * 10)
    for name, parameter in model.named_parameters():
        expected = parameter.grad.flatten().numpy()
        wrong = np.linalg.norm(found["grads"][name] - expected) / np.linalg.norm(expected)
        assert wrong < near, name
    if without != "positions":  # which has none
        assert list(found["grads"]) == [name for name, _ in minigpt.GPT(**SIZES).named_parameters()]


TRAINING = """(sizes, without, weights, ids, steps, batch, code) => {
    const start = bookKernelMade().start(code, sizes, batch), loop = bookLoopMade();
    const model = bookModelMade().GPT(sizes, batch, { ...start, without });
    for (const { name, value } of model.parameters) if (weights[name]) value.set(weights[name]);
    const drawn = loop.uniform(5);
    const losses = [...loop.train(model, Int32Array.from(ids), steps, batch, 0.003, drawn)];
    const again = loop.uniform(5), starts = [];
    for (let i = 0; i < steps * batch; i++)
        starts.push(Math.floor(again() * (ids.length - sizes.T)));
    return { losses, starts };
}"""


@pytest.mark.parametrize("without", SWITCHES)
@pytest.mark.parametrize("code", ["none", "kernel"])
def test_twenty_steps_of_training_are_those_of_minigpt(without, code, monkeypatch):
    """Weight decay, clipping, warm-up and fall; the windows that the page drew."""
    steps, model = 20, model_of(without)
    ids = torch.randint(SIZES["V"], (400,), generator=torch.Generator().manual_seed(3))
    code = watch.kernel() if code == "kernel" else code
    asked = SIZES, without, weights_of(model), ids.tolist(), steps, BATCH, code
    found = in_node(watch.scripts(), TRAINING, *asked)
    starts = iter(torch.tensor(found["starts"]).view(steps, BATCH, 1))
    monkeypatch.setattr(torch, "randint", lambda *_: next(starts))
    expected = list(minigpt.train(copy.deepcopy(model).double(), ids, steps, BATCH, 0.003))
    assert [step for step, _ in found["losses"]] == [step for step, _ in expected]
    np.testing.assert_allclose([x for _, x in found["losses"]], [x for _, x in expected], rtol=1e-4)
