//! The exit codes, for `--help`.

/// For subcommands with a COMMAND, and for those that look.
pub(super) const EXIT_CODES: &str = "\
Exit codes of `run`, `lock`, `semaphore`, `slots run`, `barrier enter` and `queue claim`:
  COMMAND's own, or 128 + N if signal N killed it; and if there is no COMMAND to tell:
    1  not to be had with --try, or in time with --wait; `queue claim`: no item
    2  the arguments cannot be used
    3  `lock --once-per`: not due, since COMMAND has run
   69  with --wait: `run`: not elected in time; the others: no server in reach in time
   70  a fault in zkelect itself
   71  the operating system refused something, or COMMAND cannot be stopped
   73  the events file cannot be opened
   75  what was held was in doubt or lost, and COMMAND was stopped; `run`: with --once,
       or the session expired with --on-expiry end
   77  the server refused for lack of permission
   78  what the server holds does not fit, such as a missing chroot
  126  COMMAND, or the first --check, cannot be executed
  127  COMMAND, or the program of the first --check, was not found
  128 + N  signal N ended zkelect before COMMAND was started

Exit codes of the others, but for `server`: 0, those above, and
    1  `verify`: it does not lead; `step-down`: it leads still, or there is no leader; `evict`: no such
       candidate; `hand-over`: the candidate does not lead; `revoke`: one is still there, or there is none;
       `check`: something failed
    1  `barrier wait`: set still; `queue take`, `peek`: no item; `counter set --if`: another number;
       `members join`: the name is taken
   69  no server granted a session, or answered, in time
   75  the reply was lost, and what was asked for may be done; `queue take`: the item was printed;
       `members join`: another client deleted the member's znode";

pub(super) const SERVER_EXIT_CODES: &str = "\
Exit codes of `server`:
    0  SIGINT, SIGTERM, SIGQUIT or SIGHUP ended it
    2  the arguments cannot be used
   70  a fault in zkelect itself
   71  the operating system refused something: the address is in use, say";
