// Package standard holds the workflows that come with the program, and warnings about
// prompts that a compiler cannot give.
//
// A project uses these workflows by their ids (std/core, std/reflect). The loader copies
// a used one into the project, so that a run is decided again by the
// workflow that it began with.
package standard

import (
	"embed"
	"io/fs"
	"path"
	"strings"
)

//go:embed std/*.yaml
var files embed.FS

// Dir is the folder of the workflows, within workflows/ of a project.
const Dir = "std/"

// IDs lists the workflows.
func IDs() (ids []string) {
	entries, _ := fs.ReadDir(files, path.Clean(Dir)) // embedded: it is there
	for _, e := range entries {
		ids = append(ids, Dir+strings.TrimSuffix(e.Name(), path.Ext(e.Name())))
	}
	return ids
}

// Open opens the file of a workflow: std/core.yaml.
func Open(name string) (fs.File, error) { return files.Open(name) }

// Read reads the file of a workflow.
func Read(id string) ([]byte, error) { return files.ReadFile(id + ".yaml") }
