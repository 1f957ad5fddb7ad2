"""Records of numbers that a simulation in Python and its compiled parts share: which place holds what."""

# Kinds of signals: a constant, a table over time, a function called at every evaluation or at sample times.
CONSTANT, TABLE, CALLED, SAMPLED = range(4)

#: A motion whose state is beyond this diverges; signals that are not finite are then no fault of theirs.
RUNAWAY = 1e30

# A signal, which is something given over time and state: integers, most of them addresses.
KIND, FUNCTION, TABLE_DATA, ROWS, VALUE, WIDTH, NUMBER, PLAN = range(8)
SIGNAL = 8

# The plan of a sampled torque: numbers that its function writes at every sample.  The time of the next sample; the time of
# this one; how many laws follow.  Times count from the start of the run.
P_NEXT, P_START, P_LAWS = range(3)
PLAN_HEAD = 3
# A law: the torque of one speed until the next sample, see `sampled`.
L_SPEED, L_HELD, L_FADING, L_RATE, L_LIMIT, L_STALL, L_DROP, L_POWER = range(8)
LAW = 8

#: Times are resolved to this fraction: that of an event to this fraction of its step, the end of a run to this fraction of its time.
RESOLUTION = 1e-14

# What `advance` returns.
DONE, PAUSED, EVENT, STUCK, NOT_FINITE, STIFF = range(6)

# The context: integers, most of them addresses.
TOPO, CONST, CONST_SIZE, WORK = range(4)  # the model, and scratch
SIGNALS, WRENCHES = 4, 5  # the torque and the wrenches behind it, as signals; how many wrenches
TAU, APPLIED = 6, 7  # the torque; the torque and the generalized forces of the wrenches
NODES, WRENCH_DATA = 8, 9  # (body, node record) of every wrench; the wrenches, 6 numbers each
WRENCH_FORCES = 10  # the function that turns wrenches into generalized forces
RATES, FORCES, SWEEP = range(11, 14)  # functions: rates of the state, its forces, forward dynamics
IMPLICIT, IMPLICIT_SWEEP, MEMORY = range(14, 17)  # the implicit step, its sweep, its memory
EVENT_FUNCTION, EVENTS = 17, 18
SHARED = 19
DAMPING_BAND = 20  # how far from their diagonals modal damping matrices reach; -1: nothing is damped, no joint has friction
STATEFUL = 21  # 1: a signal is a function of the state
MOTIONS, MOTION_RECORDS = 22, 23  # how many joints are driven, and their motions
WRENCH_PARTS = 24  # what wrenches do along the speeds of driven joints, in the layout of v
SPARE_RATES = 25  # rates of the state and of the energy, for rows of results with driven joints
# Closures: how many rows, scratch, the deformed bodies, functions of them (`projection`).
CLOSURE_ROWS, CLOSURE_SCRATCH = 26, 27
GEOMETRY_TOPO, GEOMETRY_CONST, GEOMETRY_WORK = range(28, 31)
VIOLATIONS, ROW_RATES, CORRECTION_SWEEP, PROJECTION = range(31, 35)
# An environment: the function that gives its generalized forces, or 0; its record; where the forces are.
FIELD, FIELD_RECORD, FIELD_FORCES = range(35, 38)
SOUGHT = 38  # 1: there are cut joints whose coordinates are searched for
ROW_UNITS = 39  # the unit of each closure row: 1 rad or m, or what a relation changes by in one
CONTEXT = 40

# The record of an environment in orbit (`environment`): integers, most of them addresses.
E_NUMBERS = 0  # the numbers below
E_ORBIT, E_PIECES = 1, 2  # the reference orbit, and of how many pieces it is made
E_NODES, E_WRENCHES = (
    3,
    4,
)  # (body, node record) of every face, then of every burn; their wrenches, 6 numbers each
E_FACES, E_FACE_DATA = 5, 6  # how many faces feel drag, and their records
E_AIR, E_AIR_ROWS = 7, 8  # altitudes and logarithms of densities, and how many
E_BURNS, E_BURN_DATA = 9, 10  # how many burns there are, and their records
E_TANKS, E_TANK_BODIES, E_TANK_DATA = range(
    11, 14
)  # how many bodies lose mass, their rows in topo, their records
ENVIRONMENT = 14
# Its numbers: the length of a piece of the reference orbit, s; mu, m^3/s^2; mu J2 R^2 / 2, m^5/s^2; the radius, m, and the spin
# of the planet, rad/s.
N_PIECE, N_MU, N_OBLATE, N_RADIUS, N_SPIN = range(5)
ENVIRONMENT_NUMBERS = 5
# A face: its area times its drag coefficient; its normal in node axes (3); how many of its sides feel drag, or 0 if it has the
# same area from everywhere.
FACE_AREA, FACE_NORMAL, FACE_SIDES, FACE = 0, 1, 4, 5
# A burn: its start and end, from the start of the run; the thrust in node axes (3); the mass flow, kg/s, and the number of the
# tank that it comes from, or -1.
BURN_START, BURN_END, BURN_THRUST, BURN_FLOW, BURN_TANK, BURN = 0, 1, 2, 5, 6, 7
#: A tank: the mass, the moment of mass and the inertia that it has before all burns, as in the constants of its body.
TANK = 10
#: A piece of the reference orbit: three polynomials of degree 5 in the part of the piece that has passed, m.
PIECE = 18

