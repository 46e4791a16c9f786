// Package manifest holds the definitions of tools: the contents of the files
// tools/NAME.tool.yaml of a project (docs/formats/tool.md).
//
// The caller decodes such a file into a [Tool] and reports the faults that [Tool.Check] finds.
// A Tool without faults is shared and read-only. [Tool.Request] makes the request of an
// http tool out of the parameters of a call.
//
// # Promises
//
//  1. Check names every fault with its path in the file.
//  2. A value of a parameter never changes the address beyond its place: it is
//     escaped in path and query, and neither scheme, host nor fragment can have one.
//  3. A request has only the parameters that the definition names. Without a
//     defined body, the body has the remaining parameters.
//
// # Not here
//
// Files and their positions; JSON Schemas; the execution of a call.
package manifest
