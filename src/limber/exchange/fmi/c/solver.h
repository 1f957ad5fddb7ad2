/* The solver of co-simulation: the explicit Runge-Kutta pair of Dormand and Prince, orders 5 and 4.
 *
 * Solves    x' = f(x, u, p) from the current time to `end`, u and p held
 * Error     root mean square of the estimated error over (atol + rtol |x|), as in Hairer, Norsett & Wanner, II.4;
 *           rtol is the tolerance of the experiment, atol a hundredth of it
 * Ends      each step with unit quaternions and, of closed systems, a projection to the closures
 *
 * Steps follow the error, so that stiff systems take many small steps and do not blow up.  A failure is an error with a
 * message, and leaves the instance where it was.
 */
#define MOST_STEPS 1000000
#define STAGES 7

static const double NODES[STAGES][STAGES - 1] = {
    {0},
    {1.0 / 5.0},
    {3.0 / 40.0, 9.0 / 40.0},
    {44.0 / 45.0, -56.0 / 15.0, 32.0 / 9.0},
    {19372.0 / 6561.0, -25360.0 / 2187.0, 64448.0 / 6561.0, -212.0 / 729.0},
    {9017.0 / 3168.0, -355.0 / 33.0, 46732.0 / 5247.0, 49.0 / 176.0, -5103.0 / 18656.0},
    {35.0 / 384.0, 0.0, 500.0 / 1113.0, 125.0 / 192.0, -2187.0 / 6784.0, 11.0 / 84.0},
};
/* fifth order minus fourth order */
static const double DIFFERENCE[STAGES] = {
    71.0 / 57600.0, 0.0, -71.0 / 16695.0, 71.0 / 1920.0, -17253.0 / 339200.0, 22.0 / 525.0, -1.0 / 40.0,
};

/* One step from x with the rates k[0]: the end x_new, the other rates, and the error over the tolerance (NaN where the
 * rates are not finite).  `worst` is the state with the largest error. */
static double tried(const Values *now, const double *x, double h, double k[STAGES][NX], double *x_new, int *worst)
{
    double sum = 0.0, largest = -1.0;
    const double rtol = now->tolerance, atol = 0.01 * now->tolerance;
    for (int s = 1; s < STAGES; ++s) {
        for (int i = 0; i < NX; ++i) {
            double slope = 0.0;
            for (int j = 0; j < s; ++j) slope += NODES[s][j] * k[j][i];
            x_new[i] = x[i] + h * slope;
        }
        rates(x_new, now->u, now->p, k[s]);
    }
    for (int i = 0; i < NX; ++i) {
        const double a = fabs(x[i]), b = fabs(x_new[i]);
        double error = 0.0;
        for (int j = 0; j < STAGES; ++j) error += DIFFERENCE[j] * k[j][i];
        error = fabs(h * error) / (atol + rtol * (a > b ? a : b));
        if (!(error <= largest)) {
            largest = error;
            *worst = i;
        }
        sum += error * error;
    }
    return sqrt(sum / NX);
}

/* The length of a first step: states change by about a hundredth of their size. */
static double first_step(const Values *now, const double *x, const double *dx)
{
    double of_x = 0.0, of_dx = 0.0;
    for (int i = 0; i < NX; ++i) {
        const double scale = now->tolerance * (0.01 + fabs(x[i]));
        of_x += (x[i] / scale) * (x[i] / scale);
        of_dx += (dx[i] / scale) * (dx[i] / scale);
    }
    return of_x > 1e-10 && of_dx > 1e-10 ? 0.01 * sqrt(of_x / of_dx) : 1e-6;
}

static int advance(Instance *instance, double end)
{
    Values *now = &instance->now;
    double x[NX], x_new[NX], k[STAGES][NX];
    double t = now->time, h = now->step;
    int fresh = 1, grows = 1, bad;
    memcpy(x, now->x, sizeof x);
    for (int n = 0; t < end; ++n) {
        const double least = 1e-14 * fmax(fabs(t), fabs(end));
        double length, error, factor;
        int worst = 0, last;
        if (n == MOST_STEPS) {
            return say(instance, ERROR, "the step from %.9g to %.9g takes more than %d steps of the solver; it has reached %.9g with "
                       "steps of about %.3g. The system is stiff: use model exchange with an implicit solver, fewer modes, or "
                       "shorter communication steps.", now->time, end, MOST_STEPS, t, h);
        }
        if (fresh) {
            rates(x, now->u, now->p, k[0]);
            bad = not_finite(k[0], NX);
            if (bad >= 0) {
                return say(instance, ERROR, "%s is not finite at time %.9g.", NAMES[RATES + bad], t);
            }
            fresh = 0;
        }
        if (!(h > 0.0)) {
            h = first_step(now, x, k[0]);
        }
        last = t + h * (1.0 + 1e-10) >= end;
        length = last ? end - t : h;
        error = tried(now, x, length, k, x_new, &worst);
        if (!(error <= 1.0)) { /* too large, or NaN */
            h = length * (isfinite(error) ? fmax(0.2, 0.9 * pow(error, -0.2)) : 0.1);
            grows = 0;
            if (h < least) {
                if (!isfinite(error)) {
                    return say(instance, ERROR, "%s is not finite after time %.9g, however short the steps are.", NAMES[RATES + worst], t);
                }
                return say(instance, ERROR, "the tolerance %g cannot be met at time %.9g: steps have become as short as %.3g; the "
                           "error is largest in %s. Use a larger tolerance.", now->tolerance, t, h, NAMES[STATES + worst]);
            }
            continue;
        }
        factor = error > 0.0 ? fmin(10.0, fmax(0.2, 0.9 * pow(error, -0.2))) : 10.0;
        if (!grows && factor > 1.0) {
            factor = 1.0;
        }
        grows = 1;
        /* a step that was cut at the end says nothing against the step that was planned */
        h = last ? fmax(h, factor * length) : factor * length;
        t = last ? end : t + length;
        memcpy(x, x_new, sizeof x);
        if (NOFF > 0) {
            const double left = settle(x, now->p);
            if (!(left <= DRIFT)) {
                return say(instance, ERROR, "unit quaternions and the closures cannot be satisfied at time %.9g: they are off by %.3g.", t, left);
            }
            fresh = 1;
        } else {
            memcpy(k[0], k[STAGES - 1], sizeof k[0]);
        }
    }
    memcpy(now->x, x, sizeof x);
    now->time = end;
    now->step = h;
    changed(instance);
    return OK;
}

static int do_step(Instance *instance, double from, double length)
{
    Values *now = &instance->now;
    const double off = fabs(from - now->time);
    if (instance->kind != CO_SIMULATION || now->mode != STEPPING) {
        return wrong_mode(instance, "doStep");
    }
    if (!isfinite(from) || !isfinite(length) || !(length >= 0.0)) {
        return say(instance, ERROR, "doStep from %g over %g: both must be finite, and the step not negative.", from, length);
    }
    if (off > 1e-9 * fmax(1.0, fabs(from))) {
        return say(instance, ERROR, "doStep starts at %.12g, but the model is at %.12g. Set an FMU state to go back.", from, now->time);
    }
    now->time = from;
    return advance(instance, from + length);
}
