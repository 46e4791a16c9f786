package project

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"tavernsim/internal/source"
	"tavernsim/tools/plugin"
)

// Limits of a project. A zero field takes the default.
type Limits struct {
	File          source.Limits // of one file
	MaxFiles      int           // read; default 10,000
	MaxTotalBytes int64         // of all files read; default 256 MiB
	MaxFolders    int           // depth of folders; default 16
}

func (l Limits) withDefaults() Limits {
	if l.File.MaxBytes <= 0 {
		l.File.MaxBytes = 16 << 20
	}
	if l.MaxFiles <= 0 {
		l.MaxFiles = 10_000
	}
	if l.MaxTotalBytes <= 0 {
		l.MaxTotalBytes = 256 << 20
	}
	if l.MaxFolders <= 0 {
		l.MaxFolders = 16
	}
	return l
}

// File is one file that was read.
type File struct {
	Path   string // slash-separated, relative to the project
	Size   int
	SHA256 string // lower-case hex

	data []byte
}

// The folders of a project.
const (
	profilesDir  = "agent_profiles"
	scenesDir    = "scenes"
	workflowsDir = "workflows"
	knowledgeDir = "knowledgebases"
	modelsDir    = "models"
	panelsDir    = "panels"
	toolsDir     = "tools"
	mcpDir       = "mcp"
	servicesDir  = "services"

	runsDir = "runs" // not read, wherever it is
)

// Folders are the folders at the top of a project whose files are read.
func Folders() []string { return append(folders(), plugin.Folder) }

// folders are those with definitions of the project itself.
func folders() []string {
	return []string{profilesDir, scenesDir, workflowsDir, knowledgeDir, modelsDir, panelsDir, toolsDir, mcpDir, servicesDir}
}

// tree reads files of the project, each at most once, under the limits.
type tree struct {
	fsys   fs.FS
	lim    Limits
	report *source.Report
	warns  *source.Report

	listed   []string            // files of the folders above and of the root, sorted; then those of plugins
	ofPlugin map[string][]string // the part of them that is of a plugin
	given    map[string]string   // by file of a plugin: where it would lie if it were the project's
	read     map[string]*File
	broken   map[string][]string // by folder: files that are no JSON or YAML
	total    int64
	full     bool
}

func newTree(fsys fs.FS, lim Limits, report, warns *source.Report) *tree {
	return &tree{fsys: fsys, lim: lim.withDefaults(), report: report, warns: warns, read: map[string]*File{}, given: map[string]string{}, ofPlugin: map[string][]string{}, broken: map[string][]string{}}
}

func (t *tree) fault(file, message, suggestion string) {
	t.report.Add(source.Fault{File: file, Message: message, Suggestion: suggestion})
}

// list walks the root and the known folders. Hidden names are passed over.
func (t *tree) list() error {
	err := fs.WalkDir(t.fsys, ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && p == ".":
			return err
		case err != nil:
			t.fault(p, "cannot be read: "+cause(err), "")
			return skip(d)
		case p == ".":
			return nil
		case strings.HasPrefix(path.Base(p), "."):
			return skip(d)
		}
		return t.visit(p, d)
	})
	slices.Sort(t.listed)
	return err
}

func skip(d fs.DirEntry) error {
	if d != nil && d.IsDir() {
		return fs.SkipDir
	}
	return nil
}

func (t *tree) visit(p string, d fs.DirEntry) error {
	depth := strings.Count(p, "/")
	top, _, _ := strings.Cut(p, "/")
	if d.IsDir() {
		if depth > 0 && path.Base(p) == runsDir {
			t.warns.Add(source.Fault{File: p, Message: "this folder is not read: run directories have its name", Suggestion: "if definitions are in it, give it another name"})
			return fs.SkipDir
		}
		if top == plugin.Folder {
			return fs.SkipDir // those that the project lists are read
		}
		if !slices.Contains(folders(), top) {
			if s := source.Suggest(top, Folders()); s != "" && depth == 0 {
				t.warns.Add(source.Fault{File: p, Message: "this folder is not read", Suggestion: s})
			}
			return fs.SkipDir
		}
		if depth >= t.lim.MaxFolders {
			t.fault(p, fmt.Sprintf("folders nested deeper than %d", t.lim.MaxFolders), "")
			return fs.SkipDir
		}
		return nil
	}
	if depth == 0 && !isProjectFile(p) && !slices.Contains(folders(), p) {
		return nil
	}
	return t.take(p, d)
}

