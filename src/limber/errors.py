"""The exceptions Limber raises."""


class LimberError(Exception):
    """Base class of every error that Limber raises on purpose."""


class ArgumentValueError(LimberError, ValueError):
    """An argument has the wrong value; the message says which, what came and what to do."""


class ArgumentTypeError(LimberError, TypeError):
    """An argument has the wrong type."""


class ImmutableError(LimberError, AttributeError):
    """An attempt to change an object that does not change."""


class ModelError(LimberError, ValueError):
    """A body, joint or assembly that cannot work."""


class DynamicsError(LimberError, ValueError):
    """The equations have no finite solution at this state."""


class CompileError(LimberError, RuntimeError):
    """Code could not be compiled or loaded."""


class MissingExtraError(LimberError, ImportError):
    """A library of an optional extra is not installed."""


class SimulationError(LimberError, RuntimeError):
    """A simulation could not go on; `result` holds what there is up to then."""

    result: object = None
