# The same under contextlib.suppress.
# expect: refused "trac|Concretization"

# %% setup
import contextlib
import jax.numpy as jnp
x = jnp.arange(3.0)
label = "unset"

# %% cell
y = x * 2
with contextlib.suppress(TypeError):
    label = "big" if y.sum() > 1 else "small"

# %% after
z = x + 1
