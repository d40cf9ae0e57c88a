# Types that JAX has come back with the same dtype.
# differs: h numpy-becomes-array
# differs: i numpy-becomes-array
# differs: c numpy-becomes-array
# compiles: 1 0

# %% setup
import numpy as np
half = np.ones(3, np.float16)
i8 = np.arange(3, dtype=np.int8)
c64 = np.array([1 + 2j], np.complex64)

# %% cell
h = half * 2
i = i8 + i8
c = c64.conj() * c64

# %% change
half = half * 3
