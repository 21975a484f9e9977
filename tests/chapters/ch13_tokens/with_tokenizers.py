"""Learn the merges of the tales with the package ``tokenizers``, and store them beside this script.

    python tests/chapters/ch13_tokens/with_tokenizers.py    with benchmarks/oracles.txt installed

The settings are those of ``helpers.minillama``: its rule for what is split first, 256 bytes, 256
merges, the first nine tenths of the tales. A byte is written as GPT-2's letter for it.
"""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
STORED = Path(__file__).with_name("with_tokenizers.json")


def main() -> None:
    """Learn, encode the beginning of the text held out, and store both."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

    sys.path.insert(0, str(ROOT))
    from helpers import corpus
    from helpers.minillama import SPLIT

    text = corpus.load()
    cut = len(text) * 9 // 10
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(SPLIT), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=512, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator([text[:cut]], trainer)
    merges = [" ".join(pair) for pair in json.loads(tokenizer.to_str())["model"]["merges"]]
    tokens = tokenizer.encode(text[cut : cut + 2000]).tokens
    stored = {"merges": merges, "tokens": tokens}
    STORED.write_text(json.dumps(stored, ensure_ascii=False, indent=0) + "\n", "utf-8")


if __name__ == "__main__":
    main()
