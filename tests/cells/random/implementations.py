# Keys of another implementation stay of that implementation.
# compiles: 1 0

# %% setup
import jax
key = jax.random.key(0, impl="rbg")

# %% cell
key = jax.random.fold_in(key, 3)
words = jax.random.bits(key, (2,))
