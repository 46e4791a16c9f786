// Package tool is the atomic tools of agents (agent architecture §2.1.4) as their
// callers see them: ids, descriptions, parameters. What they do is in engine/agent.
//
// [Catalog] is the one list of them. [Bind] gives the parameters of a text call
// their types, [Params] reads them and says everything that is wrong at once.
package tool
