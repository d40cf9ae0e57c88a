"""What a run was asked for, and what it refuses."""
