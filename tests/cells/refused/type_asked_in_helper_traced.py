# A number that is traced by `-t`, and asked for its type.
# expect: refused "-s lr"
# line: 2

# %% setup
import jax.numpy as jnp
x, lr = jnp.arange(3.0), 0.5

# %% cell -t lr
y = x * (lr if isinstance(lr, float) else 9)
