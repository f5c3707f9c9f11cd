# Keeps one ZooKeeper server for the process that holds the other end of standard input.
# Arguments: the server's command line, to be run in the folder that is printed first.
# Orders, one a line: START, KILL, STOP, CONT. Each is answered by the server's process id.

# An interrupt at the terminal is for the test process; its end is noticed by the pipe.
trap '' HUP INT TERM

folder=$(mktemp -d "${TMPDIR:-/tmp}/zk-tests.XXXXXX") || exit 1
cd "$folder" || exit 1
server=
printf '%s\n' "$folder"

while read -r order; do
    case $order in
    START)
        "$@" </dev/null >>server.log 2>&1 &
        server=$!
        ;;
    KILL)
        kill -KILL "$server"
        # Only once it is reaped are its ports free.
        wait "$server"
        ;;
    STOP | CONT)
        kill "-$order" "$server"
        ;;
    esac
    printf '%s\n' "$server"
done

if [ -n "$server" ]; then
    kill -KILL "$server"
    wait "$server"
fi
cd /
rm -rf "$folder"
