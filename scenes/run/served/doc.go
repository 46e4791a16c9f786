// Package served is what simd offers to clients of the Model Context Protocol: the tools of
// a project, runs of it, and what came of them.
//
// # Promises
//
//  1. The tools of the project are those of the profile that the operator names, or all;
//     calls pass the same steps as in a scene.
//  2. Runs, views and checks are commands of simd: what a command refuses, the client is told
//     in the command's words. Only what is listed here becomes a flag, and no parameter
//     becomes a path: a run is named by its id within one folder.
//  3. At most [MaxRuns] runs go on at a time; when the server ends they are interrupted, and
//     can be resumed.
//  4. A tool of the project is listed as [Shown] says it: described as models are told of it, and
//     with its outputSchema if that is of an object and refers to no other file.
//
// # Not here
//
// The protocol (tools/mcp/serve) and the commands (cmd/simd).
package served
