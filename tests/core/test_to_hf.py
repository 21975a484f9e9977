"""Models for others' programs: what is written is what was stored, and it comes back.

Run as a script it stores the folders anew; `make oracles` has transformers open them.
"""

import json
import urllib.request
from pathlib import Path

import pytest
import safetensors.torch
import torch

from helpers import checkpoint, corpus, minigpt, minillama, pretrained, to_hf
from helpers.gguf import read_gguf

STORED = Path(__file__).with_name("to_hf")
TEXT = "The fox didn't cross  the stream in 1950,\n\nfor it was too wide. "
TEXT += "Кто e\u0301 x_y ²½Ⅷ ١٢ 一二 नमस्ते\r\n\u200da\u00a0b naïve"  # each script as Python cuts it
KINDS = ["gpt-pairs", "llama-pairs", "gpt-words", "llama-characters"]
PAIRS = KINDS[:2]


def made(name):
    """A model with weights of whole 1024ths, the same on every processor, and its tokenizer."""
    kind, tokens = name.split("-")
    tokenizer = minigpt.Tokenizer(TEXT, minigpt.WORDS if tokens == "words" else r"(?s).")
    if tokens == "pairs":
        tokenizer = minillama.BytePairTokenizer(minillama.learn_merges(TEXT, 20))
    sizes = {"V": len(tokenizer.vocab), "T": 160, "C": 12, "H": 3, "L": 2}
    of_llama = {"G": 1, "hidden": 20, "base": 500.0} if kind == "llama" else {}
    model = checkpoint.KINDS[kind](**sizes, **of_llama).eval()
    for n, parameter in enumerate(model.parameters()):
        numbers = (torch.arange(parameter.numel()) + 101 * n) ** 2 * 37 % 1021 - 510
        parameter.data = (numbers.view_as(parameter) / 1024 + (parameter == 1)).float()
    return model, tokenizer


def same(found, wanted):
    torch.testing.assert_close(found, wanted, rtol=0, atol=0)


@pytest.mark.parametrize("name", KINDS)
def test_what_is_written_is_what_was_stored(tmp_path, name):
    if name in PAIRS:
        pytest.importorskip("gguf")
    to_hf.write(tmp_path / name, *made(name))
    files = sorted(path.name for path in (STORED / name).iterdir())
    assert sorted(path.name for path in (tmp_path / name).iterdir()) == files
    for file in files:
        new, old = (tmp_path / name / file).read_bytes(), (STORED / name / file).read_bytes()
        if file.endswith(".json"):
            assert json.loads(new) == json.loads(old)
        elif file.endswith(".safetensors"):
            same(safetensors.torch.load(new), safetensors.torch.load(old))
        else:
            (about, tensors), (wanted, weights) = read_gguf(new), read_gguf(old)
            assert about == wanted
            same(tensors, weights)


def test_a_folder_gives_the_same_model_back():
    model, tokenizer = made(name := "llama-pairs")
    ids = tokenizer.encode(TEXT)
    again, read = pretrained.from_folder(STORED / name)
    same(dict(again.named_parameters()), dict(model.named_parameters()))
    same(again(ids[None]), model(ids[None]))
    assert read.encode(TEXT).tolist() == ids.tolist()
    assert read.decode(ids) == TEXT


def test_a_token_that_two_merges_make_has_one_name():
    merges = [(b"a", b"a"), (b"aa", b"a"), (b"a", b"aa")]
    vocab = to_hf.words(minillama.BytePairTokenizer(merges))["model"]["vocab"]
    assert [*vocab.values()] == [*range(259)]
    assert [name for name, i in vocab.items() if i > 255] == ["aa", "<unused 257>", "aaa"]


