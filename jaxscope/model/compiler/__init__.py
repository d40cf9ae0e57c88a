"""The compiler at work: its passes, its machine code, its seconds."""
