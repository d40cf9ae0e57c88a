# A float that does not fit float32 never becomes infinite in silence.
# expect: same or refused "x64|float32|float64"
# may differ: y float-becomes-array

# %% setup
big = 1e300

# %% cell
y = big * 1e-300

# %% after
z = big / 2
