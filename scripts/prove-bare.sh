#!/bin/bash
# Proves that the two commands need nothing but a bare distribution and `make`:
# builds a minimal tree with debootstrap, puts a clone of the last commit into it,
# enters it by pivot_root (inside a plain chroot the kernel refuses user
# namespaces), and runs there
#
#   run     `make run` as an ordinary user who has sudo
#   test    `make test` as root
#
# Usage, as root:  scripts/prove-bare.sh [SUITE...] [-- run|test...]
#   SUITE   bookworm (default), trixie, noble ...; one the mirror lacks is named and passed over
#
# The mirror is the one apt uses on this machine; MIRROR names another one, for
# the suites of another distribution, with KEYRING to check it by. Network
# settings and apt's proxy are taken over. Each tree is removed at the end.
set -euo pipefail

TOP=$(cd "$(dirname "$0")/.." && pwd)

die()
{
    echo "prove-bare: $*" >&2
    exit 1
}

# The archive of this machine's own release.
mirror_of_apt()
{
    # shellcheck disable=SC2016 # apt's own placeholders
    apt-get indextargets --format '$(CREATED_BY) $(REPO_URI) $(CODENAME)' |
        awk '$1 == "Packages" && $3 !~ /-/ { print $2; exit }'
}

has_suite()
{
    /usr/lib/apt/apt-helper download-file "$1/dists/$2/InRelease" "$3" >/dev/null 2>&1
}

make_tree() # SUITE DIRECTORY
{
    local suite=$1 tree=$2 script=/usr/share/debootstrap/scripts/$1 components=main
    # An older debootstrap does not know the newest Ubuntu, whose script is that of all of them.
    if grep -q '^Origin: Ubuntu' "$tree.release"; then
        components=main,universe
        [ -e "$script" ] || script=/usr/share/debootstrap/scripts/gutsy
    fi
    debootstrap --variant=minbase --components="$components" --include=make,passwd,sudo \
        ${KEYRING:+--keyring="$KEYRING"} "$suite" "$tree" "$MIRROR" "$script" >"$tree.log" 2>&1 ||
        { tail -n 20 "$tree.log" >&2; return 1; }

    cp /etc/resolv.conf /etc/hosts "$tree/etc/"
    cp -r /etc/apt/apt.conf.d/. "$tree/etc/apt/apt.conf.d/"
    [ ! -d /etc/apt/auth.conf.d ] || cp -r /etc/apt/auth.conf.d/. "$tree/etc/apt/auth.conf.d/"

    git -c safe.directory='*' clone -q "$TOP" "$tree/clone"
    cp -r "$tree/clone" "$tree/root/cloche"
    chroot "$tree" useradd -m -s /bin/bash tester
    mv "$tree/clone" "$tree/home/tester/cloche"
    chroot "$tree" chown -R tester:tester /home/tester/cloche
    echo 'tester ALL=(ALL) NOPASSWD: ALL' >"$tree/etc/sudoers.d/tester"
    echo "127.0.0.1 $(uname -n)" >>"$tree/etc/hosts" # sudo looks the host's name up
}

# Runs a command line in the tree, the tree being the root of its own mount and
# pid namespaces; the network stays the host's.
enter() # TREE COMMAND
{
    # shellcheck disable=SC2016 # expanded inside
    unshare --mount --pid --fork --kill-child --ipc --propagation private -- sh -euc '
        tree=$1
        mount --bind "$tree" "$tree"
        mount -t proc proc "$tree/proc"
        mount -t sysfs sys "$tree/sys"
        mount --rbind /dev "$tree/dev"
        mount -t tmpfs -o mode=1777 tmp "$tree/tmp"
        cd "$tree"
        mkdir -p .old
        pivot_root . .old
        umount -l /.old
        rmdir /.old
        cd /
        exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 TERM=dumb \
            CI="$3" sh -c "$2"
    ' enter "$1" "$2" "${CI:-}" </dev/null &
    inside=$!
    wait "$inside"
}

# Pid 1 of a namespace does not heed SIGTERM, and goes with unshare.
clean_up()
{
    if [ -n "$inside" ] && kill -KILL "$inside" 2>/dev/null; then
        wait "$inside" 2>/dev/null || true
    fi
    rm -rf --one-file-system "$place"
}

prove() # SUITE WHAT...
{
    local suite=$1 work=$place/$1 what line start
    shift
    mkdir "$work"
    if ! has_suite "$MIRROR" "$suite" "$work/tree.release"; then
        verdicts+=("$suite: passed over: not on this mirror")
        return
    fi
    echo "== $suite: building the tree"
    if ! make_tree "$suite" "$work/tree"; then
        verdicts+=("$suite: FAILED: debootstrap")
        return
    fi
    for what in "$@"; do
        case $what in
        run) line='exec su - tester -c "cd cloche && make run"' ;;
        test) line='cd /root/cloche && exec make test' ;;
        esac
        echo "== $suite: make $what"
        start=$SECONDS
        if enter "$work/tree" "$line"; then
            verdicts+=("$suite: make $what: good, $((SECONDS - start)) s with set-up")
        else
            verdicts+=("$suite: make $what: FAILED")
        fi
    done
}

suites=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    suites+=("$1")
    shift
done
[ $# -eq 0 ] || shift
[ ${#suites[@]} -gt 0 ] || suites=(bookworm)
[ $# -gt 0 ] || set -- run test
for what in "$@"; do
    case $what in run | test) ;; *) die "there is no proof called $what (run, test)" ;; esac
done

[ "$(id -u)" -eq 0 ] || die "must be root: debootstrap makes a root file system"
for tool in debootstrap unshare git; do
    command -v "$tool" >/dev/null || die "$tool is missing: apt-get install debootstrap util-linux git"
done
MIRROR=${MIRROR:-$(mirror_of_apt)}
MIRROR=${MIRROR%/}
[ -n "$MIRROR" ] || die "apt knows no archive on this machine; name one in MIRROR"
[ -z "$(git -C "$TOP" -c safe.directory='*' status --porcelain)" ] ||
    echo "prove-bare: note: what is not committed is not in the clone" >&2

inside=
place=$(mktemp -d)
trap clean_up EXIT
trap 'exit 1' INT TERM

verdicts=()
for suite in "${suites[@]}"; do
    prove "$suite" "$@"
    rm -rf --one-file-system "${place:?}/$suite"
done

echo "== verdicts"
printf '%s\n' "${verdicts[@]}"
! printf '%s\n' "${verdicts[@]}" | grep -q FAILED
