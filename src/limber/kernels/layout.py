"""Where things lie in the three arrays that every kernel is given.

`topo`   int64, flat, in rows of COLUMNS.  A row is identified by the index at which it starts: topo[k + PARENT]
         is the parent of body k.  Row 0 is the world and holds the sizes of the system; then come the
         bodies, a parent before its children, the groups of the general joints, one modal row for each
         body with modes, one bent row for each body with second-order shapes, the closures, their fronts, and the
         PAIRS and other lists.
`const`  float64, flat.  The numbers of the model: never written by a kernel.
`work`   float64, flat.  Scratch, one block per body; a kernel reads nothing there that it has not written.

This is the only place that knows sizes.  Every block of `const` and of `work` has its absolute offset in a
column of `topo`, which `assembly.pack` writes; kernels, symbolic names and parameters of generated code
find a block by its column and never by adding up the sizes of other blocks.
"""

# --- topo, row 0: the system ------------------------------------------------------------------
# These use columns that mean nothing for the world, which has no joint; its MODES, DOFS, WORK and MODAL are 0.
END = 20  # end of the bodies, start of the groups
GROUPS_END = 21  # end of the groups
NQ, NV, RUTHLESS, WORK_SIZE = 22, 23, 24, 25
SPARE = 26  # work: space for one configuration, NQ numbers
ANY_PHYSICS = 27  # 1: some joint has PHYSICS
ANY_ALIGNED = 28  # 1: some body has A_B
BOUNDED = 29  # 1: REACH is known
CLOSURES, CLOSURES_END = 18, 19  # the rows of the closures
ROWS = 5  # number of scalar closure rows
W_LAMBDA = 6  # work: the multipliers of the rows of the fronts, by slot (`assembly.loops`)
W_FRONTS = 9  # work: start of the fronts, which end at W_LAMBDA
PROBES = (
    7  # number of those closure rows, the last ones, that belong to PROBED ends; see `operational`
)

# --- topo, the rows of the bodies -------------------------------------------------------------
# The sweeps read only the first 14 columns of a rigid body.  They are adjacent, because the sweeps over a long system
# wait for these rows to arrive from memory.
PARENT = 0
MODES = 1  # number of modes m
DOFS = 2  # number of joint speeds r
JOINT = 3  # FIXED, REVOLUTE, PRISMATIC or GENERAL
AXIS = 4  # row of P that a REVOLUTE (0..2) or PRISMATIC (3..5) joint drives
Q_JOINT = 5  # theta in q
V_JOINT = 6  # beta in v
ATTACHED = 7  # how the parent's modes move the joint: RIGIDLY, DEFORMING or CONSTANT
INBOARD = 8  # const: own inboard node record; 0 when the modes are clamped at the joint
PHYSICS = 9  # const: a physics record for each joint speed; 0 when the joint has none
CONST = 10  # const: the fixed block below
WORK = 11  # work: the fixed block below
W_JOINT = 12  # work: a joint record for each speed
W_PIVOTS = 13  # work: the pivot record
MODAL = 14  # the modal row of a body with modes; 0 for one without
BENT = 15  # the bent row of a body with second-order shapes; 0 for one without
Q_MODES = 16  # eta in q
V_MODES = 17  # eta_dot in v
NODE = 18  # const: the parent's node record, when not RIGIDLY attached
ALIGNED_NODE = 19  # const: the parent's node record in aligned coordinates (NODE if it has none)
MOVED_BY = 20  # number of the parent's aligned modes, the first ones, that move the joint
W_NODE = 21  # work: 6 numbers per mode of the parent, the motion of the joint's inboard frame
W_INBOARD = 22  # work: the inboard record, then 6 numbers per mode
SLOT = 23  # index of this body among the LOADS of its parent
GROUP = 24  # first group row of a GENERAL joint, in inboard to outboard order
GROUPS = 25  # number of groups
HAS_FRICTION = 26  # 1: some speed of the joint has friction
HAS_STOPS = 27  # 1: some speed of the joint has stops
OBSERVED = 29  # 1: the closures need the place and the velocity of this body
FRONT = 30  # the front row of a body (or of the world) that closure rows pass through; 0 for one without
DRIVEN = 31  # work: a drive record for each speed of a joint whose motion is prescribed; 0 when the joint is free
COLUMNS = 32

