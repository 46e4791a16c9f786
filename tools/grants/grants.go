// Package grants holds what an operator allows the tools of projects: the granted
// permissions of each tool, for one folder and one state of its files.
//
// [Load] reads the file. A [Store] may be nil: then nothing is granted. [Store.Give] and
// [Store.Take] change it, and [Store.Write] writes it.
//
// # Promises
//
//  1. A file that others than its owner may change is refused.
//  2. A tool has all permissions that it asks for, or none. A permission without a grant is
//     denied, and so is everything once a file of the tool has changed, or the project
//     is in another folder. Nothing that a project says about itself counts.
//  3. The error says what is missing or has changed, and which command to run.
//  4. The file is written completely or not at all.
//  5. A run directory counts as a copy of a project only if this file's key marked it.
//
// # Not here
//
// The needs of tools (tools/manifest); the refusal of a call (scenes/tooling).
package grants

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"tavernsim/internal/source"
	"tavernsim/protocol"
	"tavernsim/tools/ownfile"
)

// File is a file of grants.
type File struct {
	Key      string              `json:"key,omitempty"`
	Projects map[string]*Project `json:"projects"`
}

// Project is what the tools of one project have.
type Project struct {
	Tools map[string]*Grant `json:"tools"`
}

// Grant is what one tool has while its files are these.
type Grant struct {
	Needs []string          `json:"needs"`
	Files map[string]string `json:"files"`
}

// Rules say about the fields what their types do not.
func Rules() source.Rules {
	return source.Rules{
		"grants.File.projects": {Required: true, Section: "001 §9", MaxItems: 1000, Doc: "By the folder of the project, as an absolute path without links."},
		"grants.File.key":      {Section: "001 §9", Doc: "Made by simd: marks the runs that it starts, so that they have the grants of their project when they are resumed."},
		"grants.Project.tools": {Required: true, Section: "001 §9", MaxItems: 10_000, Doc: "By the id of the tool."},
		"grants.Grant.needs":   {Required: true, Section: "001 §9", MaxItems: 128, Doc: "What the tool has."},
		"grants.Grant.files":   {Required: true, Section: "001 §9", MaxItems: 10_000, Doc: "The files of the tool, by path, with their SHA-256 in hexadecimal. If one changes, the grant does not count."},
	}
}

// Asked is what a tool asks for.
type Asked struct {
	Folder string // in which the operator sees the project: an absolute path without links
	Origin string // folder of the project of which Folder holds a copy; "" = none is known
	Tool   string
	Needs  []string          // sorted
	Files  map[string]string // as in Grant
}

const maxFile = 16 << 20 // bytes

// Store holds the grants of a file.
type Store struct {
	// Flag is what the command that grants needs to find the file; "" = it finds it.
	Flag string
	file File
}

// Load reads a file of grants.
func Load(file string) (*Store, error) {
	data, err := ownfile.Read(file, ownfile.Guard{Not: 0o022, Reason: "only its owner may change it", Mend: "go-w", Max: maxFile})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, protocol.Errorf(protocol.KindNotFound, "grants: there is no file %s; simd tool grant PROJECT --grants %s makes it", file, file)
	}
	if err != nil {
		return nil, protocol.Errorf(protocol.KindInvalid, "grants: %w", err)
	}
	return parse(file, data)
}

func parse(file string, data []byte) (*Store, error) {
	report, s := &source.Report{}, &Store{}
	if doc := source.Parse(file, data, source.Limits{MaxBytes: maxFile}, report); doc != nil {
		d := source.Decoder{Rules: Rules(), Report: report}
		d.Decode(doc, &s.file)
		s.check(doc, report)
	}
	if err := report.Err(); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Store) check(doc *source.Document, report *source.Report) {
	hash := regexp.MustCompile(`^[0-9a-f]{64}$`)
	if s.file.Key != "" && !hash.MatchString(s.file.Key) {
		node, _ := doc.Root.Find("key")
		report.At(doc, node.Pos, "key", "want 64 hexadecimal digits", "remove it, and simd tool grant makes another")
	}
	for _, id := range protocol.SortedKeys(s.file.Projects) {
		p := s.file.Projects[id]
		if p == nil {
			continue // reported
		}
		if !filepath.IsAbs(id) {
			node, _ := doc.Root.Find("projects", id)
			report.At(doc, node.Pos, source.Path("projects", id), "want the folder of a project, an absolute path", "remove it, and run simd tool grant")
		}
		for _, tool := range protocol.SortedKeys(p.Tools) {
			g := p.Tools[tool]
			if g == nil {
				continue
			}
			steps := []string{"projects", id, "tools", tool, "files"}
			for _, name := range protocol.SortedKeys(g.Files) {
				if !hash.MatchString(g.Files[name]) {
					node, _ := doc.Root.Find(append(steps, name)...)
					report.At(doc, node.Pos, source.Path(append(steps, name)...), "want the SHA-256 of the file, 64 hexadecimal digits", "run simd tool grant")
				}
			}
		}
	}
}

// DefaultFile is where a user's grants are if none is named: $SIMD_GRANTS, else
// simd/grants.json in the configuration folder. exists = there is one.
func DefaultFile(getenv func(string) string, configDir string) (file string, exists bool) {
	if file = getenv("SIMD_GRANTS"); file != "" {
		return file, true
	}
	if configDir == "" {
		return "", false
	}
	file = filepath.Join(configDir, "simd", "grants.json")
	_, err := os.Stat(file)
	return file, err == nil
}

// grant is the one of the folder, or of its origin if that alone counts.
func (s *Store) grant(a *Asked) *Grant {
	own := s.in(a.Folder, a.Tool)
	if a.Origin == "" || own != nil && len(Difference(own, a)) == 0 {
		return own
	}
	if g := s.in(a.Origin, a.Tool); g != nil {
		return g
	}
	return own
}

