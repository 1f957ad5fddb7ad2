"""What the entry points return, and the limits that they judge states by."""

OK, SIZES, NOT_FINITE, NOT_UNIT, SINGULAR, OVERFLOW, NEARLY_UNIT, UNSURE = range(8)
STATES = 8  # an entry returns STATES times the number of the bad state plus its status
UNIT_ROUNDING = 2.0**-50  # a quaternion whose squared norm is this close to 1 is taken as it is

# judging the pivots of a sweep, see `state_checks`
PIVOT_RATIO = 1e-6  # a pivot this much smaller than the inertias it came from is looked at closely
NUDGE = 2.0**-50  # how far the numbers of a model are changed to see what a pivot is made of
PIVOT_CHANGE = 1e-3  # a pivot that such a change alters by this part of it is rounding
CONDITION = 1e12  # a mass matrix of unit diagonal whose inverse is this large is singular
CHANGES, RESPONSES, RATIOS, JUDGED = (
    0,
    1,
    2,
    6,
)  # vectors of `state_checks.steady`, and their number
