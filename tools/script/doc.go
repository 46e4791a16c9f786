// Package script carries out tools that are programs of a project, and code that agents
// write: each call is one process in a sandbox (tools/sandbox), in the profile strict, or in net
// if the tool names servers (tools/proxy).
//
// # Promises
//
//  1. No shell reads the command, and no parameter is a part of it: the parameters come as
//     one JSON object on the standard input.
//  2. Exit code 0 is success, whatever the program wrote to the standard error. Its
//     output is a JSON value, else a text.
//  3. It starts with the files that the project was loaded with, even if they have changed
//     since; its folder for writing is empty at the start and removed after the call.
//  4. Without a complete sandbox nothing runs, and the error names what is missing.
//  5. Code runs as a script does, for every caller. Its exit code is a part of the output.
//  6. The files that a program leaves in its folder are artifacts of the result: at most 64,
//     and 16 MiB together; the result says how many are left out. Files whose names begin with a dot
//     are ignored.
//  7. After Close no process is left.
//
// # Not here
//
// Time-outs and repetitions (tools); the confinement of the program (tools/sandbox).
package script
