"""Ready-made systems; each function returns an `Assembly`."""

from limber.models.canadarm import canadarm
from limber.models.scissor_boom import scissor_boom
from limber.models.spacecraft import spacecraft

__all__ = ["canadarm", "scissor_boom", "spacecraft"]
