"""AdamW, Muon, and the two of them as one optimiser with a learning rate that moves."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from math import inf

import torch
from jaxtyping import Float
from torch import Tensor, nn

from helpers.checks import at_least, checked

# a, b, c of the polynomial a·s + b·s³ + c·s⁵ that pushes singular values towards 1.
NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)
MUON_LR = 0.02
Named = dict[str, nn.Parameter]


# --------------------------------------------------------------------- Muon


@checked
def newton_schulz(
    matrices: Float[Tensor, "*batch R C"], *, steps: int = 5, dtype: torch.dtype = torch.bfloat16
) -> Float[Tensor, "*batch R C"]:
    """Each matrix with its singular vectors kept and its singular values brought near 1.

    M = U S Vᵀ becomes about U Vᵀ. Every round puts each singular value s through
    a·s + b·s³ + c·s⁵, by matrix products alone: X ← a·X + (b·A + c·A²) X with A = X Xᵀ.
    Five steps bring those above 0.01 of the Frobenius norm to between 0.68 and 1.21; the
    coefficients are chosen for speed from below, and do not converge to 1.

    dtype: what it is computed in; the result has it too.
    Raises: ValueError where matrices have no row or no column, steps is negative, or dtype is not
    of floating point.
    Source: Jordan et al. 2024, "Muon: An optimizer for hidden layers in neural networks".
    """
    a, b, c = NEWTON_SCHULZ
    at_least(0, steps=steps)
    if not dtype.is_floating_point:
        raise ValueError(f"dtype={dtype} must be one of floating point")
    if 0 in matrices.shape[-2:]:
        raise ValueError(f"matrices of shape {tuple(matrices.shape)} must have rows and columns")
    x = matrices.to(dtype).reshape(-1, *matrices.shape[-2:])
    tall = x.shape[-2] > x.shape[-1]
    if tall:  # the smaller of the two products X Xᵀ
        x = x.mT
    x = x / x.norm(dim=(-2, -1), keepdim=True).clamp(min=1e-7)
    for _ in range(steps):
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return (x.mT if tall else x).reshape(matrices.shape)


@checked
class Muon(torch.optim.Optimizer):
    """Momentum whose step is orthogonalised: every direction of a matrix moves equally far.

    B ← μ B + (1 - μ) G, with Nesterov's look ahead M = μ B + (1 - μ) G; then
    W ← (1 - lr·decay) W - lr·√max(1, rows / columns) · newton_schulz(M).
    For hidden matrices; embeddings, the head, norms and biases belong to AdamW. Matrices of
    one shape, or of its transpose, are worked on together. dtype: what the orthogonalisation is
    computed in.
    Raises ValueError where there is no parameter or one is no matrix, lr or weight_decay is
    negative or not finite, or momentum not in [0, 1).
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
        for name, share, most in (
            ("lr", lr, inf),
            ("weight_decay", weight_decay, inf),
            ("momentum", momentum, 1),
        ):
            if not 0 <= share < most:
                raise ValueError(f"{name}={share} must lie in [0, {most})")
        params = list(params)
        if not params:
            raise ValueError("params must hold a parameter at least")
        super().__init__(params, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})
        self.dtype = dtype
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.ndim != 2:
                    raise ValueError(f"params must be matrices; one is {tuple(parameter.shape)}")

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]  # takes none
        """Make one update from the gradients that are there."""
        for group in self.param_groups:
            alike = defaultdict(list)
            for parameter in group["params"]:
                if parameter.grad is not None:
                    alike[tuple(sorted(parameter.shape)), parameter.device].append(parameter)
            for parameters in alike.values():
                ahead = torch.stack(
                    [_wide(self._nesterov(p, group["momentum"])) for p in parameters]
                )
                directions = newton_schulz(ahead, dtype=self.dtype)
                for p, direction in zip(parameters, directions, strict=True):
                    rows, columns = p.shape
                    scale = group["lr"] * max(1, rows / columns) ** 0.5
                    p.mul_(1 - group["lr"] * group["weight_decay"])
                    p.add_(direction.mT if rows > columns else direction, alpha=-scale)

    def _nesterov(self, parameter: nn.Parameter, momentum: float) -> Tensor:
        """Move the momentum by the gradient, and look one more step ahead."""
        state, gradient = self.state[parameter], parameter.grad
        assert gradient is not None
        if "momentum" not in state:
            state["momentum"] = torch.zeros_like(gradient)
        state["momentum"].lerp_(gradient, 1 - momentum)
        return gradient.lerp(state["momentum"], momentum)


def _wide(matrix: Float[Tensor, "R C"]) -> Tensor:
    """The matrix lying on its longer side, so that maps up and down can be worked on together."""
    return matrix.mT if matrix.shape[0] > matrix.shape[1] else matrix


# ---------------------------------------------------- who gets which optimiser


def hidden_matrices(model: nn.Module) -> frozenset[str]:
    """Names of the weights that Muon is for: those of linear maps between hidden layers.

    Left out are an embedding's table, what is tied to it, and a linear map called `head`.
    """
    named = dict(model.named_parameters())
    tables = {id(m.weight) for m in model.modules() if isinstance(m, nn.Embedding)}
    weights = {
        id(part.weight)
        for name, part in model.named_modules()
        if isinstance(part, nn.Linear) and name.rpartition(".")[2] != "head"
    }
    return frozenset(name for name, p in named.items() if id(p) in weights - tables)


