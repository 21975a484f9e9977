"""An assistant kept in a file: the same when it is loaded again, and no other file is taken."""

import pytest
import torch

from helpers import adapter, chat, checkpoint, fast, minillama, pretrained

IDS = torch.arange(5)[None]


def llama(C=16, trained=False):
    torch.manual_seed(C)
    model = minillama.Llama(V=5, T=8, C=C, H=2, G=1, L=2, hidden=24).eval()
    for part in (model.blocks[1].attention, model.blocks[0].feed_forward) if trained else ():
        name = "value" if hasattr(part, "value") else "up"
        setattr(part, name, minillama.LoRA(getattr(part, name), rank=2, alpha=3))
        torch.nn.init.normal_(getattr(part, name).b)
    return model


@pytest.fixture
def path(tmp_path):
    return tmp_path / "assistant.safetensors"


@torch.no_grad()
def test_what_was_kept_gives_the_same_logits_when_loaded(path):
    trained, fresh = llama(trained=True), llama()
    adapter.save(path, trained)
    assert not torch.allclose(fresh(IDS), trained(IDS), atol=1e-3)
    for _ in range(2):  # it may be loaded twice
        adapter.load(path, fresh)
        assert torch.equal(fresh(IDS), trained(IDS))


@torch.no_grad()
def test_a_foreign_file_is_refused_in_a_sentence_and_changes_nothing(path, tmp_path):
    adapter.save(path, llama(C=8, trained=True))  # of another width
    (tmp_path / "notes.txt").write_text("Who runs the inn?")
    model = llama()
    before = model(IDS)
    for foreign in (path, tmp_path / "notes.txt", checkpoint.SHIPPED):
        with pytest.raises(ValueError, match=f"{foreign.name} holds no adapter"):
            adapter.load(foreign, model)
        assert torch.equal(model(IDS), before)
    with pytest.raises(ValueError, match="no adapter to be kept"):
        adapter.save(path, model)


def test_the_chat_opens_what_was_kept_or_says_why_not(path, monkeypatch):
    asked, fresh, lines = [], llama(), ["Who runs the inn?", "Who cooks?", ""]
    adapter.save(path, llama(trained=True))
    monkeypatch.setattr(fast, "INT4", False)
    monkeypatch.setattr(pretrained, "smollm2", lambda: (fresh, None))
    monkeypatch.setattr(
        pretrained, "answers", lambda *given, write: asked.append(given[2][:]) or ["Fern."]
    )
    monkeypatch.setattr("builtins.input", lambda _: lines.pop(0))
    chat.main([str(path)])
    assert asked == [[("user", "Who runs the inn?")], [("user", "Who cooks?")]]
    assert isinstance(fresh.blocks[1].attention.value, minillama.LoRA)
    with pytest.raises(SystemExit, match="holds no adapter"):
        chat.main([str(checkpoint.SHIPPED)])
