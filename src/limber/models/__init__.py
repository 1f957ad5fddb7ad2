"""Ready-made systems; each function returns an `Assembly`."""

from limber.models.canadarm import canadarm

__all__ = ["canadarm"]