func (s *Store) in(folder, tool string) *Grant {
	if s == nil || s.file.Projects[folder] == nil {
		return nil
	}
	return s.file.Projects[folder].Tools[tool]
}

// Elsewhere lists the other folders in which the same tool has what it asks for.
func (s *Store) Elsewhere(a *Asked) (folders []string) {
	if s == nil {
		return nil
	}
	for _, folder := range protocol.SortedKeys(s.file.Projects) {
		if g := s.in(folder, a.Tool); g != nil && folder != a.Folder && len(Difference(g, a)) == 0 {
			folders = append(folders, folder)
		}
	}
	return folders
}

// Check reports why a tool may not be called; nil = it has all that it asks for. The agent and its model read the
// error, and the digest covers it: it names no folder, and does not depend on the grants of other projects.
func (s *Store) Check(a *Asked) error {
	if len(a.Needs) == 0 {
		return nil
	}
	g, remedy := s.grant(a), "the operator grants it: "+command(a.Tool)
	if g == nil {
		return protocol.Errorf(protocol.KindDenied, "%s asks for %s, which nobody has granted for this project; %s", a.Tool, strings.Join(a.Needs, ", "), remedy)
	}
	if d := Difference(g, a); len(d) > 0 {
		return protocol.Errorf(protocol.KindDenied, "%s is not what was granted: %s; %s", a.Tool, strings.Join(d, "; "), remedy)
	}
	return nil
}

// command grants a tool, or a plugin under the id of its grant.
func command(tool string) string {
	if plugin, is := strings.CutPrefix(tool, "plugin:"); is {
		return "simd plugin grant" + project + plugin
	}
	return "simd tool grant" + project + tool
}

// project stands in a command for the folder of the project.
const project = " PROJECT "

// Remedy completes the command in an error of Check by the folder of the project.
func (s *Store) Remedy(text, dir string) string {
	for _, kind := range []string{"simd tool grant", "simd plugin grant"} {
		before, after, found := strings.Cut(text, kind+project)
		if !found {
			continue
		}
		if text = before + kind + " " + dir + " " + after; s != nil {
			text += s.Flag
		}
	}
	return text
}

// Difference is how what is asked differs from a grant, a line each: what is asked beyond
// it, and which files are others. It is empty if the grant counts.
func Difference(g *Grant, a *Asked) (list []string) {
	for _, need := range a.Needs {
		if !slices.Contains(g.Needs, need) {
			list = append(list, "asks for "+need)
		}
	}
	for _, name := range protocol.SortedKeys(a.Files) {
		switch was, there := g.Files[name]; {
		case !there:
			list = append(list, name+" is new")
		case was != a.Files[name]:
			list = append(list, name+" has changed")
		}
	}
	for _, name := range protocol.SortedKeys(g.Files) {
		if _, there := a.Files[name]; !there {
			list = append(list, name+" is gone")
		}
	}
	return list
}

// Of is the grant that a tool has, whether or not it counts; nil = none.
func (s *Store) Of(a *Asked) *Grant { return s.grant(a) }

// Give grants what a tool asks for, in the place of what it had.
func (s *Store) Give(a *Asked) {
	if s.file.Projects == nil {
		s.file.Projects = map[string]*Project{}
	}
	p := s.file.Projects[a.Folder]
	if p == nil {
		p = &Project{Tools: map[string]*Grant{}}
		s.file.Projects[a.Folder] = p
	}
	if p.Tools == nil {
		p.Tools = map[string]*Grant{}
	}
	p.Tools[a.Tool] = &Grant{Needs: a.Needs, Files: a.Files}
}

// Take takes the grant of a tool away.
func (s *Store) Take(folder, tool string) {
	if p := s.file.Projects[folder]; p != nil {
		if delete(p.Tools, tool); len(p.Tools) == 0 {
			delete(s.file.Projects, folder)
		}
	}
}

// Mark is the sign by which [Store.Marked] knows a copy of a folder with these inputs;
// "" without a key. Whoever does not have the file cannot make it.
func (s *Store) Mark(folder, inputs string) string {
	if s == nil || s.file.Key == "" || folder == "" {
		return ""
	}
	h := hmac.New(sha256.New, []byte(s.file.Key))
	fmt.Fprintf(h, "%q %q", folder, inputs)
	return hex.EncodeToString(h.Sum(nil))
}

// Marked reports whether a mark was made with this file.
func (s *Store) Marked(mark, folder, inputs string) bool {
	is := s.Mark(folder, inputs)
	return is != "" && hmac.Equal([]byte(is), []byte(mark))
}

// Write writes the file, for its owner alone. It refuses what [Load] would refuse.
func (s *Store) Write(file string) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if s.file.Projects == nil {
		s.file.Projects = map[string]*Project{}
	}
	if s.file.Key == "" {
		key := make([]byte, sha256.Size)
		_, _ = rand.Read(key) // it never fails
		s.file.Key = hex.EncodeToString(key)
	}
	if err := e.Encode(&s.file); err != nil {
		return protocol.Errorf(protocol.KindInternal, "grants: %w", err)
	}
	if _, err := parse(file, b.Bytes()); err != nil {
		return protocol.Errorf(protocol.KindLimit, "grants: nothing was written, because the file could not be read again: %w; take grants away that nobody needs: simd tool grant PROJECT --revoke", err)
	}
	err := os.MkdirAll(filepath.Dir(file), 0o700)
	if err == nil {
		err = ownfile.Write(file, ".grants-*", b.Bytes())
	}
	if err != nil {
		return protocol.Errorf(protocol.KindUnknown, "grants: %w", err)
	}
	return nil
}
