// Package prompt makes the prompt of a turn out of what the agent knows, within the
// context of its model.
//
// A prompt is a list of sections (see [Sections]), from those that stay the same from turn
// to turn to those that change in every turn, so that an endpoint that caches what it has
// read reads only the rest. A section is a list of units: an entry, a message, a goal. A
// unit is kept or dropped whole. [Assemble] drops units until the prompt fits its [Budget]
// and says of every unit whether it was kept, and why not. [Tokens] counts by a table: the
// same text has the same count on every machine, because what is dropped is a decision.
//
// # Promises
//
//  1. The prompt depends on the arguments alone.
//  2. A prompt is never longer than its budget, by the table.
//  3. What may not be dropped is there, or there is no prompt but an error that names
//     the sizes.
//  4. The trace names every unit, once, in the order of the prompt.
//
// # Not here
//
// Templates of the texts and the node (engine/workflow/nodes); what a server counts (llm).
package prompt
