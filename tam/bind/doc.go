// Package bind fits the texts of a call to the parameters that a tool declares.
//
// The grammar package knows no tools: every value it gives is a text and every
// name is normalised. Once the executor has found the tool ([FindTool]) it hands
// the call and the tool's parameter schema to [Bind], and gets typed values under
// the names of the schema, or problems that the author of the call can act on.
//
// # What you hold and owe
//
// A [Schema] is made from a JSON Schema value by [SchemaOf] and may be kept.
// Bind does not validate: patterns, ranges and enumerations are for the
// validator that runs after it. Parameters given by URI are not fetched here;
// those that remain in [Bound.URIs] are the executor's to resolve.
//
// # Promises
//
//  1. The answer depends on the arguments alone; nothing is changed.
//  2. A text for a parameter that takes text stays as it is, byte for byte,
//     unless a type hint says otherwise.
//  3. Every conversion is listed with its cost; the cheapest reading wins.
//  4. A value that cannot be read is a problem with the parameter, the received
//     text (cut) and the expected type; it is never passed on as text.
//
// # Not here
//
// Execution, authorisation, defaults of the schema, @{…} references.
package bind
