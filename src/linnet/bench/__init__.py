"""``linnet bench``: speed, memory and single choices, measured the same way everywhere; nothing imports this."""
