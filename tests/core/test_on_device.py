"""What helpers compute on a device is what they compute in float64 on the CPU.

`benchmarks/gpu.py` runs this file on a graphics card, without the other tests' set-up.
"""

import copy

import pytest
import torch
import torch.nn.functional as F

from helpers import minigpt, minillama, variants
from helpers.attention import attention_steps

DEVICES = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]
pytestmark = pytest.mark.parametrize("device", DEVICES)
SIZES = {"V": 9, "T": 24, "C": 16, "H": 2, "L": 2}
CHOICES = {
    "minigpt": (minigpt.GPT, {}),
    "RoPE, RMSNorm, tied": (
        variants.GPT,
        {"positions": "rope", "norm": "rms", "tied": True},
    ),
    "ALiBi, post-norm": (variants.GPT, {"positions": "alibi", "placement": "post"}),
    "sinusoids, relu²": (variants.GPT, {"positions": "sinusoidal", "activation": "relu2"}),
    "Llama": (minillama.Llama, {"G": 1, "hidden": 32}),
}
TOLERANCE = {"rtol": 1e-3, "atol": 1e-5}  # of float32
IDS = torch.randint(0, 9, (3, 13), generator=torch.Generator().manual_seed(1))
TEXT = (torch.arange(600) * 2 + torch.arange(600) // 7) % 9


def model(choice, *, spread=None):
    """A model at its start, or with all its numbers drawn anew."""
    kind, options = CHOICES[choice]
    generator = torch.Generator().manual_seed(0)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        made = kind(**SIZES, **options)
    for parameter in made.parameters() if spread else ():
        torch.nn.init.normal_(parameter, std=spread, generator=generator)
    return made


def gradients(module, loss):
    module.zero_grad()
    loss.backward()
    return {name: p.grad.double().cpu() for name, p in module.named_parameters()}


@pytest.mark.parametrize("choice", CHOICES)
def test_gpt_and_its_gradients(device, choice):
    here = model(choice, spread=0.5).to(device)
    there = copy.deepcopy(here).double().cpu()
    outputs = [m(IDS[:, :-1].to(next(m.parameters()).device)) for m in (here, there)]
    torch.testing.assert_close(outputs[0].double().cpu(), outputs[1], **TOLERANCE)
    found, wanted = (
        gradients(m, F.cross_entropy(out.mT, IDS[:, 1:].to(out.device)))
        for m, out in zip((here, there), outputs, strict=True)
    )
    torch.testing.assert_close(found, wanted, **TOLERANCE)


@pytest.mark.parametrize("name", ["layer", "rms", "batch", "instance", "group"])
def test_norms_and_their_gradients(device, name):
    x_BTC = torch.randn(4, 6, 16, generator=torch.Generator().manual_seed(0)) * 3 + 2
    here = variants.NORMS[name](16).to(device)
    there = copy.deepcopy(here).double().cpu()
    pulls = torch.linspace(-1, 1, x_BTC.numel()).view_as(x_BTC)
    found, wanted = (
        (out.double().cpu(), gradients(m, (out * pulls.to(out)).sum()))
        for m, x in ((here, x_BTC.to(device)), (there, x_BTC.double()))
        for out in [m(x)]
    )
    torch.testing.assert_close(found, wanted, **TOLERANCE)


def test_attention_in_half_precision_under_a_mask(device):
    q, k, v = torch.randn(3, 2, 5, 8, generator=torch.Generator().manual_seed(0)).unbind()
    mask = torch.ones(5, 5, dtype=torch.bool).tril()
    wanted = attention_steps(q.double(), k.double(), v.double(), mask=mask).output
    for dtype, tolerance in ((torch.float32, 1e-5), (torch.float16, 5e-3), (torch.bfloat16, 5e-2)):
        inputs = (x.to(device, dtype) for x in (q, k, v))
        found = attention_steps(*inputs, mask=mask.to(device)).output
        torch.testing.assert_close(found.double().cpu(), wanted, rtol=0, atol=tolerance)


@pytest.mark.parametrize("choice", CHOICES)
def test_the_likeliest_text_is_the_same(device, choice):
    writer, prompt = model(choice, spread=0.5), IDS[:, :2]
    wanted = minigpt.generate(writer, prompt, 14, top_k=1)
    writer, prompt = writer.to(device), prompt.to(device)
    assert minigpt.generate(writer, prompt, 14, top_k=1).cpu().equal(wanted)
    if choice == "Llama":
        cached = torch.cat([prompt, *minillama.stream(writer, prompt, 14)], dim=1)
        assert cached.cpu().equal(wanted)


def test_training_is_the_same_on_every_device(device):
    def losses(where):
        torch.manual_seed(0)  # of the windows, which are drawn on the CPU
        steps = minigpt.train(model("minigpt").to(where), TEXT.to(where), 40, batch=4, lr=0.01)
        return torch.tensor([loss for _, loss in steps])

    found, wanted = losses(device), losses("cpu")
    torch.testing.assert_close(found[:12], wanted[:12], rtol=0, atol=2e-3)
    assert found[-5:].mean() < found[:5].mean() - 0.5
