// Package project loads a project folder and checks it as a whole.
//
// A project is a tree of files: project.json, agent_profiles/, scenes/,
// workflows/, knowledgebases/, models/, tools/, panels/ (agent architecture §2.2,
// §3.1.1, §4, appendices A and B). [Load] reads it through an fs.FS, decodes
// every definition strictly, follows every reference, compiles every
// expression, schema and workflow, and validates the initial private state of
// every agent. It returns a [Project] or an *[Error] with all faults, each with
// file, line and column. A legal definition that is probably a mistake gives a
// warning.
//
// You hold an immutable Project and may share it. [Scene.Agents] turns the
// agent_instances of a scene into the agents themselves, one at a time, so that
// the memory for a hundred thousand of them depends on what you keep.
//
// # Promises
//
//  1. All faults of a project are reported at once, sorted by file, line and
//     column; at most [source.MaxShown] are shown and the rest counted. Bad input
//     never causes a panic.
//  2. Equal files give an equal Project, equal faults and an equal [Project.Hash].
//  3. References are canonical after Load: the definitions of a Project name
//     workflows by id and goals by knowledge base id, whatever their files say.
//  4. Load reads nothing outside the folder: it follows no link, accepts no path
//     with ".." and no absolute one, and a schema reference reaches only files of
//     the project.
//  5. [Project.CopyTo] writes the bytes that were read, even if the files have
//     changed since; loading the copy gives the same Project.
//  6. Sizes are bounded by [Limits].
//
// # The name of a workflow
//
// A reference uses the id, or the path with or without "workflows/" and the file
// extension. An id has precedence over a path; an id that is another workflow's
// path is a fault.
//
// # The initial state (§2.3.1)
//
// The state begins with the profile's initial_private_state_values. Then a field at
// the top of the instance's override replaces that field as a whole; nothing is
// merged below it. Then `default` values of the schema fill properties that are still
// missing, also inside existing objects. The result must satisfy the schema.
//
// # Not here
//
// Running a scene; the file format of the scripted model (its provider reads the
// files that definitions name; other files in models/ are only copied); panel
// definitions beyond their id.
package project
