// Package rundir makes, opens, copies, checks and repairs run directories. A run
// directory contains a manifest, the copied inputs, the journals and the summary.
//
// [Make] makes one, [Open] opens one for reading, [Fork] makes one from another,
// [Replay] folds one again, [Examine] and [Repair] find and repair damage. You must
// call [Opened.Close].
//
// # Promises
//
//  1. A directory with a manifest is a run: the manifest is written last, and every
//     file is written completely or not at all.
//  2. An opened directory has the original inputs of the run, byte for byte.
//  3. [Open], [Replay] and [Examine] write nothing.
//
// # Not here
//
// Running a scene (scenes/run/runner): this package imports no actor and no model.
package rundir

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"

	"tavernsim/engine/agenda"
	"tavernsim/engine/budget"
	"tavernsim/llm/price"
	"tavernsim/llm/replay"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/run/rundir/parts"
	"tavernsim/tools/ownfile"
	"tavernsim/tools/plugin"
)

// The run directory (docs/formats/run-directory.md).
const (
	JournalDir  = parts.Journal // holds the store
	FilesDir    = parts.Files   // holds the mounts of the scenes: their own, and those of their agents
	latestLink  = "latest"
	defaultRuns = "runs"
)

// ManifestVersion is raised when an older program could not resume the run.
const ManifestVersion = 3

// Manifest says what a run is made of: enough to resume it.
type Manifest struct {
	Version     int                         `json:"version"`
	Run         string                      `json:"run"`
	Created     time.Time                   `json:"created"`
	Program     string                      `json:"program"` // version of simd
	Go          string                      `json:"go"`
	Args        []string                    `json:"args,omitempty"`
	Project     string                      `json:"project"`
	ProjectHash string                      `json:"project_hash"`
	Files       []File                      `json:"files"`
	Scenes      []string                    `json:"scenes"`
	Seeds       map[string]uint64           `json:"seeds"`
	Clocks      map[string]agenda.ClockKind `json:"clocks"`
	Agents      int                         `json:"agents,omitempty"`
	For         protocol.Duration           `json:"for,omitempty"`
	Ticks       int64                       `json:"ticks,omitempty"`
	Until       string                      `json:"until,omitempty"`
	Budget      *budget.Budget              `json:"budget,omitempty"`      // of all scenes together; each has an equal share
	Interactive bool                        `json:"interactive,omitempty"` // people can be asked
	Raised      bool                        `json:"raised,omitempty"`      // the budget was given when the run was resumed, and takes the place of those of the scenes
	AtEndpoints map[string]*budget.Budget   `json:"endpoint_budgets,omitempty"`
	Prices      map[string]*price.Price     `json:"prices,omitempty"`    // of models at endpoints when it began, by the name of the model's file; null = not known
	Model       string                      `json:"model,omitempty"`     // that replaced the scenes'
	Endpoints   []string                    `json:"endpoints,omitempty"` // of the user, that its models ask; none = scripts answered
	Answers     int                         `json:"answers,omitempty"`   // recorded, in AnswersFile
	OnMiss      string                      `json:"on_miss,omitempty"`   // "fail" = they alone answer
	Durability  persistence.Durability      `json:"durability"`
	BatchFacts  int                         `json:"batch_facts,omitempty"`
	SnapFacts   int64                       `json:"snapshot_facts,omitempty"`
	SnapEvery   protocol.Duration           `json:"snapshot_every,omitempty"`
	SnapBytes   int64                       `json:"snapshot_bytes,omitempty"`
	Keep        string                      `json:"keep,omitempty"`
	External    []string                    `json:"external,omitempty"`       // names of its host's tools, sorted
	Tools       string                      `json:"tools,omitempty"`          // mock, replay or off: what carried out the tools of its project; none = they themselves
	Folder      string                      `json:"project_folder,omitempty"` // in which its project lay, an absolute path without links
	Mark        string                      `json:"project_mark,omitempty"`   // of the operator's file of grants, for folder and inputs
	Grants      []Grants                    `json:"grants,omitempty"`         // that its tools began with, and others with which it went on
	Given       plugin.Given                `json:"plugin_config,omitempty"`  // what the operator gave to options of plugins, without secrets
	Broken      []string                    `json:"broken_plugins,omitempty"` // of its project, which were off
	Editions    []Edition                   `json:"editions,omitempty"`       // of its plugins, that reloads took
	Middleware  bool                        `json:"middleware,omitempty"`     // its host had some: it is code, and not here
	Fork        *Forked                     `json:"fork,omitempty"`           // where it came from
	Began       string                      `json:"began,omitempty"`          // of a fork: the run in which its scenes began
	Sharers     int                         `json:"sharers,omitempty"`        // of a fork: the scenes that had equal shares of AtEndpoints; 0 = its own
}

