"""The layout of the numbers of a piece of a path; see `paths`."""

#: How many numbers a joint has in one piece, and their positions.
PIECE = 9
ORIGIN, COEFFICIENTS, SWING, FREQUENCY = 0, 1, 7, 8
