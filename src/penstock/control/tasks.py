"""What people do with single tasks: cancel, and run again."""

from penstock.core.handles import cancel, reprocess, require_all

__all__ = ["cancel", "reprocess", "require_all"]
