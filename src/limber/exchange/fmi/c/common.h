/* The functions that FMI 2.0 and FMI 3.0 have in common, except for their names and types.
 *
 * The file that includes this one defines FMI(name), which puts fmi2 or fmi3 in front of a name, and NAME(name), the same as a
 * string; FUNCTION_PREFIX, if functions have a further prefix; the types Component, Status, Real, Boolean and String; and
 * WRONG_TOKEN, the message about the token of another FMU.
 */
#ifdef FUNCTION_PREFIX
#define JOINED(prefix, name) prefix##name
#define PREFIXED(prefix, name) JOINED(prefix, name)
#define FUNCTION(name) PREFIXED(FUNCTION_PREFIX, FMI(name))
#else
#define FUNCTION(name) FMI(name)
#endif

#if defined _WIN32 || defined __CYGWIN__
#define EXPORT __declspec(dllexport)
#elif defined __GNUC__
#define EXPORT __attribute__((visibility("default")))
#else
#define EXPORT
#endif

#define API(name) EXPORT Status FUNCTION(name)
#define IGNORED(x) (void)(x)

/* --- instances ------------------------------------------------------------------------------------------- */

/* Call the logger of the importer, as this version of FMI does it. */
static void told(Instance *instance, int status, const char *category, const char *text);

static Instance *instantiated(String name, int kind, String token, void *environment, void (*log)(void))
{
    Instance *instance = made(name, kind, token), nobody = {0};
    if (!instance) {
        nobody.name = (char *)name;
        nobody.environment = environment;
        nobody.callback = log;
        told(&nobody, ERROR, "logStatusError",
             token && strcmp(token, TOKEN) == 0 ? "there is not enough memory for an instance." : WRONG_TOKEN);
        return NULL;
    }
    instance->callback = log;
    instance->environment = environment;
    instance->tell = told;
    return instance;
}

EXPORT void FUNCTION(FreeInstance)(Component instance)
{
    destroyed(instance);
}

API(SetDebugLogging)(Component instance, Boolean on, size_t count, const String categories[])
{
    IGNORED(instance);
    IGNORED(on); /* there are warnings and errors only, and they are always reported */
    IGNORED(count);
    IGNORED(categories);
    return FMI(OK);
}

API(ExitInitializationMode)(Component instance)
{
    Instance *me = instance;
    if (me->now.mode != INITIALIZING) {
        return (Status)wrong_mode(me, NAME(ExitInitializationMode));
    }
    return (Status)leave_initialization(me);
}

API(Terminate)(Component instance)
{
    ((Instance *)instance)->now.mode = TERMINATED;
    return FMI(OK);
}

API(Reset)(Component instance)
{
    start_values(instance);
    return FMI(OK);
}

/* All variables are numbers of one type. */
static Status no_variables(Component instance, size_t count, const char *type)
{
    return count ? (Status)say(instance, ERROR, "this FMU has no variables of the type %s.", type) : FMI(OK);
}

/* --- model exchange -------------------------------------------------------------------------------------- */

API(EnterContinuousTimeMode)(Component instance)
{
    Instance *me = instance;
    if (me->kind != MODEL_EXCHANGE || me->now.mode != AT_EVENT) {
        return (Status)wrong_mode(me, NAME(EnterContinuousTimeMode));
    }
    me->now.mode = CONTINUOUS;
    return FMI(OK);
}

API(CompletedIntegratorStep)(Component instance, Boolean no_return, Boolean *event, Boolean *terminate)
{
    Instance *me = instance;
    IGNORED(no_return);
    *event = offness(me->now.x, me->now.p) > DRIFT;
    *terminate = FMI(False);
    return FMI(OK);
}

API(SetTime)(Component instance, Real time)
{
    ((Instance *)instance)->now.time = time; /* on which nothing depends */
    return FMI(OK);
}

API(SetContinuousStates)(Component instance, const Real states[], size_t count)
{
    return (Status)set_states(instance, states, count);
}

API(GetContinuousStates)(Component instance, Real states[], size_t count)
{
    return (Status)get_states(instance, states, count);
}

API(GetNominalsOfContinuousStates)(Component instance, Real nominals[], size_t count)
{
    IGNORED(instance);
    for (size_t i = 0; i < count; ++i) nominals[i] = 1.0;
    return FMI(OK);
}

API(GetEventIndicators)(Component instance, Real indicators[], size_t count)
{
    IGNORED(indicators);
    return count ? (Status)say(instance, ERROR, "this FMU has no event indicators.") : FMI(OK);
}