# --- topo, group rows -------------------------------------------------------------------------
G_KIND, G_Q, G_V, G_DOFS = 0, 1, 2, 3
G_SCREWS = 4  # const: a screw record for each speed
G_MAP = 5  # const: the joint map, 6 per speed
W_TWISTS, W_NORMAL = 6, 7  # work of a group of r > 1 screws: B 6 r, and B^T B r r

# --- topo, modal rows: bodies with m modes ------------------------------------------------------
# const: modal integrals, see `modal`; their sizes are in MODAL_SHAPES
M_G0, M_K, M_D = 0, 1, 2
M_FE0 = 3  # F0_r and E0_r of each mode
M_N0, M_F1, M_S2, M_G1 = 4, 5, 6, 7
M_N1 = (
    8  # 9 for each pair, in the order of PAIRS or, for a DENSE mode, in that of `modal.dense_sum`
)
PAIRS = 9  # topo: for each mode r, the number of N1_rs that are not zero, then their s
SECOND = 10  # 1: the body has S2 and G1
# const: the body in aligned coordinates zeta, eta = B zeta, in which the loaded nodes move along unit vectors
# (`assembly.align`)
A_B = 11  # m m; 0 when the modes are eliminated in their own coordinates
A_G0 = 12  # B^T G0 B, m m
A_FE0 = 13  # FE0 of zeta, 6 m
A_F1 = 14  # F1 of zeta by eta, 3 m m
# const: what is precomputed for a ruthless body with L loads, see `precomputed`
PRE_P = 15  # 21
PRE_LAMBDA = 16  # m m
PRE_LM = 17  # rows of Lambda M_fr, 6 m
PRE_Y = 18  # m 6 L
PRE_N = 19  # 6 6 L
PRE_OMEGA = 20  # (6 L)^2
PRE_C = 21  # 6 L RANK
LOADS = 22  # L, the number of children whose joint the modes of this body move
RANK = 23  # rank of Omega, which is the number of columns of C
# work
W_MU = 24  # 6 m (F_r, E_r)
W_DF = 25  # m m
W_N = 26  # 9 m, the N_r of `modal`
W_ZF = 27  # m
W_GAMMA = 28  # ruthless: stacked inertia of the loads, (6 L)^2
W_LOAD = 29  # ruthless: their stacked force, 6 L
W_LOAD_SPARE = 30  # ruthless: scratch, 6 L

# --- topo, bent rows: bodies of m modes with second-order shapes, see `second`, `nodes` and `curved` --
B_DIRECTIONS = 0  # number of directions d
B_DIRECTION = 1  # const: the directions, 3 d
B_NODE = 2  # where B begins in a node record of this body, d m m
B_POINTS = 3  # number of curved points
B_POINT = 4  # const: a curved record for each of them
B_SHAPES = 5  # const: their gamma, 3 m each
B_SECOND = 6  # const: their B, d m m each
B_ALONG = 7  # const: the components of their gamma along the directions, d m each
B_WORK = 8  # size of a record in W_CURVED
W_CURVED = 9  # work: a record for each of them and each direction, see `curved`

# --- topo, closure rows: see `closures` ------------------------------------------------------------------
K_KIND = 0  # LOCKED, AXIAL, BALL, CROSSED, COMPOUND, RELATED or PROBED
K_ROWS = 1  # number of its scalar rows n
K_FIRST = 2  # the first of them
K_SCREW = 3  # 1: the last row ties the displacement along the axis to the angle about it
K_BODY = 4, 5  # the bodies of the ends a and b
K_NODE = 6, 7  # const: their node records
K_FRAME = 8, 9  # const: rotation (3, 3) and arm (3,) from the node to the frame of the end
K_AT = 10, 11  # position of the first row in the front of the body
K_SLOT = 12  # its first row among the multipliers at W_LAMBDA
K_MAP = 13  # const: the rows, 6 each, axes of end b
K_AXIS = 14  # const: AXIAL: the axis (3,); CROSSED: the axis of end a (3,), that of end b (3,), and their cosine
K_PITCH = 15  # const: displacement along the axis per radian, of a K_SCREW
K_JOINT = 19  # COMPOUND: its joint, a row with some columns of a body
K_ROW = 20  # work: COMPOUND: 6 vectors of 6, see `cut_joint`
K_HUB = (
    24,
    25,
)  # work: what the rows do to the motions of the bodies of the ends that are hubs; 0 for other ends
K_C = 26  # work: c of the first row
K_BACK = 21  # const: from the frame of end b to where it was before it was moved to the axis, axes of end b
K_SPANNED = 22  # COMPOUND: number of free twists: the motions of the joint, and unit twists that are free besides
K_FREED = 23  # const: these unit twists, 6 each, axes of end b
K_SIGNS = 27  # const: COMPOUND: 1 or -1 for each free twist, see `cut_joint.store_mirror`
K_LEFT = 28  # work: COMPOUND: what the search for its coordinates leaves: rotation (3), displacement (3), cosine; `dependence`
# a RELATED closure has one row and these
K_TERMS = 16  # number of terms
K_TERM = 17  # topo: for each term the body, the number of the joint speed, the position of the row in the front
K_FACTOR = 18  # const: for each term its coefficient, then the value of the sum

