"""What helpers compute on a device is what they compute in float64 on the CPU.

`benchmarks/gpu.py` runs this file on a graphics card, without the other tests' set-up.
"""

import copy

import pytest
import torch

from helpers import norms
from helpers.attention import attention_steps, causal_mask
from helpers.gpt import GPT, GPTConfig
from helpers.train import PRESETS
from helpers.training import TrainingConfig, fit
from helpers.training.loop import cross_entropy

DEVICES = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]
pytestmark = pytest.mark.parametrize("device", DEVICES)
SIZES = {"context": 12, "layers": 2, "heads": 2, "width": 16, "dropout": 0.0}
CHOICES = {
    "gpt2": {},
    "modern": PRESETS["gpu"]["model"],
    "n-grams and ALiBi": PRESETS["fast"]["model"],
    "post-norm and RMS": {"placement": "post", "norm": "rms", "positions": "sinusoidal"},
}
TOLERANCE = {"rtol": 1e-3, "atol": 1e-5}  # of float32
IDS = torch.randint(0, 9, (3, 13), generator=torch.Generator().manual_seed(1))
TEXT = (torch.arange(600) * 2 + torch.arange(600) // 7) % 9


def gpt(choice, *, spread=None):
    """A GPT at its start, or with all its numbers drawn anew, since some heads start at zero."""
    config = GPTConfig(**{"vocab_size": 9, **CHOICES[choice], **SIZES})
    generator = torch.Generator().manual_seed(0)
    model = GPT(config, generator=generator)
    for parameter in model.parameters() if spread else ():
        torch.nn.init.normal_(parameter, std=spread, generator=generator)
    return model


def gradients(module, loss):
    module.zero_grad()
    loss.backward()
    return {name: p.grad.double().cpu() for name, p in module.named_parameters()}


@pytest.mark.parametrize("choice", CHOICES)
def test_gpt_and_its_gradients(device, choice):
    here = gpt(choice, spread=0.5).to(device)
    there = copy.deepcopy(here).double().cpu()
    outputs = [m(IDS[:, :-1].to(next(m.parameters()).device)) for m in (here, there)]
    torch.testing.assert_close(outputs[0].double().cpu(), outputs[1], **TOLERANCE)
    found, wanted = (
        gradients(m, cross_entropy(out, IDS[:, 1:].to(out.device)))
        for m, out in zip((here, there), outputs, strict=True)
    )
    torch.testing.assert_close(found, wanted, **TOLERANCE)


@pytest.mark.parametrize("name", ["LayerNorm", "RMSNorm", "BatchNorm", "InstanceNorm", "GroupNorm"])
def test_norms_and_their_gradients(device, name):
    x_BTC = torch.randn(4, 6, 16, generator=torch.Generator().manual_seed(0)) * 3 + 2
    here = getattr(norms, name)(16).to(device)
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
    wanted = attention_steps(q.double(), k.double(), v.double(), mask=causal_mask(5)).output
    for dtype, tolerance in ((torch.float32, 1e-5), (torch.float16, 5e-3), (torch.bfloat16, 5e-2)):
        inputs = (x.to(device, dtype) for x in (q, k, v))
        found = attention_steps(*inputs, mask=causal_mask(5, device=device)).output
        torch.testing.assert_close(found.double().cpu(), wanted, rtol=0, atol=tolerance)


@pytest.mark.parametrize("choice", CHOICES)
def test_generation_with_a_cache_writes_the_same(device, choice):
    model = gpt(choice, spread=0.5)

    def written(where, **how):
        prompt = IDS[:, :2].to(where)
        return model.to(where).generate(prompt, 14, generator=torch.Generator(), **how).cpu()

    wanted = written("cpu", temperature=0.0, cache=False)
    assert written(device, temperature=0.0).equal(wanted)
    assert written(device, temperature=0.0, cache=False).equal(wanted)


def trained(device, folder=None, *, steps=12, stop=None, **changes):
    """Train on a device, interrupted after `stop` steps and resumed if that is given."""
    config = TrainingConfig(
        steps=steps, batch_size=4, context=12, lr=0.01, warmup=2, checkpoint_every=5, **changes
    )
    model, how = gpt("modern").to(device), {"progress": False}
    if stop:

        def halt(record):
            if record.step == stop:
                raise KeyboardInterrupt

        how["folder"] = folder
        with pytest.raises(KeyboardInterrupt):
            fit(model, TEXT[:500], TEXT[500:], config, on_record=halt, **how)
        model, how["resume"] = gpt("modern").to(device), True
    records = fit(model, TEXT[:500], TEXT[500:], config, **how).records
    return torch.tensor([record.loss for record in records])


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
def test_training_is_the_same_on_every_device(device, optimizer):
    found, wanted = (trained(where, optimizer=optimizer) for where in (device, "cpu"))
    torch.testing.assert_close(found, wanted, rtol=0, atol=2e-3)
    low = trained(device, optimizer=optimizer, precision="bfloat16", steps=40)
    assert low[-5:].mean() < low[:5].mean() - 0.5


def test_a_resumed_run_is_the_whole_run(device, tmp_path):
    whole, resumed = trained(device), trained(device, tmp_path, stop=7)
    torch.testing.assert_close(resumed, whole, rtol=0, atol=1e-3)
