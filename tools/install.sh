#!/bin/sh
# Creates .venv and installs the locked packages and Penstock itself into it. `make install` calls this.
#
#   tools/install.sh          the virtual environment with everything in it
#   tools/install.sh --bare   the virtual environment only (what `make lock` needs)
#
# PYTHON chooses the interpreter; without it the first of the usual names that is 3.11 or newer is taken.
set -eu
cd "$(dirname "$0")/.."

say() { printf '%s\n' "$*"; }
fail() { printf 'penstock: %s\n' "$*" >&2; exit 1; }

# Two calls at the same time would write into the same folder: the second one waits for the first.
if [ -z "${PENSTOCK_INSTALL_LOCKED:-}" ] && command -v flock >/dev/null 2>&1; then
    export PENSTOCK_INSTALL_LOCKED=1
    exec flock .venv.lock "$0" "$@"
fi

new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

choose_python() {
    if [ -n "${PYTHON:-}" ]; then
        command -v "$PYTHON" >/dev/null 2>&1 || fail "PYTHON=$PYTHON was not found; name an existing Python 3.11 or newer."
        new_enough "$PYTHON" || fail "PYTHON=$PYTHON is older than 3.11 or does not run; name a Python 3.11 or newer."
        say "$PYTHON"
        return
    fi
    # A name is tried by running it: version managers put commands on the path that only print an error.
    for candidate in python3.11 python3 python3.14 python3.13 python3.12; do
        if new_enough "$candidate"; then
            say "$candidate"
            return
        fi
    done
    fail "Python 3.11 or newer was not found; install it (Debian: apt-get install python3) or call make PYTHON=/path/to/python."
}

# Debian ships `venv` without the part that puts pip into it; that part is a package of its own.
ensure_venv_module() {
    if "$1" -c 'import ensurepip, venv' >/dev/null 2>&1; then return; fi
    package=$("$1" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')
    as_root=""
    if [ "$(id -u)" -ne 0 ]; then as_root="sudo -n"; fi
    if command -v apt-get >/dev/null 2>&1 && $as_root true 2>/dev/null; then
        say "Installing $package with apt-get, because $1 cannot create virtual environments without it."
        export DEBIAN_FRONTEND=noninteractive
        { $as_root apt-get update -qq && $as_root apt-get install -y -qq --no-install-recommends "$package"; } \
            >.venv-apt.log 2>&1 || { tail -n 5 .venv-apt.log >&2; rm -f .venv-apt.log; }
        rm -f .venv-apt.log
        if "$1" -c 'import ensurepip, venv' >/dev/null 2>&1; then return; fi
    fi
    fail "$1 cannot create virtual environments: run 'apt-get install $package' as root, then call make again."
}

# Runs a long command with its output in a log: a dot every two seconds, the end of the log if it fails.
with_dots() {
    message=$1
    shift
    printf '%s ' "$message"
    "$@" >"$log" 2>&1 &
    command_pid=$!
    trap 'kill "$command_pid" 2>/dev/null; exit 130' INT TERM
    ticks=0
    while kill -0 "$command_pid" 2>/dev/null; do
        sleep 0.2
        ticks=$((ticks + 1))
        if [ $((ticks % 10)) -eq 0 ]; then printf '.'; fi
    done
    trap - INT TERM
    if wait "$command_pid"; then
        say " done"
    else
        say " failed"
        tail -n 30 "$log" >&2
        fail "the set-up stopped here; the whole output is in $log."
    fi
}

# An environment whose interpreter went away, or that was cut short, is built anew.
if ! .venv/bin/python -c 'import pip' >/dev/null 2>&1; then
    python=$(choose_python)
    ensure_venv_module "$python"
    say "Creating .venv with $("$python" --version)."
    rm -rf .venv
    "$python" -m venv .venv
fi
log=.venv/install.log
if [ "${1:-}" = "--bare" ]; then exit 0; fi

# Spelt out, not a shell function: an interrupted set-up then ends pip itself and not only a shell around it.
pip=".venv/bin/python -m pip --disable-pip-version-check --no-input"

with_dots "Installing $(grep -c '^[a-z].*==' requirements.lock) locked packages" \
    $pip install --require-hashes --only-binary :all: -r requirements.lock
# The build backend is part of the lock, so nothing is fetched here that has no hash.
with_dots "Installing penstock itself" $pip install --no-deps --no-build-isolation --no-index -e .
touch .venv/.installed