# --- topo, the rows of COMPOUND joints: as those of bodies, but ...
# Q_JOINT, V_JOINT and G_Q, G_V of its groups are indices in work; W_NODE has room for r r numbers
START, START_SIZE = (
    30,
    29,
)  # const: coordinates to start from, and their number; the square of a length that is typical of it

# --- topo, front rows: see `fronts` -------------------------------------------------------------------
F_ROWS = 0  # number n of rows of closures and hubs that pass through the body
F_DONE = 1  # number of them, the first ones, that are eliminated here
F_LIST = 2  # topo: their slots
F_UP = 3  # topo: the positions in the front of the parent of those that go on
F_ON = 12  # the first one that goes on; those between are rows of hubs that end here
F_ROW = 13  # topo: a row record for each
F_STRIDE = 14  # L_ij of rows that are not eliminated here is at W_L + i F_STRIDE + j
F_SQUARES = 16  # 1: W_NS is needed, because modes move the joint of this body
F_HUB = 17  # the position of the first row of this body as a hub
F_ERRORS = (
    19  # the square of the number of rows that are not eliminated here, if rows on hubs are; else 0
)
F_MOTIONS = 18  # number of these rows: 6 and the modes; 0 if the body is no hub
F_SHARED = 15  # 1: all rows come from one body, and U, L, c, sizes and squares take the place of those of its front
W_U = 4  # work: 6 n, the wrench on the body by each row
W_UF = 5  # work: m n, the force of each row on each mode
W_E = 6  # work: r n, the force of each row on each joint speed
W_L = 7  # see F_STRIDE
W_C = 8  # work: n
W_SIZE = 9  # work: n, the sizes of the rows, see `fronts`
W_US = 10  # work: m n, the squares of what is added up in W_UF
W_NS = 11  # work: 2 n, the squares of the moments and of the forces that are added up in W_U
W_PATH = 21  # work: 2 n, the squares of all moments and forces that were added up in W_U on the way of a row
W_ERRORS = 20  # work: F_ERRORS numbers, see `fronts.add_errors`

# row record: L_ij, j >= i, of row i is at R_OWN + j for j < R_END, and at R_TAIL + j for j >= F_DONE; others are zero
R_END, R_OWN, R_TAIL = 0, 1, 2
# if an end of the row, a or b, is on a hub: the number of its motions, or 0; work: what the row does to each of them; the
# position of the first row of the hub
R_HUB = 3, 6
ROW_RECORD = 9

#: The blocks of modal integrals: column and axes (m: a mode, 3: a component, 6: components of F and E).
MODAL_SHAPES = {
    "G0": (M_G0, "mm"), "K": (M_K, "mm"), "D": (M_D, "mm"), "FE0": (M_FE0, "m6"), "N0": (M_N0, "m33"),
    "F1": (M_F1, "mm3"), "S2": (M_S2, "mm3"), "G1": (M_G1, "mmm"),
}  # fmt: skip
#: The blocks that a body has only if SECOND is 1.
SECOND_ORDER = frozenset({"S2", "G1"})
DENSE = 8  # mode r is DENSE if the body has at least this many modes and no N1_rs is zero

# joint kinds
FIXED, REVOLUTE, PRISMATIC, GENERAL = 0, 1, 2, 3
# group kinds: a product of screws with a constant joint map; quaternion; quaternion and position
SCREWS, SPHERICAL, FREE = 0, 1, 2
# closure kinds, by the rotations that they allow: none; one axis; all; two crossing axes.  The motions of COMPOUND
# joints form no group; RELATED is a relation; PROBED ends are watched and not closed
LOCKED, AXIAL, BALL, CROSSED, COMPOUND, RELATED, PROBED = 0, 1, 2, 3, 4, 5, 6
# attachment
RIGIDLY, DEFORMING, CONSTANT = 0, 1, 2

