// Package prompt makes the prompt of a turn from what the agent knows, within the
// context of its model.
//
// A prompt is a list of sections (see [Sections]). Sections that stay the same from turn
// to turn come first, so that an endpoint with a cache reads only the rest.
// A section is a list of units: an entry, a message, a goal. A
// unit is kept or dropped whole. [Assemble] drops units until the prompt fits its [Budget]
// and says for every unit whether it was kept, and why not. [Tokens] counts by a table: the
// same text has the same count on every machine, because dropping is a decision of the run.
//
// # Promises
//
//  1. The prompt depends on the arguments alone.
//  2. A prompt is never longer than its budget, by the table.
//  3. The prompt has every unit that may not be dropped. If they do not fit, there is an
//     error that names the sizes.
//  4. The trace names every unit, once, in the order of the prompt.
//
// # Not here
//
// Templates of the texts and the node (engine/workflow/nodes); what a server counts (llm).
package prompt
