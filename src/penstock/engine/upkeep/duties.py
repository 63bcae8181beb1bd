"""The duties a worker of the fleet takes part in."""

from penstock.config import Settings
from penstock.engine.events import Events
from penstock.engine.upkeep.deleted import RemoveDeleted
from penstock.engine.upkeep.duty import Duty
from penstock.engine.upkeep.fan_in import FanIn
from penstock.engine.upkeep.fold import FoldCounts
from penstock.engine.upkeep.lanes import DeactivateLanes
from penstock.engine.upkeep.limits import ForgetBlocks
from penstock.engine.upkeep.rescue import Rescue
from penstock.engine.upkeep.resend import Resend
from penstock.engine.upkeep.retention import Retention
from penstock.engine.upkeep.schedules import Schedules
from penstock.engine.upkeep.standing import NoteStanding
from penstock.engine.upkeep.sweep import SweepCancelled
from penstock.failpoints import Failpoints


def all_duties(settings: Settings, events: Events, failpoints: Failpoints) -> tuple[Duty, ...]:
    slow = settings.cleanup_seconds if settings.profile == "paced" else None
    return (
        Rescue(events=events, crash_limit=settings.crash_limit, rescue_limit=settings.rescue_limit),
        SweepCancelled(events=events),
        Resend(events=events, older_than_seconds=settings.resend_seconds, every_seconds=settings.resend_every_seconds),
        Schedules(events=events, failpoints=failpoints),
        FanIn(events=events, failpoints=failpoints),
        FoldCounts(),
        NoteStanding(),
        ForgetBlocks(),
        DeactivateLanes(every_seconds=slow or 30.0),
        RemoveDeleted(),
        Retention(settings=settings, every_seconds=slow or 60.0),
    )
