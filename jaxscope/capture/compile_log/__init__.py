"""The compile log of a session or a block."""
