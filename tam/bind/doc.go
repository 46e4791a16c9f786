// Package bind fits the parameters of a call to what a tool or a skill declares.
//
// The text grammars know no tools: every value they give is a text and every
// name is normalised. Models that make native calls misspell names and types,
// too. The caller finds the tool of a call ([FindTool]) and gives the call and the
// tool's schema to [Bind]. Bind returns typed values under the names of the schema,
// or an error that the author of the call can act on.
//
// # What you hold and owe
//
// A [Schema] is made from a JSON Schema value by [SchemaOf], or of properties by
// [NewSchema], and may be kept. Bind does not validate: patterns, ranges and
// enumerations are for the tool.
//
// # Promises
//
//  1. The answer depends on the arguments alone; nothing is changed. A call that
//     fits as it is gets its own parameters back.
//  2. A text for a parameter that takes text stays as it is, byte for byte,
//     unless a type hint says otherwise.
//  3. The reading that guesses least wins.
//  4. A value that cannot be read is an error with the parameter, the received
//     text (cut) and the expected type; it is never passed on as text.
//  5. Nothing of a call is dropped silently, except a comment, and a parameter that all
//     steps of a block share and this tool does not know.
//
// # Not here
//
// Execution, authorisation, defaults of the schema, @{…} references, and the
// resources behind uri_ parameters, which are refused.
package bind
