"""A model as one file: what was saved is loaded, and what is no model of the book is refused."""

import json
import pickle

import pytest
import safetensors.torch
import torch

from helpers import checkpoint, minigpt, minillama, valley

TEXT = "The fox did not cross the stream. "


def gpt():
    torch.manual_seed(0)
    tokenizer = minigpt.Tokenizer(TEXT, minigpt.WORDS)
    return minigpt.GPT(len(tokenizer.vocab), T=9, C=12, H=3, L=2), tokenizer


def llama():
    torch.manual_seed(0)
    merges = [(b"t", b"h"), (b"\xc3", b"\xa9"), (b"th", b"e")]
    tokenizer = minillama.BytePairTokenizer(merges)
    return minillama.Llama(300, T=9, C=24, H=6, G=2, L=2, hidden=40, base=500.0), tokenizer


@pytest.mark.parametrize("make", [gpt, llama])
@pytest.mark.parametrize(("dtype", "apart"), [(torch.float32, 0), (torch.float16, 1e-2)])
def test_a_model_and_its_tokenizer_come_back(tmp_path, make, dtype, apart):
    model, tokenizer = make()
    for name in ("one", "two"):
        checkpoint.save(tmp_path / name, model, tokenizer, dtype)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    again, read = checkpoint.load(tmp_path / "one")
    ids_BT = torch.arange(9)[None] % 7
    torch.testing.assert_close(again(ids_BT), model.eval()(ids_BT), rtol=0, atol=apart)
    assert not again.training
    assert next(again.parameters()).dtype == torch.float32
    text = "The fox the fox" if make is gpt else "the café"
    assert torch.equal(torch.as_tensor(read.encode(text)), torch.as_tensor(tokenizer.encode(text)))


def test_loading_leaves_the_shared_generator_as_it_was(tmp_path):
    checkpoint.save(tmp_path / "one", *gpt())
    torch.manual_seed(3)
    checkpoint.load(tmp_path / "one")
    assert torch.rand(1) == torch.rand(1, generator=torch.Generator().manual_seed(3))


def test_a_stranger_s_file_is_refused_by_its_name(tmp_path):
    model, tokenizer = gpt()
    checkpoint.save(tmp_path / "whole", model, tokenizer)
    whole, tensors = (tmp_path / "whole").read_bytes(), dict(model.state_dict())
    about = {"kind": "gpt", "sizes": checkpoint.sizes(model), "tokens": [], "pattern": "."}
    strangers = {
        "truncated": whole[: len(whole) // 2],
        "empty": b"",
        "pickled": pickle.dumps(tensors),
        "without the key": safetensors.torch.save(tensors),
        "not JSON": safetensors.torch.save(tensors, {"model": "{"}),
        "of another kind": whole.replace(b'\\"gpt', b'\\"bpt'),
        "with other tensors": safetensors.torch.save(
            {"weight": torch.ones(2)}, {"model": json.dumps(about)}
        ),
    }
    for name, data in strangers.items():
        (tmp_path / name).write_bytes(data)
        with pytest.raises(ValueError, match=name):
            checkpoint.load(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        checkpoint.load(tmp_path / "nowhere")


def test_the_shipped_model_reads_the_words_of_the_valley():
    model, tokenizer = checkpoint.load()
    wanted = minigpt.Tokenizer(valley.text(), minigpt.WORDS)
    assert (tokenizer.pattern, tokenizer.vocab) == (wanted.pattern, wanted.vocab)
    assert model.head.out_features == len(wanted.vocab)