# --- const ------------------------------------------------------------------------------------
GRAVITY = 0  # (3,) world axes
WORLD = 3  # a node record without shapes: the world origin
REACH = (
    6  # the largest sum of squared distances of successive joints on the way to a body, at least 1
)
CONST_START = 7

# fixed block of a body
C_ROT = 0  # (3, 3) joint axes in node axes
C_ARM = 9  # (3,) from the node to the joint
C_OFFSET = 12  # (3,) from the parent's body frame to the joint, undeformed
C_MASS = 15  # mass
C_MOMENT = 16  # (3,) mass times centre of mass
C_INERTIA = 19  # (6,) about the body-frame origin

# node record: undeformed position (3), then per mode its rotation (3) and translation (3), then B if there is BENT
NODE_POSITION, NODE_SHAPES = 0, 3

# curved record: weight, e, undeformed position (3)
C_WEIGHT, C_UNIT, C_POSITION, CURVED_RECORD = 0, 1, 2, 5

# record in W_CURVED: l of the point, with its first direction; s, sigma, delta, tau and the m numbers b_r
W_PLACE, W_ALONG = 0, 3
W_S, W_SIGMA, W_DELTA, W_TAU, W_B = 0, 1, 2, 3, 4

# screw record
S_RATE, S_AXIS, S_LINEAR, S_SINE, S_VERSINE, SCREW = 0, 1, 4, 7, 10, 13

# physics record of a joint speed, see `physics`
PH_ARMATURE, PH_STIFFNESS, PH_REST, PH_DAMPING = 0, 1, 2, 3
PH_FRICTION = 4  # Coulomb level
PH_SMOOTHING = 5  # square of the smoothing speed
PH_PEAK = 6  # by how much the breakaway level exceeds the Coulomb level
PH_STRIBECK = 7  # inverse square of the Stribeck speed
PH_LOWER, PH_UPPER = 8, 9  # limits
PH_LOWER_STOP, PH_UPPER_STOP = 10, 11  # stiffness of the stops there
PH_STOP_DAMPING = 12  # s/m or s/rad
PH_SOFTNESS = 13  # square of the distance over which a stop builds up its force
PHYSICS_RECORD = 14

# --- work -------------------------------------------------------------------------------------
ROT = 0  # (3, 3) joint outboard axes in the parent's body axes
ORIGIN = 9  # (3,) from the parent's body frame to the joint's outboard frame, parent axes
OMEGA = 12  # (3,) angular velocity, body axes (ruthless: of the hinges alone)
BIAS = 15  # (6,) Coriolis acceleration of the hinge, outboard axes
P = 21  # (21,) composite or articulated inertia
Z = 42  # (6,) force
ACC = 48  # (6,) inertial acceleration of the body frame, body axes
VEL = 54  # (6,) velocity of the body frame, body axes
PLACE = 60  # (3, 3) + (3,) body axes and origin in the world
TURN = 72  # (7,) rotation vector x of the parent's node; b, c, db/du, dc/du of `so3` at x
ARM = 79  # (3,) from the parent's node to the joint's outboard frame, parent axes
WORK_BLOCK = 82
SIZE = Z  # (2,) after a sweep: the largest angular and linear inertia of the bodies outboard; see `native.state_checks`
SCRATCH = ACC  # (24,) free between the first outward and the last outward sweep: ACC, VEL, PLACE

# joint record, one for each speed
J_H, J_K, J_NU, JOINT_WORK = 0, 6, 12, 13

# pivot record: a bound of the inertia that P gives to bodies inboard (`articulated.note_size`), 1/D of each joint speed
D_SIZE, D_PIVOTS = 0, 1

# drive record, one for each speed of a driven joint: P_R H^T, and H f with f the force across the hinge (`driven`)
D_COLUMN, D_FORCE, DRIVE_RECORD = 0, 6, 7

# inboard record: E_d (9), l_d (3), bias (6), a record like TURN (7), then 6 per mode
I_ROT, I_POS, I_BIAS, I_TURN, I_SHAPES = 0, 9, 12, 18, 25


