"""XLA's passes: the program after each, and what each did to the instructions."""
