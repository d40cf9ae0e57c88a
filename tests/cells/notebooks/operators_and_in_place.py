# Every augmented operator on an array binds a new one; another name keeps the old one.

# %% setup
import jax.numpy as jnp
x, n = jnp.arange(1.0, 4.0), jnp.arange(3)

# %% cell
old = x
x += 1
x *= 2
x -= old
x /= 3
x **= 2
n <<= 1
n |= 1
n ^= 3
n //= 2
n %= 3
m = ~n & 1
sign = -x @ +old
cmp = (x > 1) & (x <= 50) | (old == 1)
both = divmod(7, 2), abs(-3), round(2.567, 1), 3 < 4 < 5
