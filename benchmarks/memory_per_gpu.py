"""How much memory training takes on each GPU, for sizes up to 100 billion parameters: arithmetic.

Mixed precision with AdamW keeps, for each parameter, 2 bytes of it in bfloat16, 2 of its gradient,
and in float32 4 of the parameter itself and 8 of AdamW's two means: 16 bytes, before a single
activation. DistributedDataParallel keeps all of that on every GPU. What is sharded is cut into as
many pieces as there are GPUs: the optimiser's 12 bytes (ZeRO stage 1), the gradients too (2), or
everything (3, which is what FSDP does).

Source: Rajbhandari, Rasley, Ruwase and He 2020, section 3 and figure 1.
"""

from common import about, store_table

BYTES = {"weights": 2, "gradients": 2, "optimizer": 12}  # for each parameter
SIZES = {"124 M": 124e6, "1 B": 1e9, "7 B": 7e9, "30 B": 30e9, "100 B": 100e9}
WAYS = {  # stage of ZeRO, GPUs
    "one GPU, or DDP on any number": (0, 1),
    "ZeRO 1 on 8": (1, 8),
    "ZeRO 2 on 8": (2, 8),
    "FSDP on 8": (3, 8),
    "FSDP on 64": (3, 64),
    "FSDP on 512": (3, 512),
}


def gigabytes_a_gpu(parameters: float, gpus: int, stage: int) -> float:
    """Memory for parameters, gradients and AdamW on each of `gpus`, in units of 10⁹ bytes.

    stage: 0 nothing sharded, 1 the optimiser, 2 gradients too, 3 the parameters too.
    """
    shards = [gpus if stage >= least else 1 for least in (3, 2, 1)]
    bytes_each = sum(b / n for b, n in zip(BYTES.values(), shards, strict=True))
    return parameters * bytes_each / 1e9


def rows() -> list[list]:
    """A row a size, a column a way of sharding."""
    return [
        [size, *(f"{gigabytes_a_gpu(count, gpus, stage):,.2f}" for stage, gpus in WAYS.values())]
        for size, count in SIZES.items()
    ]


def main() -> None:
    """Store the table."""
    result = about(__file__, [], device="none needed: arithmetic") | {
        "title": "Memory on each GPU",
        "claim": "GB (10⁹ bytes) on each GPU for parameters, gradients and AdamW in mixed "
        "precision, without activations",
        "columns": ["parameters", *WAYS],
        "rows": rows(),
        "bytes": BYTES,
        "sizes": SIZES,
        "ways": WAYS,
    }
    store_table("memory_per_gpu", result)


if __name__ == "__main__":
    main()
