"""The transforms of the magics, and how they compose."""
