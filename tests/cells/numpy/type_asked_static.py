# The same with the fix that the refusal names.

# %% setup
import numpy as np
a = np.arange(3.0)

# %% cell -s a
if not isinstance(a, np.ndarray):
    raise TypeError("an array, please")
y = a * 2