# A motion of a joint: integers.  Its values are the coordinates, the speeds and the rates of the speeds.
M_FUNCTION = 0  # address of a function (t, q, v, values); 0 for a path
M_KNOTS, M_KNOTS_COUNT, M_PIECES = 1, 2, 3  # the path, see `kernels.paths`
M_VALUE = 4  # address of the values
M_NUMBER = 5  # as that of a signal; those of motions come after those of signals and events
M_BODY = 6  # row of the body in topo
M_Q, M_COORDINATES = 7, 8  # first coordinate in q, how many
M_V, M_SPEEDS = 9, 10  # first speed in v, how many
MOTION = 11

# Shared numbers: the time that the clock counts from, and the first value of a function that was not finite.  FAULT is
# the number of the signal, counted from 1 (for events: one more than there are signals), FAULT_PART its element.
# GAP is by how much the closures cannot be satisfied where the last step went, at the row GAP_ROW; 0: they can.
# EXTENT is the size of a closed system in m.
# LEAVING is the power of the energy that leaves with propellant, which is negative.
ORIGIN_TIME, FAULT, FAULT_TIME, FAULT_PART, GAP, GAP_ROW, EXTENT, LEAVING = range(8)
SHARED_SIZE = 8

# Behind the state y = [q; v]: the energy that came in, by where it came from.
TORQUE_WORK, WRENCH_WORK, DAMPING_WORK, ACTION_WORK = range(4)
FLOWS = 4

# The clock, which a simulation keeps between calls.  Times count from the start of the run.
TIME, STEP, END_TIME, LARGEST, RTOL, ATOL = range(6)
NEXT_SAMPLE = 6  # time of the next sample of a sampled torque
NEEDS_RATE = 7  # 1: the rate at the start of the next step is not known
NEXT_STOP = 8  # number of the next time at which a step must end
STEPS, REJECTED, EVALUATIONS, OUTPUT, EVENT_NUMBER, LAST_ERROR = range(9, 15)
EVENT_STEP = 15  # length of the step in which the event was found
STIFF_STEPS = (
    16  # explicit steps that stability limits less those that it does not, counted up from zero
)
MOST_STIFF_STEPS = (
    17  # `advance` returns STIFF when there are so many of them; 0: it does not count
)
PROJECTED_STEPS = 18  # so many steps to come have stages that satisfy the closures
AVOIDED_STEPS = 19  # steps from here that were rejected because they end at a singular position
# The condition of the closure rows (`projection`): at the state reached, at the end of the step in progress, the worst in
# that step, and the best so far.
CONDITION, NEW_CONDITION, WORST_CONDITION, BEST_CONDITION = range(20, 24)
SAMPLE_STEPS = 24  # the steps that had been taken at the last sample of a sampled torque
CLOCK = 25
#: A sampled loop that is unstable can drive the motion so far within one sample that the steps become ever shorter, without
#: an end within reason: a run is stuck if, after CRAWL_STEPS of them since the last sample, what is left of the sample, or
#: to another time at which a step must end, still needs CRAWL times as many.
CRAWL_STEPS, CRAWL = 2e4, 1e6

# What an implicit step is given: STEP_PROJECTED is 1 if its stages satisfy the closures, STEP_BEST the best condition of their
# rows so far.  It returns the error and, of projected stages, the worst condition.
STEP_TIME, STEP_LENGTH, STEP_RTOL, STEP_ATOL, STEP_ERROR = range(5)
STEP_PROJECTED, STEP_CONDITION, STEP_BEST = range(5, 8)
STEP_SIZE = 8

# The memory of implicit steps: addresses of numbers, see `implicit` and `force_slopes`.
SLOPES_STATE = 0  # the two numbers below
STIFFENED, STIFFENED_FREE = 1, 2  # constants of the system with stiffened modes; without forces
BASE, FORCE, CORRECTION, SPARE = range(3, 7)
ZERO_SPEEDS = 7
BY_Q, BY_V, Z, T, S = range(8, 13)  # slopes of the forces, and the matrices made of them
SLOPED_ROWS, PIVOTS = 13, 14  # forces that depend on the state; row exchanges of S
POINT, RATE = 15, 16
MEMORY_SIZE = 17

# SLOPES_STATE: steps since the slopes were taken, and how many forces have any.
AGE, COUNT = range(2)
