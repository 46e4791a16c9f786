// Package plugin holds the manifests of plugins: the contents of the files plugins/NAME/plugin.yaml
// (docs/formats/plugin.md), and the values of their options.
//
// The caller decodes such a file into a [Manifest] and reports the faults that
// [Manifest.Check] finds. A Manifest without faults is shared and read-only. [Resolve] combines the values of
// options from their layers, and [Overlay] shows folders of plugins as a part of
// a project. [New] makes the files of a new plugin.
//
// # Promises
//
//  1. Check names every fault with its path in the file. A feature that this
//     version does not support is a fault that says so.
//  2. A value of a later layer has precedence: default, project, scene, operator's file, environment,
//     flag. A value that its option does not take is an error that names the layer.
//  3. A secret option takes its value only from the operator's file or the environment.
//     No environment variable sets two options, and secret values of options are not stored.
//
// # Not here
//
// The contents of a plugin: its files are read like those of a project (scenes/load/project).
package plugin
