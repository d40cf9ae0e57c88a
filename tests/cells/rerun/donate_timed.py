# Timing a program that donates works on copies; the input is used up once, at the end.

# %% setup
import jax.numpy as jnp
state = jnp.arange(8.0)

# %% cell -d state -n 3
state = state * 2 + 1
