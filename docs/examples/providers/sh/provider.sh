#!/bin/sh
# A provider in POSIX sh and jq: licences of a pool, granted to clusters. One line in, one line out, one at a time.
#
# provider.jq decides and does nothing: from one frame, the ledger, the pool and the clock to a plan, one step a line.
# This file does what the plan says and decides nothing. One jq is started, once, and asked again and again: to read its
# program takes it longer than to plan. A plan that ends in `again` is followed by another, made from
# the same frame and what is on the disk by then; so what was cut off by a crash is taken up by the same few lines
# that do it every day. Besides jq it needs flock (util-linux) and a sync that takes files (coreutils).
set -u
LC_ALL=C
export LC_ALL
here=$(dirname "$0")
FRAME_BYTES=1048576 # FR-3: the daemon sends no longer frame
LEAVE_S=7           # HS-9: ten seconds from the end of stdin to ours, some of them spare
CR=$(printf '\r')

if [ -z "${PROVISIONER_CONTRACT-}" ] && [ -t 0 ]; then
    echo 'This is a provider: the provisioner starts it and speaks JSON with it over stdin and stdout.' >&2
    exit 64
fi

# ------------------------------------------------------------------------- the end of stdin, also with busy hands
# A shell that waits for a command does not see its stdin end. So a watcher passes the frames on to us, and when there
# are no more, it gives us a few seconds to come to our end by ourselves.

work=$(mktemp -d) || exit 1
mkfifo "$work/frames" "$work/asks" "$work/plans" || exit 1

watch() {
    child=
    trap 'kill $child 2>/dev/null; exit 0' TERM
    cat <&3 >"$work/frames" &
    child=$!
    wait "$child"
    sleep "$LEAVE_S" 3<&- &
    child=$!
    wait "$child"
    # Are we still the child of the shell that started us? If it has died, its number may be anybody's by now.
    read -r _ _ _ parent _ </proc/self/stat
    if [ "$parent" = "$$" ]; then kill "$$"; fi
}

exec 3<&0
watch </dev/null >/dev/null &
watcher=$!
exec <"$work/frames" 3<&-
nap=
trap 'kill $watcher 2>/dev/null; rm -rf "$work"' EXIT
trap 'kill $nap 2>/dev/null; exit 0' TERM

# ------------------------------------------------------------------------------------------ what a plan may ask for

# ST-2: a temporary file, fsync, rename, fsync of the folder. A crash leaves the old file or the new one, whole.
replace() { # FILE TEXT
    printf '%s\n' "$2" >"$1.tmp" && sync "$1.tmp" && mv -f "$1.tmp" "$1" && sync "$(dirname "$1")"
}

# HS-6. The lock is descriptor 9 and ends with the last process that has it open; a command of ours that outlives us by
# a moment may be one, so two seconds are waited. ST-2: a ledger that can't be read is set aside, for people, and never
# taken for an empty one.
take_folder() { # STATE_DIR
    mkdir -p "$1" && exec 9>>"$1/lock" || return 1
    held=no
    flock -w 2 9 || return 0
    held=yes
    ledger=$1/ledger.json
    if [ -e "$ledger" ] && ! is_whole "$ledger"; then mv "$ledger" "$ledger.unreadable"; fi
    if [ -e "$ledger.unreadable" ]; then damaged=yes; fi # until somebody has looked and removed it
}

is_whole() { # LEDGER
    [ "$(jq -r 'select(.tokens and .returns and .epochs and .state_id) | "whole"' "$1" 2>/dev/null)" = whole ]
}

# A pool of our own is made. A configured one must be there: a disk that is not mounted must not look like an empty pool.
find_pool() { # own|given FILE
    pool=$2
    if [ "$1" = own ] && [ "$held" = yes ] && [ ! -e "$pool" ]; then replace "$pool" '{"grants":{}}'; fi
}

slow_far_side() { # SECONDS; a child that can be ended, and that holds nothing of ours
    sleep "$1" 5>&- 6<&- 9>&- &
    nap=$!
    wait "$nap"
    nap=
}

perform() { # the plan that jq writes, to its end; what fails makes the rest of it void
    while read -r step rest <&6; do
        [ "$step" != done ] || return
        [ -z "$failed" ] || continue
        case $step in
        folder) take_folder "$rest" || failed=folder ;;
        pool_at) find_pool "${rest%% *}" "${rest#* }" || failed=pool ;;
        session) session=$rest ;;
        ledger) replace "$ledger" "$rest" || failed=ledger ;;
        pool) replace "$pool" "$rest" || failed=pool ;;
        sleep) [ "$rest" = 0 ] || slow_far_side "$rest" ;;
        answer) printf '%s\n' "$rest" ;;
        log) printf '%s\n' "$rest" >&2 ;;
        exit) exit "$rest" ;;
        again) again=yes ;;
        esac
        [ -z "$failed" ] || again=yes # another plan is made, one that knows what failed
    done
    exit 1 # jq is gone
}

# One question to jq is five lines: what we are, the ledger, the pool, the moment, and the frame.
ask_for_plan() {
    read -r boot _ </proc/uptime # CLOCK_BOOTTIME, the clock of not_after
    {
        printf '%s\n' "$session"
        one_line "$ledger"
        one_line "$pool"
        printf '%s\n' "$boot|$held|$damaged|$failed|$random"
        printf '%s\n' "$line"
    } >&5
}
one_line() {
    if [ -r "$1" ]; then tr -d '\n' <"$1"; fi
    echo
}

# --------------------------------------------------------------------------------------------------------- the loop

jq -nRr --unbuffered -f "$here/provider.jq" <"$work/asks" >"$work/plans" &
exec 5>"$work/asks" 6<"$work/plans"
session=
ledger=
pool=
held=
damaged=
random=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')

while IFS= read -r line; do # a last line without its LF is no frame: `read` says so, and the loop ends
    line=${line%"$CR"}
    [ -n "$line" ] || continue
    if [ "${#line}" -gt "$FRAME_BYTES" ]; then
        echo "skipped a line of ${#line} bytes" >&2
        continue
    fi
    failed=
    again=yes
    while [ -n "$again" ]; do
        again=
        ask_for_plan
        failed=
        perform
    done
done
exit 0
