// Package nodes holds the node kinds that every project has: text, data,
// decisions, chance, the model and the tools.
//
// You get them as a map of your own from [Standard], add your kinds to it and
// hand it to workflow.Compile. docs/formats/workflow.md describes each kind with
// an example; a test runs the examples.
//
// # Promises
//
//  1. Bodies are immutable: one plan serves any number of runs at once.
//  2. What a node gives depends on its inputs, its configuration, the run's time
//     and stream of chance, and the answers of the host alone.
//  3. A template, expression, path or pattern that does not compile is a fault of
//     the definition, with the node and the field, never an error of a run.
//
// # Not here
//
// GroupInput, GroupOutput, SubWorkflow and Loop: the engine runs those itself.
// Which tools exist and who may call them: a call node asks for a tool by its
// id, and the host judges.
//
// The package uses engine/template and engine/expr, the languages of templates
// and conditions, and nodes/lenient for the JSON that models write.
package nodes
