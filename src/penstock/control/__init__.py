"""What people decide about tasks, jobs, lanes, stages, limits, schedules and dead letters: a module each.

Every function does the whole of it: it checks that the move is possible, stores it, wakes the workers where there may
be work now, and emits the event. Handles, command line and HTTP service call these, so a rule stands in one place.
"""
