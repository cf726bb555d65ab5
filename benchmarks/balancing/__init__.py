"""What does it cost to be balanced, and what does it bring? Load adjustment of [PS2], measured."""