def modal_work(m, loads):
    """The work blocks of a body with m modes, as column and size.

    loads : the number of loads of a ruthless body, or None if the body needs no blocks for them.
    """
    sizes = {W_MU: 6 * m, W_DF: m * m, W_N: 9 * m, W_ZF: m}
    if loads is not None:
        sizes |= {W_GAMMA: 36 * loads * loads, W_LOAD: 6 * loads, W_LOAD_SPARE: 6 * loads}
    return sizes


def front_work(n, m, r):
    """The work blocks of a front of n rows of its own, at a body with m modes and r joint speeds, as column and size."""
    return {W_UF: m * n, W_E: r * n, W_US: m * n}


def shared_work(n):
    """The other work blocks of a front of n rows except L, as column and size; see F_SHARED."""
    return {W_U: 6 * n, W_C: n, W_SIZE: n, W_NS: 2 * n, W_PATH: 2 * n}


def node_second(m):
    """B_NODE of a body of m modes."""
    return NODE_SHAPES + 6 * m


def curved_work(m):
    """B_WORK of a body of m modes."""
    return W_ALONG + W_B + m


def group_work(r):
    """The work blocks of a group of r screws, as column and size."""
    return {W_TWISTS: 6 * r, W_NORMAL: r * r} if r > 1 else {}


def shape(axes, m):
    """The shape of an array of modal integrals, given its axes in MODAL_SHAPES."""
    return [m if a == "m" else int(a) for a in axes]


# --- scratch of slopes, see `slope_motion` and `columns` ------------------------------------------------
# body record, world axes; "at the origin" is at that of the first body, "at the body" at its own
SB_PLACE = 0  # (3,) from the origin
SB_VEL = 3  # (6,) spatial velocity at the origin, less the velocity of the first body
SB_ACC = 9  # (6,) spatial acceleration at the origin, against gravity
SB_FORCE = 15  # (6,) wrench that the joint carries, at the body
SB_GYRO = 21  # (6, 3) slope of that wrench by the angular velocity, at the body
SB_TURN = 39  # (6, 3) the same by a rotation, of external wrenches
SB_MASS = 57  # composite: mass, moment of mass (3), inertia (6), at the body
SLOPE_BODY = 67
# speed record, world axes
SV_AT_BODY = 0  # (6,) S, its motion, at the body
SV_S = 6  # (6,) S at the origin
SV_K = 12  # (6,) its gain K (or the column P S of the composite) at the origin
SV_GYRO = 18  # (3,) its row of SB_GYRO, over D
SV_TURN = 21  # (3,) its row of SB_TURN, over D
SV_D = 24  # 1/D
SV_SPIN = (
    25  # (3,) change of the angular velocity of what is outboard by a step of q along this speed
)
SV_RISE = 28  # (6,), (6,): common change of the accelerations of what is outboard by a step of q, and of v
SV_PUSH = 40  # (6,) three times: force on the parent by a step of q, v and tau, at the origin
SV_OWN = (
    58  # (6,) three times: innovations of the speeds of the same joint by a step of q, v and tau
)
SV_TWIST = SV_OWN  # of a mode: a twist record, the motion of the frame of its own body
SLOPE_SPEED = 76
# twist record: S of a mode, its first and its second rate, at the origin.  That of a mode of the parent of body k for all that
# is outboard of the inboard frame of k is at TWIST / 6 times its place in W_NODE, behind the speed records
TWIST_S, TWIST_RATE, TWIST_RISE, TWIST = 0, 6, 12, 18
# blocks of columns: LANES numbers for each of LANE_COLUMNS columns by q, by v and by tau
LANE_COLUMNS = 8
LANES = 3 * LANE_COLUMNS
#: Lanes of a body: forces (6), accelerations (6), whether the column moves the body; those of a speed: its innovations.
LANES_BODY, LANES_SPEED = 13, 1
#: The same in `response_columns`, whose lanes of a body are one vector (6).
WIDE_COLUMNS = 16
WIDE_LANES = 3 * WIDE_COLUMNS
LANES_SYSTEM = 6  # the changes of the angular velocity (3) and the rotations (3) of each column


def slope_scratch(bodies, nv, work):
    """How many numbers of scratch slopes need, with WORK_SIZE `work`: records, twists, factors, lanes."""
    records = (bodies + 1) * SLOPE_BODY + nv * SLOPE_SPEED + TWIST // 6 * work
    lanes = LANES * ((bodies + 1) * LANES_BODY + nv * LANES_SPEED + LANES_SYSTEM)
    wide = WIDE_LANES * ((bodies + 1) * 6 + 2 * nv)
    return records + work + max(lanes, wide)
