# Context managers run while tracing, and `as` binds.
# compiles: 1 0

# %% setup
import contextlib
import jax
import jax.numpy as jnp
x = jnp.arange(4.0).reshape(2, 2)

# %% cell
with contextlib.nullcontext(x * 2) as doubled, jax.named_scope("inner"):
    y = doubled @ doubled
with jax.default_matmul_precision("float32"):
    z = y @ y
with contextlib.suppress(KeyError):
    {}["absent"]
    never = 1

# %% change
x = x + 1
