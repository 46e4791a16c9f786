// Package sandbox runs programs that nobody trusts: tools that a project or a plugin
// brings, and code that a model writes.
//
// A program runs in two stages. The outer stage gives it namespaces of its own: by clone
// flags where the kernel lets us, else by bubblewrap. The inner stage is this program
// again (simd __worker): it builds the view of files, gives up every right, confines
// itself and starts the program. It stays as process 1 of the namespace, where it reaps
// children, passes the end on, and dies with the engine.
//
// The owner makes a [Box] by [New]. It holds no process, but for one worker that waits for
// the next call after a call that said [Command.More]: [Box.Rest] ends it. The main
// function of the owner's program calls [Reexec] before anything else, and then cores.None.
//
// # Promises
//
//  1. Nothing runs in a weaker sandbox. A child of the Box has tried everything that is forbidden before the first program runs; what was
//     not refused is a missing [probe.Guarantee], and every call is refused by an error of type [Unavailable] that names it.
//  2. A program reads what the system folders and its mounts hold, and writes to its own two folders in memory and to mounts that are
//     writable. No symbolic link, descriptor or entry of /proc leads out.
//  3. A program has no socket of any family (in the profile net: none but TCP to its proxy) and no namespace, key, tracing, module or mount of its own making.
//  4. Its processes, memory, processor time, files and output are bounded ([Limits]).
//  5. When Run returns, no process of the program is left, and no goroutine of ours: however it forked, stopped itself or ignored signals.
//     After Rest no worker is left either.
//  6. A program sees no environment, descriptor, terminal or process of the engine.
//     No core of it is written, nor given to a program of the host that takes cores.
//  7. If the engine dies, its programs die, and the worker that waits.
//  8. A worker does one job. One that was started ahead had nothing of any call before, and is in the namespaces from its start.
//  9. An error of Run says that nothing of the program ran. A program whose worker is killed beside it has a Result: it ended by SIGKILL.
//
// # Left to others
//
// Which caller may run which program: permissions. Values of secrets in outputs: engine/secret/mask. Memory
// is bounded for each process by the kernel, and for all of them by a look every 20 ms: a
// program can have more for that long. The time that a kernel spends on a program's system
// calls is bounded by the time-out alone.
package sandbox
