package project

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"tavernsim/engine/knowledge"
	"tavernsim/engine/permit"
	"tavernsim/engine/workflow"
	"tavernsim/internal/schema"
	"tavernsim/internal/source"
	"tavernsim/protocol"
	"tavernsim/scenes/load/contexts"
	"tavernsim/tools/toolmock"
)

// Fault is one thing that is wrong, with its place and what to do about it.
type Fault = source.Fault

// Error holds all faults of a project; its kind is invalid.
type Error = source.Error

// Project is a loaded project. It is immutable and safe for concurrent use.
type Project struct {
	Definition Definition
	// Warnings are legal but probably not meant, sorted.
	Warnings []Fault

	profiles  map[string]*Profile
	scenes    map[string]*Scene
	workflows *resolver
	bases     map[string]*knowledge.KnowledgeBase
	panels    map[string]*Panel
	tools     map[string]*Tool
	toolMock  *toolmock.Mock
	servers   map[string]*Server
	services  map[string]*Service
	policy    *permit.Judge
	events    map[string]*schema.Schema
	plugins   map[string]*Plugin
	files     []File
	given     []string // Options.Tools
}

// Load reads and checks the project in fsys. Use an os.Root's FS: it does not
// leave the folder even when somebody swaps a file for a link meanwhile. The
// error is an *Error, or says that the folder itself cannot be read.
func Load(fsys fs.FS, opt Options) (*Project, error) {
	l, err := loaded(fsys, opt)
	if err != nil {
		return nil, err
	}
	l.project.Warnings = l.warns.List()
	if err := l.faults(); err != nil {
		if faults, ok := errors.AsType[*Error](err); ok {
			faults.Warnings = l.project.Warnings
		}
		return nil, err
	}
	l.project.forget()
	for _, p := range protocol.SortedKeys(l.tree.read) {
		l.project.files = append(l.project.files, *l.tree.read[p])
	}
	return l.project, nil
}

// forget drops the trees of the files, which are larger than what was made of
// them and are needed for faults only.
func (p *Project) forget() {
	for _, f := range p.profiles {
		f.doc, f.said = nil, nil
	}
	for _, s := range p.scenes {
		s.doc = nil
	}
	p.workflows.standard = nil
	for _, w := range p.workflows.byID {
		w.doc, w.reported = nil, nil
	}
}

// ID names the project.
func (p *Project) ID() string { return p.Definition.ID }

// SceneIDs lists the scenes, sorted.
func (p *Project) SceneIDs() []string { return protocol.SortedKeys(p.scenes) }

// Scene finds a scene; "" is the default one: default_scene, or the only one.
func (p *Project) Scene(id string) (*Scene, error) {
	if id == "" {
		id = p.Definition.DefaultScene
	}
	ids := p.SceneIDs()
	if id == "" && len(ids) == 1 {
		id = ids[0]
	}
	if s, ok := p.scenes[id]; ok {
		return s, nil
	}
	if id == "" {
		return nil, protocol.Errorf(protocol.KindInvalid,
			"project %s: it has %d scenes and no default_scene; name one of %s", p.ID(), len(ids), strings.Join(ids, ", "))
	}
	return nil, protocol.Errorf(protocol.KindNotFound,
		"project %s: no scene %q; it has %s", p.ID(), id, strings.Join(ids, ", "))
}

// ShutdownGrace is how long services and MCP servers of a scene may take to end by themselves.
func (p *Project) ShutdownGrace(scene string) time.Duration {
	if s, err := p.Scene(scene); err == nil && s.Definition.Simulation.Limits.ShutdownGrace > 0 {
		return s.Definition.Simulation.Limits.ShutdownGrace.Std()
	}
	return 5 * time.Second
}

// ProfileIDs lists the profiles, sorted.
func (p *Project) ProfileIDs() []string { return protocol.SortedKeys(p.profiles) }

// Profile finds a profile by id.
func (p *Project) Profile(id string) (*Profile, bool) {
	f, ok := p.profiles[id]
	return f, ok
}

// WorkflowIDs lists the workflows, sorted.
func (p *Project) WorkflowIDs() []string { return protocol.SortedKeys(p.workflows.byID) }

// Workflow finds a workflow by id or path; see the package doc.
func (p *Project) Workflow(ref string) (*Workflow, bool) { return p.workflows.find(ref) }

// KnowledgeBaseIDs lists the knowledge bases, sorted.
func (p *Project) KnowledgeBaseIDs() []string { return protocol.SortedKeys(p.bases) }

// KnowledgeBase finds a knowledge base by id. What it points to is shared:
// read-only.
func (p *Project) KnowledgeBase(id string) (*knowledge.KnowledgeBase, bool) {
	kb, ok := p.bases[id]
	return kb, ok
}

// Panel finds a panel definition by id.
func (p *Project) Panel(id string) (*Panel, bool) {
	panel, ok := p.panels[id]
	return panel, ok
}

// EventTypes lists the event types that have a schema, sorted.
func (p *Project) EventTypes() []string { return protocol.SortedKeys(p.events) }

// CheckEvent validates a payload against the schema of its event type. A type
// without a schema takes every payload.
func (p *Project) CheckEvent(eventType string, payload any) error {
	s, ok := p.events[eventType]
	if !ok {
		return nil
	}
	if err := s.Fits(payload); err != nil {
		return protocol.Errorf(protocol.KindInvalid, "event %s: payload: %w", eventType, err)
	}
	return nil
}

// Model gives the bytes of a file in models/, or of any file that a definition
// names as a model.
func (p *Project) Model(file string) ([]byte, bool) {
	i, ok := slices.BinarySearchFunc(p.files, file, func(f File, s string) int { return strings.Compare(f.Path, s) })
	if !ok {
		return nil, false
	}
	return slices.Clone(p.files[i].data), true
}

// Rooms are those of its models, by their names; "" is the model of the file def.
func (p *Project) Rooms(def string) map[string]workflow.Room {
	files := map[string][]byte{}
	for _, f := range p.files {
		if isModelFile(f.Path) {
			files[f.Path] = f.data
		}
	}
	return contexts.Of(files, def)
}

// ModelFiles lists the paths of the model files in models/, and those of the other files
// below it, sorted.
func (p *Project) ModelFiles() (files, others []string) {
	for _, f := range p.files {
		if isModelFile(f.Path) {
			files = append(files, f.Path)
		} else if strings.HasPrefix(ownPath(f.Path), modelsDir+"/") {
			others = append(others, f.Path)
		}
	}
	return files, others
}

func isModelFile(file string) bool {
	return path.Dir(ownPath(file)) == modelsDir && slices.Contains(source.Extensions(), path.Ext(file))
}

// Files lists everything that was read, sorted by path.
func (p *Project) Files() []File { return slices.Clone(p.files) }

// Hash is the SHA-256, in hex, over the paths and hashes of all files read: two
// projects with equal hashes have equal inputs.
func (p *Project) Hash() string {
	h := sha256.New()
	for _, f := range p.files {
		fmt.Fprintf(h, "%s %d %q\n", f.SHA256, f.Size, f.Path)
	}
	return hex.EncodeToString(h.Sum(nil))
}
