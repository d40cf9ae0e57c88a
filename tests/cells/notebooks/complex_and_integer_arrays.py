# Mixed dtypes, bit operations, complex parts and booleans of arrays.

# %% setup
import jax, jax.numpy as jnp
c = jnp.array([1 + 2j, 3 - 1j])
k = jnp.array([1, 2, 250], jnp.uint8)
flags = jnp.array([True, False, True])

# %% cell
parts = c.real, c.imag, jnp.abs(c), c.conj()
wrapped = k + jnp.uint8(10)
bits = k >> 1, k & 3, ~flags, flags.sum()
mixed = k * 1.5, k + flags, flags * 2
chosen = jnp.where(flags, k, 0)
kinds = [a.dtype.name for a in (*parts, wrapped, *bits, *mixed)]

# %% change
k = jnp.array([7, 8, 9], jnp.uint8)
