#!/bin/sh
# pytest with the arguments given; `make test` calls this.
#
# A whole run takes half an hour on two cores, and some tests hold a bound on time: a machine that does something else for a
# few seconds fails them. So up to three tests that failed are run once more, alone. What failed twice fails the run, and
# what passed only alone is named at the end: it is a defect of the test or of Penstock, and is to be looked at.
set -u
most=3
failed=.pytest_cache/v/cache/lastfailed

.venv/bin/pytest "$@"
code=$?
if [ "$code" -ne 1 ] || [ ! -f "$failed" ]; then exit "$code"; fi

names=$(.venv/bin/python -c 'import json, sys; print("\n".join(json.load(open(sys.argv[1]))))' "$failed") || exit 1
if [ "$(printf '%s\n' "$names" | wc -l)" -gt "$most" ]; then exit 1; fi

printf '\nOnce more, alone:\n%s\n\n' "$names"
.venv/bin/pytest "$@" -n 0 --last-failed --last-failed-no-failures none || exit 1
printf '\nFailed beside other tests and passed alone; look at these:\n%s\n' "$names"
