"""The command `python -m helpers.chat`: talk with SmolLM2, which runs in the reader's own Llama.

Given the `assistant.safetensors` that chapter 16 keeps, talk with what was made of it.
"""

import argparse
import signal
import sys
from collections.abc import Sequence


def turn(answers, model, tokenizer, messages, n=400, **how):
    """Print the answer as it comes, and add it to the conversation; Ctrl-C ends it early."""
    said = ""
    try:
        for answer in answers(model, tokenizer, messages, n, **how):
            print(answer.removeprefix(said), end="", flush=True)
            said = answer
    except KeyboardInterrupt:
        pass
    print()
    messages.append(("assistant", said))


def main(words: Sequence[str] = ()):
    """Ask for questions until there are no more, and answer each."""
    parser = argparse.ArgumentParser("python -m helpers.chat", description="Talk with SmolLM2.")
    parser.add_argument("adapter", nargs="?", help="such as chapter 16's assistant.safetensors")
    path = parser.parse_args(words).adapter
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    print("SmolLM2 (135M parameters) is often wrong. Ctrl-C ends an answer, Enter alone leaves.")
    from helpers import adapter, fast, pretrained  # takes a while

    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        model, tokenizer = pretrained.smollm2()
        messages = [("system", pretrained.SYSTEM)]
        if path:
            adapter.load(path, model)
        model = fast.faster(model, 4 if fast.INT4 else 32, model.T)
        while question := input("\nYou: ").strip():
            if path:
                messages.clear()  # it was taught single questions, without a system message
            messages.append(("user", question))
            turn(pretrained.answers, model, tokenizer, messages, write=fast.stream)
    except (EOFError, KeyboardInterrupt):
        print()
    except (OSError, ValueError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main(sys.argv[1:])