def test_the_command_speaks_in_sentences(tmp_path, capsys):
    checkpoint.save(tmp_path / "my.safetensors", *made("gpt-words"))
    to_hf.run([str(tmp_path / "my.safetensors"), str(tmp_path / "out")])
    assert "knows byte pairs alone" in capsys.readouterr().out
    for path, folder, said in (
        ("my.safetensors", "out", "isn't empty"),
        ("none.safetensors", "new", "no file at"),
        ("out/model.safetensors", "new", "no model of the book"),
    ):
        with pytest.raises(SystemExit, match=said):
            to_hf.run([str(tmp_path / path), str(tmp_path / folder)])
    assert not (tmp_path / "new").exists()


# ------------------------------------------------- others' programs, where `make oracles` has them


@pytest.mark.nightly
@pytest.mark.parametrize("name", KINDS)
def test_transformers_computes_and_writes_the_same(name):
    hf = pytest.importorskip("transformers")
    model, tokenizer = made(name)
    theirs = hf.AutoModelForCausalLM.from_pretrained(STORED / name).eval()
    reads = hf.AutoTokenizer.from_pretrained(STORED / name)
    ids_1T = tokenizer.encode(TEXT)[None, :50]
    with torch.no_grad():
        torch.testing.assert_close(theirs(ids_1T).logits, model(ids_1T), rtol=1e-4, atol=1e-4)
    assert reads(TEXT)["input_ids"] == tokenizer.encode(TEXT).tolist()
    assert reads.decode(tokenizer.encode(TEXT)) == TEXT
    asked = {"input_ids": ids_1T, "attention_mask": torch.ones_like(ids_1T), "pad_token_id": 0}
    written_1T = theirs.generate(**asked, max_new_tokens=40, do_sample=False)
    assert torch.equal(written_1T, minigpt.generate(model, ids_1T, 40, top_k=1))
    assert reads.decode(written_1T[0]) == tokenizer.decode(written_1T[0].tolist())
    if name not in PAIRS:
        with pytest.raises(Exception, match="UNK"):  # as ours, it leaves nothing out in silence
            reads("Zebra")


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["gpt", "llama"])
def test_llama_cpp_reads_the_same_ids_and_writes_the_same_text(tmp_path, kind):
    """Learned a little, so that the likeliest token is clear: its GPT-2 has GELU by tanh."""
    llama_cpp = pytest.importorskip("xllamacpp")
    torch.manual_seed(0)
    text = corpus.load()[:20_000]
    tokenizer = minillama.BytePairTokenizer(minillama.learn_merges(text, 100))
    model = minigpt.GPT(356, T=64, C=32, H=4, L=2)
    if kind == "llama":
        model = minillama.Llama(356, T=64, C=32, H=4, G=2, L=2, hidden=64)
    for _ in minigpt.train(model, tokenizer.encode(text), 100, 8, 0.01):
        pass
    to_hf.write(tmp_path / "out", model, tokenizer)
    how = llama_cpp.CommonParams()
    how.model.path = str(tmp_path / "out" / "model.gguf")
    how.warmup, how.n_parallel, how.cpuparams.n_threads = False, 1, 1
    server = llama_cpp.Server(how)

    def asked(path, **about):
        request = urllib.request.Request(
            server.listening_address + path, json.dumps(about).encode()
        )
        request.add_header("Content-Type", "application/json")
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        return json.loads(direct.open(request, timeout=60).read())

    assert asked("/tokenize", content=TEXT)["tokens"] == tokenizer.encode(TEXT).tolist()
    begin = "The fox said, "
    ids_1T = tokenizer.encode(begin)[None]
    ours = minigpt.generate(model, ids_1T, 40, top_k=1)[0].tolist()
    for prompt in (begin, ids_1T[0].tolist()):
        found = asked("/completion", prompt=prompt, n_predict=40, temperature=0, return_tokens=True)
        assert found["tokens"] == ours[ids_1T.shape[1] :]
        assert begin + found["content"] == tokenizer.decode(ours)


if __name__ == "__main__":
    for name in KINDS:
        to_hf.write(STORED / name, *made(name))
