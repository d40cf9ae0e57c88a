# A mapped function that returns a text: its result is to blame, no argument.
# expect: refused "A traced function returns arrays"

# %% setup
import jax
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
y = jax.vmap(lambda v: ("a", v * 2)[0])(x)

# %% after
y = jax.vmap(lambda v: ("a", v * 2)[1])(x)
