"""The commands: what they print, keep and ask, and what they say of bad input."""

from types import SimpleNamespace

import pytest
import torch

from helpers import chat, checkpoint, command, fast, minigpt, minillama, pretrained

TEXT = "Лиса не перешла ручей. " * 60


@pytest.fixture
def path(tmp_path):
    (tmp_path / "my.txt").write_text(TEXT, encoding="utf-8")
    return tmp_path / "my.txt"


@pytest.fixture
def typed(monkeypatch):
    """What the reader types; then the input ends."""
    lines = []

    def line(_):
        if not lines:
            raise EOFError
        return lines.pop(0)

    monkeypatch.setattr("builtins.input", line)
    return lines


def stop_after(monkeypatch, steps):
    def stopped(*_, **__):
        yield from ((step, 4.0) for step in range(1, steps + 1))
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "train", stopped)


def test_noise_is_seen_before_and_soon_after_the_first_step(path, typed, monkeypatch, capsys):
    stop_after(monkeypatch, 250)
    command.run([str(path)])
    printed = capsys.readouterr().out
    steps = [line.split(",")[0] for line in printed.splitlines() if line.startswith("step ")]
    assert steps == [f"step {step}" for step in (0, 10, 50, 100, 200)]
    assert set(printed.partition(TEXT[:10])[2].partition("step")[0].strip()) <= {*TEXT, "\n"}


def test_ctrl_c_keeps_the_model_which_writes_on_again_and_again(path, typed, monkeypatch, capsys):
    stop_after(monkeypatch, 1)
    command.run([str(path)])
    capsys.readouterr()
    assert sorted(file.name for file in path.parent.iterdir()) == ["my.safetensors", "my.txt"]
    kept = path.with_suffix(".safetensors")
    model, tokenizer = checkpoint.load(kept)
    assert tokenizer.vocab == sorted(set(TEXT))
    assert model.embedding.num_embeddings == len(tokenizer.vocab)
    before = kept.read_bytes()
    typed += ["Лиса", "Fox", "ручей"]
    command.run([str(kept)])
    printed = capsys.readouterr().out
    assert "step" not in printed
    assert [len(printed.split(word)[-1]) > 200 for word in ("Лиса", "ручей")] == [True, True]
    assert "'F': try another" in printed  # a letter that it does not know
    command.run([str(path)])
    assert f"kept in {path.with_name('my-2.safetensors')}" in capsys.readouterr().out
    assert kept.read_bytes() == before


def test_ctrl_c_before_the_first_step_keeps_nothing(path, monkeypatch):
    stop_after(monkeypatch, 0)
    with pytest.raises(SystemExit, match="nothing is kept"):
        command.run([str(path)])
    assert not path.with_suffix(".safetensors").exists()


def test_words_are_tokens_if_asked_for(path, typed, monkeypatch):
    stop_after(monkeypatch, 1)
    path.write_text(TEXT * 4, encoding="utf-8")
    command.run(["--words", str(path)])
    _, tokenizer = checkpoint.load(path.with_suffix(".safetensors"))
    assert tokenizer.pattern == minigpt.WORDS
    assert " ручей" in tokenizer.vocab


def test_bad_input_gets_one_sentence_and_leaves_no_file(path, monkeypatch):
    folder = path.parent
    (folder / "short.txt").write_text("Too short.", encoding="utf-8")
    (folder / "latin.txt").write_bytes("für".encode("latin-1"))
    (folder / "no.safetensors").write_bytes(b"not a model")
    files = sorted(folder.iterdir())
    for name, said in {
        "short.txt": "10 tokens",
        "latin.txt": "no text in UTF-8",
        "none.txt": "no file",
        "no.safetensors": "no model of the book$",
        "none.safetensors": "no file at",
        ".": "is a folder",
    }.items():
        with pytest.raises(SystemExit, match=said) as stopped:
            command.run([str(folder / name)])
        assert "\n" not in str(stopped.value)
    shipped = checkpoint.SHIPPED.with_name("tales.txt")
    with pytest.raises(SystemExit, match="another folder"):
        command.run([str(shipped)])
    assert sorted(folder.iterdir()) == files


def test_chat_keeps_what_was_said_even_of_an_answer_cut_short(typed, monkeypatch, capsys):
    asked = []

    def answers(model, tokenizer, messages, n, write):
        asked.append(list(messages))
        yield "Par"
        yield "Paris"
        if len(asked) == 1:
            raise KeyboardInterrupt
        yield "Paris."

    monkeypatch.setattr(pretrained, "smollm2", lambda: (SimpleNamespace(T=9), None))
    monkeypatch.setattr(pretrained, "answers", answers)
    monkeypatch.setattr(fast, "faster", lambda *_: None)
    typed += ["Where?", "And now?"]
    chat.main()
    first, *said = capsys.readouterr().out.splitlines()[:3]
    assert ("often wrong" in first, said) == (True, ["Paris", "Paris."])
    assert asked[1][1:] == [("user", "Where?"), ("assistant", "Paris"), ("user", "And now?")]


def test_answers_wait_for_the_rest_of_a_character(monkeypatch):
    ids = [97, *"é".encode(), 256]
    monkeypatch.setattr(pretrained, "stream", lambda *_: (torch.tensor([[i]]) for i in ids))
    monkeypatch.setattr(pretrained, "chat_ids", lambda *_: None)
    tokenizer = minillama.BytePairTokenizer([])
    tokenizer.ids[b"<|im_end|>"] = 256
    assert [*pretrained.answers(torch.nn.Identity(), tokenizer, [], 9)] == ["a", "a", "aé"]
