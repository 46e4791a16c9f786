// Package served offers the tools, runs and views of a project to clients of the Model Context
// Protocol.
//
// # Promises
//
//  1. The tools of the project are those of the profile that the operator names, or all;
//     calls pass the same steps as in a scene.
//  2. Runs, views and checks are commands of simd: the client gets a refusal
//     in the words of the command. A call is made only with parameters that fit the schema that clients are
//     told. They become flags, and none becomes a path: a run is named by its id within one folder.
//  3. At most [MaxRuns] runs go on at a time; when the server ends it interrupts them, and they
//     can be resumed.
//  4. [Shown] lists a tool of the project: with the description that models get, and
//     with its outputSchema if that describes an object and refers to no other file.
//
// # Not here
//
// The protocol (tools/mcp/serve) and the commands (cmd/simd).
package served
