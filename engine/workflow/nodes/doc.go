// Package nodes contains the standard node kinds: text, data, decisions, chance,
// the model and the tools.
//
// [Standard] returns them as a map that you own; add your kinds to it and pass it
// to workflow.Compile. docs/formats/workflow.md describes each kind with an
// example; a test runs the examples.
//
// # Promises
//
//  1. Bodies are immutable: one plan serves any number of runs at once.
//  2. The output of a node depends on its inputs, its configuration, the run's time
//     and stream of chance, and the answers of the host alone.
//  3. A template, expression, path or pattern that does not compile is a fault of
//     the definition, with the node and the field, never an error of a run.
//
// # Not here
//
// GroupInput, GroupOutput, SubWorkflow and Loop, which the engine runs itself.
// The list of tools and their permissions: a call node requests a tool by its
// id, and the host decides.
//
// The package uses engine/template and engine/expr, the languages of templates
// and conditions, and internal/lenient for the JSON that models write.
package nodes
