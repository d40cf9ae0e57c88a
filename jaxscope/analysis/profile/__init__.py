"""Time inside a compiled program, by instruction and by line of Python."""
