// Package shell carries out the tools command, input and ctrl of ToolsXML: a shell for each
// agent, in a terminal and in the sandbox, that keeps its folder and its variables.
//
// The owner makes an [Executor] by [New] for one scene and calls Close after it. A session
// starts with the first command of an agent. It ends when its shell does, when nobody calls
// it for long, when a call of it is cancelled, and with the Executor.
//
// # Promises
//
//  1. A script is one file that the shell sources. Its changes of the shell stay, its input
//     is the terminal, and input that programs leave unread never becomes a command.
//     It finds in $? how the script before it ended. A script that was not read is an error, whatever
//     the names mean that the shell reads it by.
//  2. A call answers when its command has ended, when a program waits for input, or after
//     its time; then the command continues, and input and ctrl reach it. While one runs,
//     another command is refused.
//  3. A marker that no program can know ends a command; text that resembles it is
//     output. A shell that does not write the marker is ended.
//  4. An output has no escape sequence and no control character, and shows each line in its
//     final state (tools/shell/screen). It is bounded; further output is read, counted and dropped.
//  5. Secrets come as variables of the shell, quoted, for one command; no value is in a
//     script or in the environment of a program that was not given it. Outputs are masked,
//     also across two answers, or withheld whole (Options.Withheld). From the first secret in a scene on, a file of a
//     mount that has one is removed when a command of any session has ended, and when a session has; what a kill would
//     leave is noted before (Options.Unclean).
//  6. When a session has ended, none of its programs is left, whatever they did, and Close
//     returns after that. The first answer after a lost session says that it was lost. Its folders are
//     bounded from its start to its end; a folder that cannot be measured exceeds the bounds.
//  7. Without a complete sandbox nothing runs.
//
// # Limits
//
// The output of a trap EXIT is shown also when errexit ends the shell. For that the shell must know of the trap before a
// script runs: an earlier script has set it, or the text of this one has the words trap and EXIT (or 0). The output of a
// trap that the ending script set in another way is lost. With such a trap, or such a text, set -x and the traps ERR and DEBUG
// of earlier scripts also show the line that runs a script (". /session/N"); otherwise they do not. The traps DEBUG and RETURN
// run for the lines around a script, too.
//
// # Not here
//
// Which agent may call, and with which script (engine/permit); the confinement of the programs
// (tools/sandbox); the grammar (tam/toolsxml).
package shell
