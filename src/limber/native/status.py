"""The status codes of the entry points, and the limits by which they judge states."""

OK, SIZES, NOT_FINITE, NOT_UNIT, SINGULAR, OVERFLOW, NEARLY_UNIT, UNSURE = range(8)
STATES = 8  # an entry returns STATES times the number of the bad state plus its status
UNIT_ROUNDING = (
    2.0**-50
)  # a quaternion whose squared norm is this close to 1 needs no normalization

# judging the pivots of a sweep, see `state_checks`
PIVOT_RATIO = 1e-9  # a pivot this much smaller than the inertias it came from is examined closely
NUDGE = (
    2.0**-50
)  # relative change of the numbers of a model that shows whether a pivot is rounding error
PIVOT_CHANGE = 1e-3  # a pivot whose relative change is then larger than this is rounding error
CONDITION = 1e12  # a mass matrix with unit diagonal counts as singular if its inverse is this large
#: The map of a cut joint is singular if `kernels.cut_joint.dependence` is larger: within 1e-7 rad of a singular position.
DEPENDENT = 1e28
CHANGES, RESPONSES, RATIOS, JUDGED = (
    0,
    1,
    2,
    6,
)  # vectors of `state_checks.steady`, and their number
