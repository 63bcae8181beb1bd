"""What people do with jobs. Each touches a row or two, whatever the size of the job, except reprocess and hasten, which
go a batch at a time."""

from penstock.core.jobs import cancel, delete, hasten, pause, reprioritise, reprocess, resume

__all__ = ["cancel", "delete", "hasten", "pause", "reprioritise", "reprocess", "resume"]
