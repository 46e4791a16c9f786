// Package operator opens the files of the operator, which never belong to a project: grants,
// secrets, answers to questions and values of options. With them it opens the tools of a project
// for calls outside of a run.
//
// [Of] and [OfRun] name the folders where these files must not be. [Tools.Open] makes a [Set]; you must
// call its Close.
//
// # Promises
//
//  1. A call that begins has the grants that the operator's file has then, as a whole: what is taken away, or given,
//     counts for the next call. While the file has a fault, no tool may be called.
//
// # Not here
//
// The files themselves (tools/grants, tools/secrets, tools/plugin); how calls are carried out
// (scenes/tooling).
package operator
