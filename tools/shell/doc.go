// Package shell carries out the tools command, input and ctrl of ToolsXML: a shell for each
// agent, in a terminal and in the sandbox, that keeps its folder and its variables.
//
// The owner makes an [Executor] by [New] for one scene and calls Close after it. A session
// starts with the first command of an agent. It ends when its shell does, when nobody calls
// it for long, when a call of it is cancelled, and with the Executor.
//
// # Promises
//
//  1. A script is one file that the shell sources, so that what it changes stays, its input
//     is the terminal, and nothing that programs leave unread becomes a command. It finds in $?
//     how the one before it ended.
//  2. A call answers when its command has ended, when a program waits for input, or after
//     its time; then the command goes on, and input and ctrl reach it. While one runs,
//     another command is refused.
//  3. The end of a command is a marker that no program can know; what looks like one is
//     output. A shell that does not tell the end is ended.
//  4. An output is what a terminal shows (tools/shell/screen). It is bounded; what is beyond is read, counted and dropped.
//  5. Secrets come as variables of the shell, quoted, for one command; no value is in a
//     script or in the environment of a program that was not given it. Outputs are masked,
//     also across two answers, or withheld whole (Options.Withheld). From the first secret in a scene on, a file of a
//     mount that has one is removed when a command of any session has ended, and when a session has; what a kill would
//     leave is noted before (Options.Unclean).
//  6. Whatever a session's programs do, none is left when the session has ended, and Close
//     returns after that. The first answer after a session was lost says so. Its folders are
//     bounded from its start to its end, and what cannot be counted is beyond the bounds.
//  7. Without a whole sandbox nothing runs.
//
// # Limits
//
// A trap EXIT is heard also when errexit ends the shell. For that the shell must know of it before a script runs: an
// earlier script has set it, or the text of this one has the words trap and EXIT (or 0). Set in another way by the
// script that ends, it says nothing. Where there is such a trap, or such a text, set -x and the traps ERR and DEBUG
// of earlier scripts show the line that runs a script (". /session/N"), too; elsewhere they do not.
//
// # Not here
//
// Which agent may call, and with which script (engine/permit); what holds the programs
// (tools/sandbox); the grammar (tam/toolsxml).
package shell
