package project

import (
	"embed"
	"io/fs"
	"path"
	"strings"
)

//go:embed std/*.yaml
var standardFiles embed.FS

// StandardIDs are the workflows that come with the program. A project uses them by
// their ids, and a file of its own at the same path has precedence. One that is used is
// a file of the project: its copy has it, so a run is decided again by the workflow that
// it began with.
func StandardIDs() (ids []string) {
	entries, _ := fs.ReadDir(standardFiles, standardDir) // embedded: it is there
	for _, e := range entries {
		ids = append(ids, standardDir+"/"+strings.TrimSuffix(e.Name(), path.Ext(e.Name())))
	}
	return ids
}

const standardDir = "std"

// Standard is the file of a workflow that comes with the program.
func Standard(id string) ([]byte, error) { return standardFiles.ReadFile(id + ".yaml") }

// standard loads one of them.
func (l *loader) standard(stem string) (*Workflow, bool) {
	if !strings.HasPrefix(stem, standardDir+"/") {
		return nil, false
	}
	if _, err := Standard(stem); err != nil {
		return nil, false
	}
	l.loadWorkflow(workflowsDir + "/" + stem + ".yaml")
	w, ok := l.project.workflows.byStem[stem]
	return w, ok
}

// open opens a file of the project, or one that comes with the program.
func (t *tree) open(p string) (fs.File, error) {
	f, err := t.fsys.Open(p)
	if err == nil || !strings.HasPrefix(p, workflowsDir+"/"+standardDir+"/") {
		return f, err
	}
	if own, ok := standardFiles.Open(strings.TrimPrefix(p, workflowsDir+"/")); ok == nil {
		return own, nil
	}
	return nil, err
}
