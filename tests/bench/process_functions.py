"""Functions that a fresh process can import: pickle sends their names."""

import os

import numpy as np

from jaxscope.bench import Progress


def made(size):
    return {"x": np.arange(10, dtype=np.float32)}


def total(x):
    return x.sum()


def told_in_place(x):
    """1 where JAX runs calls in place: a setting that no variable can tell."""
    import jax

    return np.float32(not jax.config.values["jax_cpu_enable_async_dispatch"])


def one(x):
    return np.float32(1)


def dies(x):
    os._exit(3)


def interrupted_in_the_second(step: Progress):
    """A progress callback that stands for a user who loses patience."""
    if step.text.startswith("process 2"):
        raise KeyboardInterrupt
