// Package project loads a project folder and checks it as a whole.
//
// A project is a tree of files: project.json, agent_profiles/, scenes/,
// workflows/, knowledgebases/, models/, panels/ (agent architecture §2.2,
// §3.1.1, §4, appendices A and B). [Load] reads it through an fs.FS, decodes
// every definition strictly, follows every reference, compiles every
// expression, schema and workflow, and validates the initial private state of
// every agent. It gives a [Project] or an *[Error] with all faults, each with
// file, line and column. What is legal but probably not meant is a warning.
//
// You hold an immutable Project; share it freely. [Scene.Agents] turns the
// agent_instances of a scene into the agents themselves, one at a time, so that
// a hundred thousand of them cost what you keep.
//
// # Promises
//
//  1. All faults of a project at once, sorted by file, line and column, at most
//     [source.MaxShown] shown and the rest counted. Bad input never panics.
//  2. Equal files give an equal Project, equal faults and an equal [Project.Hash].
//  3. References are canonical after Load: the definitions of a Project name
//     workflows by id and goals by knowledge base id, whatever their files say.
//  4. Nothing outside the folder is read: no link is followed, no path with ".."
//     or an absolute one is accepted, and a schema reference reaches files of
//     the project only.
//  5. [Project.CopyTo] writes the bytes that were read, not what the files hold
//     by then; loading the copy gives the same Project.
//  6. Sizes are bounded by [Limits].
//
// # How a workflow is named
//
// By its id, or by its path with or without "workflows/" and the ending. An id
// wins over a path; an id that is another workflow's path is a fault.
//
// # How state is merged (§2.3.1)
//
// The profile's initial_private_state_values, then the instance's override: a
// field at the top of the override replaces that field whole, nothing is merged
// below it. Then `default` values of the schema fill properties that are still
// missing, also inside objects that are there. The result must satisfy the schema.
//
// # Not here
//
// Running anything; the scripted model's file format (its provider reads the
// files that definitions name; others in models/ are only copied); panel
// definitions beyond their id.
package project