// take lists a plain file.
func (t *tree) take(p string, d fs.DirEntry) error {
	if !d.Type().IsRegular() {
		t.fault(p, fmt.Sprintf("is %s; a project holds plain files only", typeName(d.Type())), "put the file itself here")
		return nil
	}
	if len(t.listed) >= t.lim.MaxFiles {
		t.fault(p, fmt.Sprintf("the project has more than %d files", t.lim.MaxFiles), "")
		return fs.SkipAll
	}
	t.listed = append(t.listed, p)
	return nil
}

func typeName(m fs.FileMode) string {
	switch {
	case m&fs.ModeSymlink != 0:
		return "a symbolic link"
	case m.IsDir():
		return "a folder"
	}
	return "no regular file"
}

func isProjectFile(p string) bool {
	return slices.Contains([]string{"project.json", "project.jsonc", "project.yaml", "project.yml"}, p)
}

// place is where a file would lie if it were the project's: a file of a plugin lies in a
// folder of its plugin. "" = in no folder of definitions.
func (t *tree) place(p string) string {
	if place, ok := t.given[p]; ok {
		return place
	}
	return p
}

// definitions lists the files of a folder that hold definitions, those of plugins last.
func (t *tree) definitions(dir string) []string {
	var list []string
	for _, p := range t.listed {
		if strings.HasPrefix(t.place(p), dir+"/") && slices.Contains(source.Extensions(), strings.ToLower(path.Ext(p))) {
			list = append(list, p)
		}
	}
	return list
}

// load reads a file; nil means that it cannot be had, and the report says why.
func (t *tree) load(p string) *File {
	if f, ok := t.read[p]; ok {
		return f
	}
	if t.full {
		return nil
	}
	data, err := t.readAll(p)
	switch {
	case err != nil:
		t.fault(p, "cannot be read: "+cause(err), "")
		return nil
	case len(data) > t.lim.File.MaxBytes:
		t.fault(p, fmt.Sprintf("the file has more than %d bytes", t.lim.File.MaxBytes), "split it")
		return nil
	case t.total+int64(len(data)) > t.lim.MaxTotalBytes, len(t.read) >= t.lim.MaxFiles:
		t.fault(p, fmt.Sprintf("the project has more than %d bytes or %d files; the rest is not read", t.lim.MaxTotalBytes, t.lim.MaxFiles), "")
		t.full = true
		return nil
	}
	sum := sha256.Sum256(data)
	f := &File{Path: p, Size: len(data), SHA256: hex.EncodeToString(sum[:]), data: data}
	t.read[p] = f
	t.total += int64(len(data))
	return f
}

// readAll takes one byte more than the limit, so that the caller can tell.
func (t *tree) readAll(p string) ([]byte, error) {
	f, err := t.open(p)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, int64(t.lim.File.MaxBytes)+1))
	return data, errors.Join(err, f.Close())
}

// parse reads a file as a tree; nil when it has no tree.
func (t *tree) parse(p string) *source.Document {
	f := t.load(p)
	if f == nil {
		return nil
	}
	doc := source.Parse(p, f.data, t.lim.File, t.report)
	if doc == nil {
		top, _, _ := strings.Cut(p, "/")
		t.broken[top] = append(t.broken[top], p)
	}
	return doc
}

// locate turns a path written in a definition into a path of the project. The
// message says what is wrong with it, "" when nothing is.
func (t *tree) locate(written string) (clean, message string) {
	if written == "" || strings.HasPrefix(written, "/") || strings.ContainsAny(written, "\\:\x00") || !fs.ValidPath(path.Clean(written)) {
		return "", fmt.Sprintf("%q is no path within the project; want one like models/scripted.yaml", written)
	}
	clean = path.Clean(written)
	for at := range segments(clean) {
		info, err := fs.Lstat(t.fsys, at)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return "", fmt.Sprintf("there is no file %s in the project", clean)
		case err != nil:
			return "", fmt.Sprintf("%s cannot be read: %s", clean, cause(err))
		case info.Mode()&fs.ModeSymlink != 0:
			return "", fmt.Sprintf("%s is a symbolic link; a project holds plain files only", at)
		case at == clean && !info.Mode().IsRegular():
			return "", fmt.Sprintf("%s is %s, not a file", clean, typeName(info.Mode()))
		}
	}
	return clean, ""
}

// segments yields a, a/b, a/b/c for a/b/c.
func segments(p string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for i := range len(p) + 1 {
			if (i == len(p) || p[i] == '/') && !yield(p[:i]) {
				return
			}
		}
	}
}

// cause drops the operation and the path that fs errors repeat.
func cause(err error) string {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err.Error()
	}
	return err.Error()
}
