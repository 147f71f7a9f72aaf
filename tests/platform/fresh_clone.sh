#!/bin/sh
# Show by hand what a stranger sees: a fresh clone, empty caches, bin/up twice, kill -9, then bin/test while another bin/up runs.
# Usage: tests/platform/fresh_clone.sh [ACCOUNT]   (root may name an ordinary account to become, e.g. nobody)
set -eu
ROOT=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd -P)
ACCOUNT=${1-}
PLACE=$(mktemp -d "${TMPDIR:-/tmp}/fresh-XXXXXX")
chmod 755 "$PLACE"
mkdir "$PLACE/home" "$PLACE/t"
git clone --quiet --no-local "$ROOT" "$PLACE/clone"
[ -z "$ACCOUNT" ] || chown -R "$ACCOUNT" "$PLACE"

bare() {
    set -- env -i HOME="$PLACE/home" UV_CACHE_DIR="$PLACE/home/uv" PIP_CACHE_DIR="$PLACE/home/pip" TMPDIR="$PLACE/t" LANG=C.UTF-8 \
        PATH="${SHOW_PATH:-$PATH}" ${SSL_CERT_FILE:+SSL_CERT_FILE="$SSL_CERT_FILE"} ${CI:+CI="$CI"} "$@"
    if [ -n "$ACCOUNT" ]; then
        exec setpriv --reuid="$ACCOUNT" --regid="$(id -g "$ACCOUNT")" --clear-groups "$@"
    fi
    exec "$@"
}

start_up() {
    began=$(date +%s)
    (bare "$PLACE/clone/bin/up" --port 18400) >"$PLACE/up.out" 2>&1 &
    up=$!
    until grep -q '^ready' "$PLACE/up.out"; do
        kill -0 "$up" 2>/dev/null || { cat "$PLACE/up.out"; exit 1; }
        sleep 0.1
    done
    echo "$1: $(grep '^ready' "$PLACE/up.out") after $(($(date +%s) - began)) s"
}

left() { ps -eo pid,user,args | grep -F "$PLACE" | grep -v -e grep -e fresh_clone || true; }

start_up "first start"
kill -TERM "$up"; wait "$up" || true
start_up "second start"
kill -KILL "$up"; wait "$up" 2>/dev/null || true
sleep 5
echo "left 5 s after kill -9: $(left | wc -l)"
left
start_up "start after kill -9"
(bare "$PLACE/clone/bin/test" ${SHOW_TEST-}) || echo "bin/test ended with $?"
kill -TERM "$up"; wait "$up" || true
echo "left at the end: $(left | wc -l)"
rm -rf "$PLACE"
