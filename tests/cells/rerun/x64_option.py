# `--x64` computes this cell in 64 bits.
# may differ: y x64-widens
# may differ: z x64-widens
# may differ: w x64-widens

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell --x64
y = jnp.linspace(0.0, 1.0, 3)
z = x * y

# %% change
x = x + 1

# %% after
w = z + 1