// Grants are what the tools of a run were granted that asked for something, by id, from a
// time on.
type Grants struct {
	At    time.Time           `json:"at"`
	Tools map[string][]string `json:"tools"`
}

// File is one input.
type File struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
}

// Make makes a run directory with everything but the journal. The manifest comes
// last: a directory with one is a run. Without dir it is one below runs/; projectDir
// is the folder of the project, "" if it came from none. answers are recorded ones that
// the run may use; nil = none. more write more files, before the manifest. What a call that fails
// has made is gone; undo removes what one has made that did not fail.
func Make(dir, projectDir string, m *Manifest, p *project.Project, answers *replay.Answers, more ...func(dir string) error) (made string, undo func() error, err error) {
	name := m.Run
	for n := 2; ; n++ {
		made, undo, err = makeIn(dir, projectDir, m, p, answers, more)
		if dir != "" || protocol.KindOf(err) != protocol.KindConflict || n > maxNames {
			return made, undo, err
		}
		m.Run = fmt.Sprintf("%s-%d", name, n) // another run has begun in the same millisecond
	}
}

// maxNames bounds the names that a run below runs/ tries.
const maxNames = 100

func makeIn(dir, projectDir string, m *Manifest, p *project.Project, answers *replay.Answers, more []func(dir string) error) (made string, undo func() error, err error) {
	latest := ""
	if dir == "" {
		runs := runsOf(projectDir)
		dir, latest = filepath.Join(runs, m.Run), filepath.Join(runs, latestLink)
	}
	if in := within(projectDir, dir); in != "" && slices.Contains(project.Folders(), in) {
		return "", nil, protocol.Errorf(protocol.KindConflict, "run directory %s: it is in the folder %s of the project, whose files are read as definitions; name another with --out", dir, in)
	}
	restore, err := parts.Free(dir)
	if err != nil {
		return "", nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", nil, unwritable(dir, err, "name another with --out")
	}
	if err := Writable(dir, "name another with --out"); err != nil {
		return "", nil, errors.Join(err, restore())
	}
	// Of two starts at once one has this folder, and undoes what it made.
	if err := p.CopyTo(filepath.Join(dir, parts.Inputs)); errors.Is(err, fs.ErrExist) || protocol.KindOf(err) == protocol.KindConflict {
		return "", nil, protocol.Errorf(protocol.KindConflict, "run directory %s: another run begins there: %w", dir, err)
	} else if err != nil {
		_ = os.Remove(dir) // unless somebody has put something there
		return "", nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, restore())
		}
	}()
	if answers != nil {
		more = append(more, func(dir string) (err error) {
			m.Answers, err = writeAnswers(dir, answers.Terms, answers.Each)
			return err
		})
	}
	for _, write := range more {
		if err := write(dir); err != nil {
			return "", nil, err
		}
	}
	if err := writeManifest(dir, m); err != nil {
		return "", nil, err
	}
	if latest == "" {
		return dir, restore, nil
	}
	before, _ := os.Readlink(latest)
	link(latest, m.Run)
	return dir, func() error { link(latest, before); return restore() }, nil
}

// link lets a link lead somewhere else; to "" = nowhere. It is a convenience: a file system without
// links does without.
func link(name, to string) {
	_ = os.Remove(name)
	if to != "" {
		_ = os.Symlink(to, name)
	}
}

// runsOf is where run directories go of which none is named: below the current
// folder, or below the project when the current folder is a part of it.
func runsOf(projectDir string) string {
	if in := within(projectDir, "."); in == "" || in == "." {
		return defaultRuns
	}
	return filepath.Join(projectDir, defaultRuns)
}

// within is the folder of a project, at its top, in which a path lies; "." is the
// project itself, "" is outside of it.
func within(projectDir, path string) string {
	if projectDir == "" {
		return ""
	}
	from, err := filepath.Abs(projectDir)
	to, bad := filepath.Abs(path)
	rel, far := filepath.Rel(from, to)
	if errors.Join(err, bad, far) != nil {
		return ""
	}
	top, _, _ := strings.Cut(filepath.ToSlash(rel), "/")
	if top == ".." {
		return ""
	}
	return top
}

// Writable refuses a folder that cannot be written, before anything depends on
// it; the error gives the advice.
func Writable(dir, advice string) error {
	if err := tryWrite(dir); err != nil {
		return unwritable(dir, err, advice)
	}
	return nil
}

