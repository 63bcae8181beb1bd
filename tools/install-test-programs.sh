#!/bin/sh
# Installs the programs that the tests start for themselves: brokers and a browser. `make programs` calls this, and
# `make test` before pytest.
#
# Nothing happens when they are there, or when PENSTOCK_TEST_REDIS_URL, PENSTOCK_TEST_RABBITMQ_URL and
# PENSTOCK_TEST_CHROMIUM name others. Where nothing can be installed it says so and ends well: the tests that need one
# then fail and say why.
set -eu

say() { printf '%s\n' "$*"; }

missing=""
if [ -z "${PENSTOCK_TEST_REDIS_URL:-}" ] && ! command -v redis-server >/dev/null 2>&1; then
    missing="redis-server"
fi
# The program itself: the command on the path is a wrapper that wants to be root.
if [ -z "${PENSTOCK_TEST_RABBITMQ_URL:-}" ] && [ ! -x /usr/lib/rabbitmq/bin/rabbitmq-server ]; then
    missing="$missing rabbitmq-server"
fi
if [ -z "${PENSTOCK_TEST_CHROMIUM:-}" ] && ! command -v chromium-headless-shell >/dev/null 2>&1 \
    && ! command -v chromium >/dev/null 2>&1; then
    missing="$missing chromium-headless-shell fonts-dejavu-core"
fi
if [ -z "$missing" ]; then exit 0; fi
missing=${missing# }

as_root=""
if [ "$(id -u)" -ne 0 ]; then as_root="sudo -n"; fi
if ! command -v apt-get >/dev/null 2>&1 || ! $as_root true 2>/dev/null; then
    say "Missing for the tests: $missing. Install it as root (Debian: apt-get install $missing)," \
        "or name others in PENSTOCK_TEST_REDIS_URL, PENSTOCK_TEST_RABBITMQ_URL and PENSTOCK_TEST_CHROMIUM."
    exit 0
fi

say "Installing $missing with apt-get, for the tests."
log=$(mktemp)
policy=/usr/sbin/policy-rc.d
ours=""
clean_up() {
    if [ -n "$ours" ]; then $as_root rm -f "$policy"; fi
    rm -f "$log"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

# Debian starts a server when its package is installed; the tests start their own on private ports. A policy that is
# there already was somebody's decision and stays.
if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' | $as_root tee "$policy" >/dev/null
    $as_root chmod 755 "$policy"
    ours=yes
fi

install() {
    # shellcheck disable=SC2086  # a list of packages
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing
}
# The lists of packages may be old or absent: they are read anew only then.
if ! install >"$log" 2>&1; then
    if ! { $as_root apt-get update -qq && install; } >"$log" 2>&1; then
        tail -n 5 "$log" >&2
        say "apt-get could not install $missing. The tests that need it will fail and say so."
    fi
fi
