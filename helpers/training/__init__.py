"""Training: the plain loop for any module, and the trainer of the small GPT.

    from helpers.training import Record, train, evaluate         the loop of all chapters
    from helpers.training import TrainingConfig, fit             a model of token ids, with all
                                                                 that a long run needs

`loop` is the first of these; `fit` combines `config`, `schedule`, `optimizers`, `checkpoints`,
`run_folder` and `processes`.
"""

from helpers.training.checkpoints import Checkpoint, CheckpointError
from helpers.training.config import TrainingConfig
from helpers.training.fit import fit
from helpers.training.loop import Loss, Pairs, Record, evaluate, train
from helpers.training.run_folder import Outcome, StepRecord
