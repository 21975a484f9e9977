"""What of the book's code an answer cannot import: what its exercise asks for, and the judges."""

import importlib
import re

from helpers.chapters import BY_NUMBER
from homework.release.assignment import Assignment

ASKED_FOR = {  # by exercise: names in `helpers` that do most of what it asks for
    "01.1": ("embeddings.one_hot",),
    "01.7": ("embeddings.remap_vocabulary",),
    "02.1": ("similarity.similarities",),
    "03.8": ("minigpt.get_batch",),
    "04.1": ("norms.normalise", "norms.normalise_over"),
    "04.8": ("minigpt.LayerNorm",),
    "05.1": ("numerics.attention_weights", "worked.attention_of_one_query"),
    "05.2": (
        "numerics.attention",
        "attention.attend",
        "attention.attention_steps",
        "chapters.ch05_attention_by_hand.corrections._attend",
    ),
    "06.2": ("numerics.softmax_jacobian",),
    "07.1": ("attention.causal_mask",),
    "07.8": ("minigpt.CausalSelfAttention",),
    "08.8": ("minigpt.FeedForward",),
    "09.3": ("training.schedule.lr_factor",),
    "09.8": ("minigpt.Block",),
    "10.8": ("minigpt.init_weights",),
    "11.8": ("minigpt.GPT",),
    "13.2": ("minillama.merged",),
    "14.4": ("minillama.GroupedQueryAttention",),
    "15.1": ("minillama.CachedAttention",),
    "16.3": (
        "minillama.LoRA",
        "chapters.ch16_from_text_to_answers.lab.LoRA",
        "chapters.ch16_from_text_to_answers.corrections.LoRA",
    ),
}
JUDGES = ("exercises.CHECKS", "exercises.verdict.CHECKS", "chapters.CHECKS")  # hold answers


def withheld(assignment: Assignment) -> list[str]:
    """Dotted names that students' cells cannot have: of the exercises of a problem set, and of the
    chapter's judges all that no given cell and no check names.
    """
    tasks = assignment.tasks
    asked_for = [name for task in tasks for name in ASKED_FOR.get(task.name, ())]
    found = [f"helpers.{name}" for name in (*asked_for, *JUDGES)]
    given = [*assignment.setup, *(cell for task in tasks for cell in task.cells[:-1])]
    texts = [cell.source for cell in given if cell.cell_type == "code"]
    words = set(re.findall(r"\w+", "\n".join([*texts, *(task.check for task in tasks)])))
    folder = BY_NUMBER[int(assignment.chapter)].folder.name
    judges = importlib.import_module(f"helpers.chapters.{folder}.exercises")
    names = (name for name in vars(judges) if not name.startswith("__") and name not in words)
    return found + [f"{judges.__name__}.{name}" for name in names]
