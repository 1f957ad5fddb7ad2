/* The course of a simulation: initialization, events that correct quaternions and closures, FMU states. */

/* --- quaternions and closures -------------------------------------------------------------------- */

/* How far quaternions are from unit and closures from being satisfied; 0 if there are none, infinite if one is not a number. */
static double offness(const double *x, const double *p)
{
    double worst = 0.0;
#if NOFF > 0
    double off[NOFF];
    residuals(x, p, off);
    for (int i = 0; i < NOFF; ++i) {
        const double size = fabs(off[i]);
        if (!isfinite(size)) {
            return HUGE_VAL;
        }
        if (size > worst) {
            worst = size;
        }
    }
#else
    (void)x;
    (void)p;
#endif
    return worst;
}

/* Normalize quaternions and satisfy the closures; returns what is left of their residuals. */
static double settle(double *x, const double *p)
{
    double left = offness(x, p);
#if NOFF > 0
    for (int i = 0; i < 20 && left > SETTLED; ++i) {
        double moved[NX], now;
        settled(x, p, moved);
        now = offness(moved, p);
        if (!(now < left)) {
            break;
        }
        memcpy(x, moved, sizeof moved);
        left = now;
    }
#endif
    return left;
}

/* --- the course of a simulation ------------------------------------------------------------------- */

static int enter_initialization(Instance *instance, int has_tolerance, double tolerance, double start)
{
    Values *now = &instance->now;
    if (has_tolerance) {
        if (!(tolerance > 0.0 && tolerance < 1.0)) {
            return say(instance, ERROR, "the tolerance of the experiment must be between 0 and 1, got %g.", tolerance);
        }
        now->tolerance = fmax(tolerance, 1e-13); /* rounding */
    }
    if (!isfinite(start)) {
        return say(instance, ERROR, "the start time must be finite, got %g.", start);
    }
    now->time = start;
    now->mode = INITIALIZING;
    return OK;
}

static int leave_initialization(Instance *instance)
{
    Values *now = &instance->now;
    double before, left;
    int status = OK;
    for (int i = 0; i < NQUATERNIONS; ++i) {
        const double *e = now->x + QUATERNIONS[i];
        const double norm = sqrt(e[0] * e[0] + e[1] * e[1] + e[2] * e[2] + e[3] * e[3]);
        if (!(fabs(norm - 1.0) <= DRIFT)) {
            return say(instance, ERROR, "the quaternion that starts with %s has the norm %.9g at the start: it must be 1.",
                       NAMES[STATES + QUATERNIONS[i]], norm);
        }
    }
    before = offness(now->x, now->p);
    left = settle(now->x, now->p);
    if (!(left <= DRIFT)) {
        return say(instance, ERROR, "the start values do not satisfy the closures of the model: they are off by %.3g, and by %.3g after "
                   "projection. Start nearer to a configuration that closes the loops.", before, left);
    }
    if (before > DRIFT) {
        status = say(instance, WARNING, "the start values did not satisfy the closures of the model, they were off by %.3g; they "
                     "have been projected.", before);
    }
    now->mode = instance->kind == CO_SIMULATION ? STEPPING : AT_EVENT;
    changed(instance);
    return status;
}

/* In event mode: whether the states have been made to fit. */
static int update_states(Instance *instance, int *moved)
{
    Values *now = &instance->now;
    *moved = 0;
    if (offness(now->x, now->p) > SETTLED) {
        const double left = settle(now->x, now->p);
        if (!(left <= DRIFT)) {
            return say(instance, ERROR, "unit quaternions and the closures cannot be satisfied at time %.9g: they are off by %.3g.", now->time, left);
        }
        *moved = 1;
        changed(instance);
    }
    return OK;
}

static int set_states(Instance *instance, const double *states, size_t count)
{
    if (count != NX) {
        return say(instance, ERROR, "there are %d continuous states, got %d.", NX, (int)count);
    }
    memcpy(instance->now.x, states, sizeof instance->now.x);
    changed(instance);
    return OK;
}

static int get_states(Instance *instance, double *states, size_t count)
{
    if (count != NX) {
        return say(instance, ERROR, "there are %d continuous states, got room for %d.", NX, (int)count);
    }
    memcpy(states, instance->now.x, sizeof instance->now.x);
    return OK;
}

static int get_derivatives(Instance *instance, double *derivatives, size_t count)
{
    int status;
    if (count != NX) {
        return say(instance, ERROR, "there are %d continuous states, got room for %d.", NX, (int)count);
    }
    status = evaluate_rates(instance);
    memcpy(derivatives, instance->dx, sizeof instance->dx);
    return status;
}

static int wrong_mode(Instance *instance, const char *function)
{
    return say(instance, ERROR, "%s was called in a mode in which it is not allowed.", function);
}

/* --- FMU states ------------------------------------------------------------------------------------ */

static int state_got(Instance *instance, void **state)
{
    if (!*state) {
        *state = malloc(sizeof(Values));
    }
    if (!*state) {
        return say(instance, ERROR, "there is not enough memory for an FMU state.");
    }
    memcpy(*state, &instance->now, sizeof(Values));
    return OK;
}

static int state_set(Instance *instance, const void *state)
{
    memcpy(&instance->now, state, sizeof(Values));
    changed(instance);
    return OK;
}

static void state_freed(void **state)
{
    if (state) {
        free(*state);
        *state = NULL;
    }
}

/* A serialized state: the token of the model, then the values. */
enum { STATE_BYTES = sizeof TOKEN + sizeof(Values) };

static int state_serialized(Instance *instance, const void *state, unsigned char *bytes, size_t size)
{
    if (size < STATE_BYTES) {
        return say(instance, ERROR, "a serialized state has %d bytes, but there is room for %d.", (int)STATE_BYTES, (int)size);
    }
    memcpy(bytes, TOKEN, sizeof TOKEN);
    memcpy(bytes + sizeof TOKEN, state, sizeof(Values));
    return OK;
}

static int state_deserialized(Instance *instance, const unsigned char *bytes, size_t size, void **state)
{
    if (size != STATE_BYTES || memcmp(bytes, TOKEN, sizeof TOKEN) != 0) {
        return say(instance, ERROR, "these bytes are not a serialized state of this model.");
    }
    if (!*state) {
        *state = malloc(sizeof(Values));
    }
    if (!*state) {
        return say(instance, ERROR, "there is not enough memory for an FMU state.");
    }
    memcpy(*state, bytes + sizeof TOKEN, sizeof(Values));
    return OK;
}
