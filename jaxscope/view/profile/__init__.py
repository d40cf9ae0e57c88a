"""The profile chapter: time by line, instruction and call stack."""
