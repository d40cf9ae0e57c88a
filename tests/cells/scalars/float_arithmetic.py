# Python's arithmetic on traced floats.
# differs: a float-becomes-array
# differs: b float-becomes-array
# differs: c* float-becomes-array
# differs: d float-becomes-array
# differs: e float-becomes-array
# compiles: 1 0

# %% setup
f, g = 7.5, 2.0

# %% cell
a = f + g * 2 - 1
b = -f ** g
c = divmod(f, g)
d = f // g + f % g
e = abs(-f) > g

# %% change
f = 3.25
