// Package plugin holds the manifests of plugins: what a file plugins/NAME/plugin.yaml says
// (docs/formats/plugin.md), and which values its options have.
//
// The caller decodes such a file into a [Manifest] and reports the faults that
// [Manifest.Check] finds. A Manifest without faults is shared and read-only. [Resolve] puts the values of
// options together out of their layers, and [Overlay] shows folders of plugins as a part of
// a project. [New] makes the files of a new plugin.
//
// # Promises
//
//  1. Check names every fault with the steps to its place in the file, and a part that this
//     version does not carry out is a fault that says so.
//  2. A value of a later layer wins: default, project, scene, operator's file, environment,
//     flag. A value that its option does not take is an error that names the layer.
//  3. A secret option has a value of the operator's file or the environment only.
//     No variable of the environment gives two options, and a value that is a secret is kept
//     for no option.
//
// # Not here
//
// What a plugin offers: its files are read like those of a project (scenes/load/project).
package plugin
