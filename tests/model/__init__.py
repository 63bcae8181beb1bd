"""What Penstock argues about tasks, as plain Python that can be searched completely.

    search     visits every reachable state, breadth first, and gives the shortest way to a broken promise
    records    the state of the lease model: rows, workers, and what each of them believes
    statements the SQL statements, one function each, with the guards the real ones have
    lease      claim, run, settle, die, freeze, rescue, cancel, reprocess: who may do what when
    limits     exact fleet-wide limits: lock, count with a newer snapshot, claim
    lanes      switching an idle lane off while somebody enqueues
    unique     one waiting task per unique key
    mutants    every model with one guard taken away; the search has to find each

The models know nothing of PostgreSQL but what it promises: a statement is atomic, sees what was committed before
it started, and looks again at a row it had to wait for. ``tests/storage/test_state_machine.py`` asks the same of
the real tables.
"""
