"""What people do with single tasks: cancel, and run again."""

from penstock.core.task_moves import cancel, reprocess, require_all

__all__ = ["cancel", "reprocess", "require_all"]
