// Package tool describes the atomic tools of agents (agent architecture §2.1.4) to
// their callers: ids, descriptions, parameters. Engine/agent carries them out.
//
// [Catalog] is the only list of them. [Bind] gives the parameters of a text call
// their types; [Params] reads them and reports all their errors at once.
package tool