// tryWrite finds out whether a folder can be written.
func tryWrite(dir string) error {
	f, err := os.CreateTemp(dir, parts.Trial)
	if err != nil {
		return err
	}
	_, err = f.WriteString("simd")
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}

func unwritable(dir string, err error, advice string) error {
	kind := protocol.KindTransient
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		kind = protocol.KindDenied
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		kind, advice = protocol.KindLimit, "make room on the disk, or "+advice
	}
	return protocol.Errorf(kind, "run directory %s: it cannot be written: %w: nothing was started; %s", dir, err, advice)
}

// Files lists the inputs of a project as a manifest does.
func Files(p *project.Project) (list []File) {
	for _, f := range p.Files() {
		list = append(list, File{Path: f.Path, SHA256: f.SHA256, Size: int64(f.Size)})
	}
	return list
}

// Name is what a run of these scenes is called.
func Name(created time.Time, scenes []string) string {
	name := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || strings.ContainsRune(`/\`, r) {
			return '_'
		}
		return r
	}, strings.Join(scenes, "+"))
	return created.Format("20060102-150405.000") + "-" + strings.ToValidUTF8(name[:min(len(name), maxName)], "")
}

// maxName bounds the part of a run's name that its scenes give.
const maxName = 200

// ReadManifest reads the manifest of a run directory.
func ReadManifest(dir string) (*Manifest, error) {
	data, err := ownfile.ReadAll(filepath.Join(dir, parts.Manifest), ownfile.MaxFile)
	switch {
	case err != nil && parts.Begun(dir):
		return nil, protocol.Errorf(protocol.KindNotFound, "%s is not a run directory: it has only the beginning of one, without its manifest; remove it and begin again", dir)
	case err != nil:
		return nil, protocol.Errorf(protocol.KindNotFound, "%s is not a run directory: %w", dir, err)
	}
	m := &Manifest{}
	if err := unseal(data, m); err != nil {
		return nil, protocol.Errorf(protocol.KindCorrupt, "%s: %w: bring it back from a copy", filepath.Join(dir, parts.Manifest), err)
	}
	maps.DeleteFunc(m.AtEndpoints, func(_ string, b *budget.Budget) bool { return b == nil }) // null
	if m.Version > ManifestVersion || m.Version < 1 {
		return nil, protocol.Errorf(protocol.KindUnknown, "%s: the run was made by a program with run format %d; this one knows %d", dir, m.Version, ManifestVersion)
	}
	return m, nil
}

// SetBudgets replaces the budgets of a run, and of its scenes, in its directory, unless b is nil, and
// those of endpoints.
func (m *Manifest) SetBudgets(dir string, b *budget.Budget, atEndpoints map[string]*budget.Budget) error {
	if b != nil {
		m.Budget, m.Raised = b, true
	}
	m.AtEndpoints = atEndpoints
	return writeManifest(dir, m)
}

// AddGrants notes other grants in a run's directory.
func (m *Manifest) AddGrants(dir string, g Grants) error {
	m.Grants = append(m.Grants, g)
	return writeManifest(dir, m)
}

// Inputs is the copy of the project in a run directory.
func Inputs(dir string) string { return filepath.Join(dir, parts.Inputs) }

// Approvals is where questions about calls lie while a run is under way.
func Approvals(dir string) string { return filepath.Join(dir, parts.Approvals) }

func writeManifest(dir string, m *Manifest) error {
	data, err := json.MarshalIndent(m, "", "  ")
	if err == nil {
		data = append(bytes.TrimSuffix(data, []byte("\n}")), ",\n"...)
		err = parts.WriteFile(filepath.Join(dir, parts.Manifest), append(data, seal(data)...))
	}
	if err != nil {
		return protocol.Errorf(protocol.KindTransient, "run directory %s: %w", dir, err)
	}
	return nil
}

// seal is the end of a manifest: the member with the checksum of what stands
// before it.
func seal(before []byte) string {
	return fmt.Sprintf("  \"checksum\": \"%x\"\n}\n", sha256.Sum256(before))
}

// unseal reads a manifest and holds it to its checksum. One without any is of an
// older program and has no members but ours; a damaged one has at least what is
// left of the checksum.
func unseal(data []byte, m *Manifest) error {
	end := max(len(data)-len(seal(nil)), 0)
	if string(data[end:]) == seal(data[:end]) {
		return json.Unmarshal(data, m)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if d.Decode(m) == nil {
		if _, end := d.Token(); errors.Is(end, io.EOF) {
			return nil
		}
	}
	return errors.New("its checksum is not that of its bytes: it was damaged or changed")
}

// writeJSON writes a file whole or not at all. It outlives a loss of power.
func writeJSON(path string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return parts.WriteFile(path, append(data, '\n'))
}
