// Package manifest holds the definitions of tools: what a file tools/NAME.tool.yaml of a
// project says (docs/formats/tool.md).
//
// The caller decodes such a file into a [Tool] and reports the faults that [Tool.Check] finds.
// A Tool without faults is shared and read-only. [Tool.Request] makes the request of an
// http tool out of the parameters of a call.
//
// # Promises
//
//  1. Check names every fault with the steps to its place in the file.
//  2. A value of a parameter never becomes a part of the address beyond its place: it is
//     escaped in path and query, and neither scheme, host nor fragment can have one.
//  3. A request has what the definition says and nothing of a parameter that it does not
//     name, except a body that is not written: then it is the parameters that are left.
//
// # Not here
//
// Files and their positions; JSON Schemas; carrying a call out.
package manifest
