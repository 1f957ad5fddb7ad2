/* Products of the Jacobian of rates and outputs with vectors, forward and transposed; both are exact. */

/* sensitivity = d unknowns / d knowns times seed. */
static int directional(Instance *instance, const unsigned int *unknowns, size_t n_unknowns, const unsigned int *knowns,
                       size_t n_knowns, const double *seed, double *sensitivity)
{
    const Values *now = &instance->now;
    double x[NX] = {0}, u[SIZE(NU)] = {0}, p[SIZE(NP)] = {0}, dx[NX], y[SIZE(NY)];
    int has_dx = 0, has_y = 0;
    for (size_t i = 0; i < n_knowns; ++i) {
        const unsigned int r = knowns[i];
        if (r >= PARAMETERS && r < VARIABLES) {
            p[r - PARAMETERS] += seed[i];
        } else if (r >= INPUTS && r < OUTPUTS) {
            u[r - INPUTS] += seed[i];
        } else if (r >= STATES && r < RATES) {
            x[r - STATES] += seed[i];
        } else if (r != TIME) { /* on which nothing depends */
            return unknown_reference(instance, "directional derivative with respect to a known", r);
        }
    }
    for (size_t i = 0; i < n_unknowns; ++i) {
        const unsigned int r = unknowns[i];
        if (r >= OUTPUTS && r < PARAMETERS) {
            if (!has_y) {
                outputs_directional(now->x, now->u, now->p, x, u, p, y);
                has_y = 1;
            }
            sensitivity[i] = y[r - OUTPUTS];
        } else if (r >= RATES && r < INPUTS) {
            if (!has_dx) {
                rates_directional(now->x, now->u, now->p, x, u, p, dx);
                has_dx = 1;
            }
            sensitivity[i] = dx[r - RATES];
        } else if (r >= STATES && r < RATES) {
            sensitivity[i] = x[r - STATES];
        } else {
            return unknown_reference(instance, "directional derivative of an unknown", r);
        }
    }
    if (not_finite(sensitivity, (int)n_unknowns) >= 0) {
        return say(instance, DISCARD, "a directional derivative is not finite at time %.9g.", now->time);
    }
    return OK;
}

#if ADJOINT
/* sensitivity = (d unknowns / d knowns)^T times seed. */
static int adjoint(Instance *instance, const unsigned int *unknowns, size_t n_unknowns, const unsigned int *knowns,
                   size_t n_knowns, const double *seed, double *sensitivity)
{
    const Values *now = &instance->now;
    double dx[NX] = {0}, y[SIZE(NY)] = {0}, x[NX] = {0}, u[SIZE(NU)] = {0}, p[SIZE(NP)] = {0};
    double of_x[NX], of_u[SIZE(NU)], of_p[SIZE(NP)];
    int has_dx = 0, has_y = 0;
    for (size_t i = 0; i < n_unknowns; ++i) {
        const unsigned int r = unknowns[i];
        if (r >= OUTPUTS && r < PARAMETERS) {
            y[r - OUTPUTS] += seed[i];
            has_y = 1;
        } else if (r >= RATES && r < INPUTS) {
            dx[r - RATES] += seed[i];
            has_dx = 1;
        } else if (r >= STATES && r < RATES) {
            x[r - STATES] += seed[i];
        } else {
            return unknown_reference(instance, "adjoint derivative of an unknown", r);
        }
    }
    for (int part = 0; part < 2; ++part) {
        if (part == 0 && has_dx) {
            rates_adjoint(now->x, now->u, now->p, dx, of_x, of_u, of_p);
        } else if (part == 1 && has_y) {
            outputs_adjoint(now->x, now->u, now->p, y, of_x, of_u, of_p);
        } else {
            continue;
        }
        for (int i = 0; i < NX; ++i) x[i] += of_x[i];
        for (int i = 0; i < NU; ++i) u[i] += of_u[i];
        for (int i = 0; i < NP; ++i) p[i] += of_p[i];
    }
    for (size_t i = 0; i < n_knowns; ++i) {
        const unsigned int r = knowns[i];
        if (r >= PARAMETERS && r < VARIABLES) {
            sensitivity[i] = p[r - PARAMETERS];
        } else if (r >= INPUTS && r < OUTPUTS) {
            sensitivity[i] = u[r - INPUTS];
        } else if (r >= STATES && r < RATES) {
            sensitivity[i] = x[r - STATES];
        } else if (r == TIME) {
            sensitivity[i] = 0.0;
        } else {
            return unknown_reference(instance, "adjoint derivative with respect to a known", r);
        }
    }
    if (not_finite(sensitivity, (int)n_knowns) >= 0) {
        return say(instance, DISCARD, "an adjoint derivative is not finite at time %.9g.", now->time);
    }
    return OK;
}
#endif
