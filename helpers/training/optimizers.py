"""AdamW, Muon, and both combined in one optimiser with a learning-rate schedule."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from helpers.training.config import DTYPES, TrainingConfig

# a, b, c of the polynomial a·s + b·s³ + c·s⁵ that pushes singular values towards 1.
NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)
MUON_LR = 0.02


# --------------------------------------------------------------------- Muon


def newton_schulz(
    matrices: Float[Tensor, "*batch R C"], *, steps: int = 5, dtype: torch.dtype = torch.bfloat16
) -> Float[Tensor, "*batch R C"]:
    """Each matrix with its singular vectors kept and its singular values brought near 1.

    M = U S Vᵀ becomes about U Vᵀ. Every step maps each singular value s to a·s + b·s³ + c·s⁵, by
    matrix products alone: X ← a·X + (b·A + c·A²) X with A = X Xᵀ. Five steps bring those above
    0.01 of the Frobenius norm to between 0.68 and 1.21; the coefficients are chosen for speed
    from below, and do not converge to 1.

    dtype: of the computation and of the result.
    Source: Jordan et al. 2024, "Muon: An optimizer for hidden layers in neural networks".
    Shapes: (..., R, C) to (..., R, C).
    """
    a, b, c = NEWTON_SCHULZ
    x = matrices.to(dtype).reshape(-1, *matrices.shape[-2:])
    tall = x.shape[-2] > x.shape[-1]
    if tall:  # the smaller of the two products X Xᵀ
        x = x.mT
    x = x / x.norm(dim=(-2, -1), keepdim=True).clamp(min=1e-7)
    for _ in range(steps):
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return (x.mT if tall else x).reshape(matrices.shape)


class Muon(torch.optim.Optimizer):
    """Momentum whose step is orthogonalised: every direction of a matrix moves equally far.

    B ← μ B + (1 - μ) G, with Nesterov momentum M = μ B + (1 - μ) G; then
    W ← (1 - lr·decay) W - lr·√max(1, rows / columns) · newton_schulz(M).
    For hidden matrices; embeddings, the head, norms and biases belong to AdamW. Matrices of
    one shape, or of its transpose, are batched. dtype: of the orthogonalisation.
    Source: Jordan et al. 2024.
    """

    def __init__(
        self,
        params: Iterable,
        *,
        lr: float = MUON_LR,
        momentum: float = 0.95,
        weight_decay: float = 0.0,
        dtype: torch.dtype = torch.bfloat16,
    ):
        super().__init__(params, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})
        self.dtype = dtype

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]  # takes none
        """Make one update; parameters without gradient are left alone."""
        for group in self.param_groups:
            by_shape = defaultdict(list)
            for parameter in group["params"]:
                if parameter.grad is not None:
                    by_shape[tuple(sorted(parameter.shape)), parameter.device].append(parameter)
            for parameters in by_shape.values():
                steps = [_wide(self._nesterov(p, group["momentum"])) for p in parameters]
                directions = newton_schulz(torch.stack(steps), dtype=self.dtype)
                for p, direction in zip(parameters, directions, strict=True):
                    rows, columns = p.shape
                    scale = group["lr"] * max(1, rows / columns) ** 0.5
                    p.mul_(1 - group["lr"] * group["weight_decay"])
                    p.add_(direction.mT if rows > columns else direction, alpha=-scale)

    def _nesterov(self, parameter: nn.Parameter, momentum: float) -> Tensor:
        """Update the momentum by the gradient, and look one more step ahead."""
        state, gradient = self.state[parameter], parameter.grad
        assert gradient is not None
        if "momentum" not in state:
            state["momentum"] = torch.zeros_like(gradient)
        state["momentum"].lerp_(gradient, 1 - momentum)
        return gradient.lerp(state["momentum"], momentum)


def _wide(matrix: Float[Tensor, "R C"]) -> Tensor:
    """The matrix, transposed if it is tall, so that both orientations can be batched."""
    return matrix.mT if matrix.shape[0] > matrix.shape[1] else matrix


# ------------------------------------------------ which parameters get which optimiser


def hidden_matrices(model: nn.Module) -> frozenset[str]:
    """Names of the weights that Muon is for: those of linear layers between hidden layers.

    Left out are embedding matrices, what is tied to them, and a linear layer called `head`.
    """
    named = dict(model.named_parameters())
    tables = {id(m.weight) for m in model.modules() if isinstance(m, nn.Embedding)}
    weights = {
        id(part.weight)
        for name, part in model.named_modules()
        if isinstance(part, nn.Linear) and name.rpartition(".")[2] != "head"
    }
    return frozenset(name for name, p in named.items() if id(p) in weights - tables)


def adamw(
    named: Mapping[str, nn.Parameter],
    *,
    lr: float,
    betas: tuple[float, float] = (0.9, 0.99),
    weight_decay: float = 0.1,
) -> torch.optim.AdamW:
    """AdamW with weight decay on matrices alone, not on biases, gains or other vectors.

    Source: Loshchilov and Hutter 2019, algorithm 2.
    """
    matrices = [p for p in named.values() if p.ndim >= 2]
    vectors = [p for p in named.values() if p.ndim < 2]
    groups = [
        {"params": matrices, "weight_decay": weight_decay},
        {"params": vectors, "weight_decay": 0.0},
    ]
    fused = all(p.device.type in ("cpu", "cuda") for p in named.values())
    filled = [group for group in groups if group["params"]]
    return torch.optim.AdamW(filled, lr=lr, betas=betas, fused=fused)


STATE = {torch.optim.AdamW: ("exp_avg", "exp_avg_sq", "step"), Muon: ("momentum",)}


class CombinedOptimizer:
    """Several optimisers as one, for the named parameters of one model.

    The learning rates that `parts` (AdamW or Muon) were made with are their peaks: `scale` sets
    all of them to a fraction of those.
    Raises ValueError where a parameter that is trained has no optimiser, or two.
    """

    def __init__(self, named: Mapping[str, nn.Parameter], *parts: torch.optim.Optimizer):
        self.parts = parts
        self.named = dict(named)
        owned = [id(p) for part in parts for group in part.param_groups for p in group["params"]]
        for name, parameter in self.named.items():
            if (times := owned.count(id(parameter))) != 1:
                raise ValueError(f"parameter {name!r} must have one optimiser, has {times}")
        self._peaks = [[group["lr"] for group in part.param_groups] for part in parts]

    def scale(self, factor: float) -> None:
        """Set each learning rate to a fraction of its peak."""
        for part, peaks in zip(self.parts, self._peaks, strict=True):
            for group, peak in zip(part.param_groups, peaks, strict=True):
                group["lr"] = peak * factor

    def step(self) -> None:
        """Make one update."""
        for part in self.parts:
            part.step()

    def zero_grad(self) -> None:
        """Drop all gradients."""
        for part in self.parts:
            part.zero_grad()

    def state_dict(self) -> dict[str, Tensor]:
        """The state of the optimisers, as tensors named `parameter:key`.

        Learning rates and the like are not in it: they come from the configuration.
        """
        return {
            f"{name}:{key}": value
            for name, part, _ in self._indices()
            for key, value in sorted(part.state.get(self.named[name], {}).items())
        }

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Load the result of `state_dict`. Raises ValueError for an unexpected key."""
        state = dict(state)
        loaded = {id(part): part.state_dict() | {"state": {}} for part in self.parts}
        for name, part, index in self._indices():
            keys = {key: f"{name}:{key}" for key in STATE[type(part)]}
            if state.keys() & keys.values():  # a parameter without gradient has no state
                own = {key: state.pop(full).clone() for key, full in keys.items()}
                loaded[id(part)]["state"][index] = own
        if state:
            raise ValueError(f"unexpected key in the optimiser's state: {min(state)!r}")
        for part in self.parts:
            part.load_state_dict(loaded[id(part)])

    def _indices(self) -> Iterator[tuple[str, torch.optim.Optimizer, int]]:
        """(name, its optimiser, its index there) of each parameter."""
        names = {id(parameter): name for name, parameter in self.named.items()}
        for part in self.parts:
            parameters = [p for group in part.param_groups for p in group["params"]]
            for index, parameter in enumerate(parameters):
                yield names[id(parameter)], part, index


