// Package operator opens what belongs to the operator and never to a project: grants,
// secrets, answers to questions and values of options; and, with them, the tools of a project
// for calls outside of a run.
//
// [Of] and [OfRun] say where these files must not lie. [Tools.Open] makes a [Set]; you must
// call its Close.
//
// # Not here
//
// The files themselves (tools/grants, tools/secrets, tools/plugin); how calls are carried out
// (scenes/tooling).
package operator
