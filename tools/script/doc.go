// Package script carries out tools that are programs of a project, and code that agents
// write: each call is one process in a sandbox (tools/sandbox), in the profile strict, or in net
// if the tool names servers (tools/proxy).
//
// # Promises
//
//  1. No shell reads the command, and no parameter is a part of it: the parameters come as
//     one JSON object on the standard input.
//  2. The program ends ok with exit code 0, whatever it wrote to the standard error. Its
//     output is a JSON value, else a text.
//  3. It starts with the files that the project was loaded with, not with those that are
//     there now; its folder for writing is empty and gone after the call.
//  4. Without a whole sandbox nothing runs, and the error names what is missing.
//  5. Code runs as a script does, for every caller. Its exit code is a part of the output.
//  6. The files that a program leaves in its folder are artifacts of the result: at most 64,
//     and 16 MiB together; how many are left out is said. Files whose names begin with a dot
//     are the program's own.
//  7. After Close no process is left.
//
// # Not here
//
// Time-outs and repetitions (tools); what holds the program (tools/sandbox).
package script
