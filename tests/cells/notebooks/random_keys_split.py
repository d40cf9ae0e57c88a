# Keys are split and folded; draws by name agree with plain Python.

# %% setup
import jax, jax.numpy as jnp
key = jax.random.key(7)

# %% cell
key, *subkeys = jax.random.split(key, 4)
draws = {f"d{i}": jax.random.normal(k, (2,)) for i, k in enumerate(subkeys)}
folded = jax.random.fold_in(key, 3)
coin = jax.random.uniform(folded, (5,)) < 0.3

# %% after
next_key, _ = jax.random.split(key)
