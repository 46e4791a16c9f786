// Package sandbox runs untrusted programs: tools of a project or a plugin,
// and code that a model writes.
//
// A program runs in two stages. The outer stage gives it namespaces of its own: by clone
// flags if the kernel allows it, else by bubblewrap. The inner stage is this program
// again (simd __worker): it builds the view of files, drops all privileges, confines
// itself and starts the program. It stays as process 1 of the namespace, where it reaps
// children, forwards TERM, and dies with the engine.
//
// The owner makes a [Box] by [New]. It holds no process, except one worker that waits for
// the next call after a call with [Command.More], or beside it; [Box.Rest] ends it. The main
// function of the owner's program calls [Reexec] before anything else, and then cores.None.
//
// # Promises
//
//  1. Nothing runs in a weaker sandbox. Before the first program runs, a child of the Box tries everything that is forbidden. An attempt that
//     succeeds is a missing [probe.Guarantee], and every call is refused by an error of type [Unavailable] that names it.
//  2. A program reads the system folders and its mounts, and writes to its own two folders in memory and to
//     writable mounts. No symbolic link, descriptor or entry of /proc leads out.
//  3. A program has no socket of any family (in the profile net: only TCP to its proxy), and cannot create namespaces, keys, traces, modules or mounts.
//  4. Its processes, memory, processor time, files and output are bounded ([Limits]).
//  5. When Run returns, no process of the program is left, and no goroutine of Run, even if the program forked, stopped itself or ignored signals.
//     After Rest no worker is left either, once [Command.More] of the calls under way reports false.
//  6. A program sees no environment, descriptor, terminal or process of the engine.
//     The kernel writes no core of it, and gives none to a core collector of the host.
//  7. If the engine dies, its programs and the waiting worker die.
//  8. A worker does one job. A worker that was started ahead has no data of any call before its own, and is in the namespaces from its start.
//  9. An error of Run means that nothing of the program ran. If the worker of a program is killed, the program has a Result: it ended by SIGKILL.
//
// # Limits
//
// The kernel bounds the memory of each process. The worker checks the memory of all of them every 20 ms, so a
// program can exceed the bound for that long. Only the time-out bounds the time that the kernel spends on a program's system
// calls.
//
// # Not here
//
// Which caller may run which program (permissions); values of secrets in outputs (engine/secret/mask).
package sandbox
