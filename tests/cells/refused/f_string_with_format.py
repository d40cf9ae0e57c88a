# An f-string that formats a traced number.
# expect: refused "trac"
# line: 3

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
loss = x.sum()
print(f"loss {loss:.3f}")

# %% after
z = x + 1
