# Fractions, decimals, dates, enumerations, bytes and ranges are static.
# compiles: 1 1

# %% setup
import datetime, decimal, enum, fractions
import jax.numpy as jnp

class Mode(enum.IntEnum):
    DOUBLE = 2
    TRIPLE = 3

x = jnp.arange(3.0)
frac = fractions.Fraction(1, 3)
price = decimal.Decimal("2.5")
day = datetime.date(2026, 1, 2)
mode = Mode.DOUBLE
data = b"ab"
steps = range(2, 4)

# %% cell
y = x * float(frac) + float(price) + day.day * mode + data[0] + sum(steps)
next_day = day + datetime.timedelta(days=1)
third = frac * 2

# %% change
mode = Mode.TRIPLE
