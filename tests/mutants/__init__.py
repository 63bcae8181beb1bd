"""Known bugs, planted one at a time: the suite has to find each.

    catalogue         the mutants: which text of which file becomes what
    queue_guards      those of the statements that move a task
    fleet_guards      those around: workers, lanes, limits, the schema's functions, the Python beside them
    service, intake   those of the service and of what takes files in
    sites, articles, linking, catalogues
                      those of the applications
    plugin            plants one of them in memory, inside the pytest process
    __main__          runs them all and prints the table (``make mutants``)

Nothing in ``src`` knows of this: the texts are changed after they are loaded.
"""
