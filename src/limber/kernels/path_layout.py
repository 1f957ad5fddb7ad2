"""Where the numbers of a piece of a path stand; see `paths`."""

#: Numbers of one joint in one piece, and where they stand.
PIECE = 9
ORIGIN, COEFFICIENTS, SWING, FREQUENCY = 0, 1, 7, 8
