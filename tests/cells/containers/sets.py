# Sets of static values, read and made.
# compiles: 1 1

# %% setup
import jax.numpy as jnp
x = jnp.arange(5.0)
chosen = {0, 2}
fixed = frozenset({"w"})

# %% cell
y = sum(x[i] for i in sorted(chosen))
rest = set(range(5)) - chosen
both = fixed | {"b"}

# %% change
chosen.add(4)
