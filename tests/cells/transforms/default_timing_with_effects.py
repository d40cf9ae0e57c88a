# Without options a program with effects is not repeated for timing.

# %% setup
import jax
import jax.numpy as jnp
log = []
x = jnp.arange(3.0)

# %% cell --no-options
jax.debug.callback(lambda v: log.append(float(v)), x.sum())
y = x * 2

# %% change
x = x + 1

# %% after
jax.effects_barrier()
n = len(log)
