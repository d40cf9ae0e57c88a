# A float that is put into text with digits is an error with the cure; `-s` compiles it.
# expect: refused "-s lr"
# line: 3

# %% setup
import jax.numpy as jnp
x, lr = jnp.ones(2), 0.125

# %% cell
y = x * lr
print(f"lr = {lr:.2e}")