@checked
def adamw(
    named: Mapping[str, nn.Parameter],
    *,
    lr: float,
    betas: tuple[float, float] = (0.9, 0.99),
    weight_decay: float = 0.1,
) -> torch.optim.AdamW:
    """AdamW that lets matrices decay, and no bias, gain or other vector.

    Raises ValueError where nothing is named, or lr, betas or weight_decay make no sense.
    Source: Loshchilov and Hutter 2019, algorithm 2.
    """
    if not named:
        raise ValueError("named must hold a parameter at least")
    if len(betas) != 2 or not all(isinstance(b, int | float) and 0 <= b < 1 for b in betas):
        raise ValueError(f"betas={betas} must be two numbers in [0, 1)")
    for name, share in (("lr", lr), ("weight_decay", weight_decay)):
        if not 0 <= share < inf:
            raise ValueError(f"{name}={share} must be finite and not negative")
    matrices = [p for p in named.values() if p.ndim >= 2]
    vectors = [p for p in named.values() if p.ndim < 2]
    groups = [
        {"params": matrices, "weight_decay": weight_decay},
        {"params": vectors, "weight_decay": 0.0},
    ]
    fused = all(p.device.type in ("cpu", "cuda") for p in named.values())
    filled = [group for group in groups if group["params"]]
    both = (float(betas[0]), float(betas[1]))  # torch wants no whole numbers
    return torch.optim.AdamW(filled, lr=lr, betas=both, fused=fused)


REMEMBERED = {torch.optim.AdamW: ("exp_avg", "exp_avg_sq", "step"), Muon: ("momentum",)}


@checked
class CombinedOptimizer:
    """Several optimisers as one, for the named parameters of one model.

    The learning rates that `parts` (AdamW or Muon) were made with are their peaks: `scale` sets
    all of them to a share of those.
    Raises ValueError where a parameter that is trained has no optimiser, or two.
    """

    def __init__(self, named: Mapping[str, nn.Parameter], *parts: torch.optim.Optimizer):
        if odd := [part for part in parts if not isinstance(part, torch.optim.Optimizer)]:
            raise TypeError(f"parts must be optimisers; one is of type {type(odd[0]).__name__}")
        self.parts = parts
        self.named = dict(named)
        owned = [id(p) for part in parts for group in part.param_groups for p in group["params"]]
        for name, parameter in self.named.items():
            if (times := owned.count(id(parameter))) != 1:
                raise ValueError(f"parameter {name!r} must have one optimiser, has {times}")
        self._peaks = [[group["lr"] for group in part.param_groups] for part in parts]

    def scale(self, share: float) -> None:
        """Set each learning rate to a share of its peak."""
        for part, peaks in zip(self.parts, self._peaks, strict=True):
            for group, peak in zip(part.param_groups, peaks, strict=True):
                group["lr"] = peak * share

    def step(self) -> None:
        """Make one update."""
        for part in self.parts:
            part.step()

    def zero_grad(self) -> None:
        """Drop all gradients."""
        for part in self.parts:
            part.zero_grad()

    def state_dict(self) -> dict[str, Tensor]:
        """What the optimisers remember, as tensors named `parameter:what`.

        Learning rates and the like are not in it: they come from the configuration.
        """
        return {
            f"{name}:{what}": value
            for name, part, _ in self._places()
            for what, value in sorted(part.state.get(self.named[name], {}).items())
        }

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Take up what `state_dict` gave. Raises ValueError where it does not fit, and takes none.

        Each parameter must have all that its optimiser remembers of it, or nothing.
        """
        state = dict(state)
        loaded = {id(part): part.state_dict() | {"state": {}} for part in self.parts}
        for name, part, place in self._places():
            keys = {what: f"{name}:{what}" for what in REMEMBERED[type(part)]}
            if missing := [key for key in keys.values() if key not in state]:
                if len(missing) == len(keys):
                    continue
                raise ValueError(f"the state of the optimiser lacks {missing[0]!r}")
            found = {what: state.pop(key).clone() for what, key in keys.items()}
            for what, value in found.items():
                wanted = () if what == "step" else tuple(self.named[name].shape)
                if tuple(value.shape) != wanted:
                    raise ValueError(f"{keys[what]!r} has {tuple(value.shape)}, should be {wanted}")
            loaded[id(part)]["state"][place] = found
        if state:
            raise ValueError(f"{min(state)!r} is nothing that this optimiser remembers")
        for part in self.parts:
            part.load_state_dict(loaded[id(part)])

    def _places(self) -> Iterator[tuple[str, torch.optim.Optimizer, int]]:
        """(name, its optimiser, its number there) of each parameter."""
        names = {id(parameter): name for name, parameter in self.named.items()}
        for part in self.parts:
            every = [p for group in part.param_groups for p in group["params"]]
            for place, parameter in enumerate(every):
                yield names[id(parameter)], part, place