def make_optimizer(model: nn.Module, config: TrainingConfig) -> CombinedOptimizer:
    """AdamW for all trained parameters, or Muon for the hidden matrices and AdamW for the rest.

    Hidden matrices with their own learning rate have their own AdamW.
    Raises ValueError where they are asked for and the model has none.
    """
    named = {name: p for name, p in model.named_parameters() if p.requires_grad}
    apart = config.optimizer == "muon" or config.matrix_lr is not None
    hidden = hidden_matrices(model) & named.keys() if apart else frozenset()
    if apart and not hidden:
        raise ValueError("Muon and matrix_lr need a model with linear layers between hidden layers")
    matrices = {name: p for name, p in named.items() if name in hidden}
    rest = {name: p for name, p in named.items() if name not in hidden}
    options: dict[str, Any] = {"betas": config.betas, "weight_decay": config.weight_decay}
    parts: list[torch.optim.Optimizer] = [adamw(rest, lr=config.lr, **options)] if rest else []
    lr = MUON_LR if config.matrix_lr is None else config.matrix_lr
    if hidden and config.optimizer == "adamw":
        parts.append(adamw(matrices, lr=lr, **options))
    elif hidden:
        options = {"momentum": config.momentum, "weight_decay": config.weight_decay}
        parts.append(Muon(matrices.values(), lr=lr, dtype=DTYPES[config.precision], **options))
    return CombinedOptimizer(named, *parts)
