package tooling

import (
	"encoding/base64"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"tavernsim/engine/agent/effect"
	"tavernsim/protocol"
	"tavernsim/protocol/picture"
	"tavernsim/scenes/outside"
	"tavernsim/tools"
	"tavernsim/tools/artifact"
	"tavernsim/tools/files"
	"tavernsim/tools/manifest"
	"tavernsim/tools/manifest/places"
	"tavernsim/tools/mount"
)

// Mounts are the folders of a run that URIs lead into.
type Mounts struct {
	Project string // the files of the project, as the run began with them; "" = there is none
	Files   string // has a folder for each scene; "" = there is none
	Agent   string // is that of every agent, in place of one below Files; "" = none is. What a kill would leave in it is noted beside it
}

// Source is what the URIs of an agent may refer to.
func (m *Mounts) Source(scene, agent string, kept *artifact.Store) *mount.Source {
	s := &mount.Source{Folders: map[string]string{mount.Project: m.Project}, Artifacts: kept}
	if m.Files != "" {
		dir := filepath.Join(m.Files, mount.Folder(scene))
		s.Folders[mount.Run] = filepath.Join(dir, "run")
		s.Folders[mount.Agent] = filepath.Join(dir, "agents", mount.Folder(agent))
	}
	if m.Agent != "" {
		s.Folders[mount.Agent] = m.Agent
	}
	return s
}

func (s *Set) source(q *effect.Ask) *mount.Source {
	from := s.opt.Mounts.Source(q.Model.Scene, q.Model.Agent, s.opt.Artifacts)
	from.Contents = q.Call.Contents
	return from
}

// maxContents bounds the references of one call that somebody is asked about.
const maxContents = 64

// contents are the ids of what the references of a call lead to now, where it can change.
func (m *Mounts) contents(q *effect.Ask) (ids map[string]string, err error) {
	from := m.Source(q.Model.Scene, q.Model.Agent, nil)
	note := func(text string) {
		name, _, err := mount.Path(text)
		if err != nil || mount.ReadOnly(name) || ids[text] != "" {
			return
		}
		if ids == nil {
			ids = map[string]string{}
		}
		if len(ids) <= maxContents {
			ids[text] = from.ID(text)
		}
	}
	for _, uri := range q.Call.URIs {
		note(uri)
	}
	if q.Call.Tool == manifest.Read || q.Call.Tool == manifest.Edit {
		for _, uri := range files.URIs(q.Call.Params) {
			note(uri)
		}
	}
	var walk func(v any)
	walk = func(v any) {
		switch x := v.(type) {
		case string:
			note(x)
		case []any:
			for _, e := range x {
				walk(e)
			}
		case map[string]any:
			for _, e := range x {
				walk(e)
			}
		}
	}
	walk(q.Call.Params)
	if len(ids) > maxContents {
		return nil, protocol.Errorf(protocol.KindLimit, "the call has more than %d references to files that may change", maxContents)
	}
	return ids, nil
}

// Pictures reads those of requests to models.
func (m *Mounts) Pictures(kept *artifact.Store) outside.Pictures {
	return func(q *protocol.ModelRequest, i *protocol.Image) ([]byte, error) {
		c, err := m.Source(q.Scene, q.Agent, kept).Read(i.URI, picture.MaxBytes)
		if err != nil {
			return nil, err
		}
		return c.Data, nil
	}
}

// fetch puts what references refer to into the place of the parameters, and checks them
// all. The caller owes release.
func (s *Set) fetch(t *toolOf, c *tools.Call, q *effect.Ask) (release func(), err error) {
	release = func() {}
	inputs, _ := c.Params[manifest.InputsOfCode].(map[string]any)
	if t.Definition.Implementation.Type != manifest.Code {
		inputs = nil
	}
	if len(q.Call.URIs)+len(inputs) == 0 {
		return release, nil
	}
	f := &fetching{source: s.source(q), tool: t.Definition, call: c, secret: s.hasSecret}
	c.Params = maps.Clone(c.Params)
	for _, name := range protocol.SortedKeys(q.Call.URIs) {
		if err = f.parameter(name, q.Call.URIs[name]); err != nil {
			err = protocol.Errorf(protocol.KindOf(err), "parameter %s: %w", name, err)
			break
		}
	}
	for _, name := range protocol.SortedKeys(inputs) {
		if uri, _ := inputs[name].(string); err == nil {
			err = f.input(name, uri)
		}
	}
	if f.dir != "" {
		release = func() { _ = os.RemoveAll(f.dir) } // a folder for files of the moment
	}
	if err == nil && t.Check != nil {
		if err = t.Check(c.Params); err != nil {
			err = protocol.Errorf(protocol.KindInvalid, "parameters of %s: %w", c.Tool.ID, err)
		}
	}
	return release, err
}

// fetching are the references of one call.
type fetching struct {
	source *mount.Source
	tool   *manifest.Tool
	call   *tools.Call
	secret func(text string) bool
	dir    string // of copies that the program finds; "" = there are none
	size   int    // of these, in bytes
}

func (f *fetching) parameter(name, uri string) error {
	switch want := f.tool.Wants(name); want {
	case manifest.WantPath:
		return f.bind(name, uri)
	case manifest.WantPass:
		return f.source.Check(uri)
	default:
		content, err := f.read(uri, mount.MaxText)
		switch {
		case err != nil:
			return err
		case want == manifest.WantBytes:
			f.call.Params[name] = base64.StdEncoding.EncodeToString(content.Data)
		case !utf8.Valid(content.Data):
			return protocol.Errorf(protocol.KindInvalid, "%q is no text; a parameter that takes other files has x-uri: bytes or path in the definition of the tool", protocol.Short(uri, 80))
		default:
			f.call.Params[name] = places.Foreign(strings.TrimPrefix(string(content.Data), "\ufeff"), f.tool.NamesSecrets())
		}
	}
	return nil
}

// read reads what a reference leads to, if the tool may have it.
func (f *fetching) read(uri string, most int64) (*mount.Content, error) {
	if m, name, err := mount.Path(uri); err == nil && !f.tool.MayRead(m, name) {
		return nil, protocol.Errorf(protocol.KindDenied, "the tool may not have %q: its needs name no such files (fs.read:%s/PATTERN)", protocol.Short(uri, 80), m)
	}
	content, err := f.source.Read(uri, most)
	if err == nil && f.secret(string(content.Data)) { // a command runs whose files have it
		return nil, protocol.Errorf(protocol.KindDenied, "%q has a secret now, which no reference leads to", protocol.Short(uri, 80))
	}
	return content, err
}

// filesInside is where a program finds what parameters refer to.
const filesInside = "/uri"

// bind copies a file to where nobody changes it while the program reads it.
func (f *fetching) bind(name, uri string) error {
	content, err := f.read(uri, mount.MaxFile)
	if err != nil {
		return err
	}
	inside := filesInside + "/" + mount.Folder(name) + "/" + content.Name
	f.call.Params[name] = inside
	return f.copy(name, content, inside)
}

// input is bind for code, which names the file itself.
func (f *fetching) input(name, uri string) error {
	content, err := f.read(uri, mount.MaxFile)
	if err == nil && (!fs.ValidPath(name) || name == "." || strings.Contains(name, "/") || len(name) > maxInput) {
		err = protocol.Errorf(protocol.KindInvalid, "want a plain name of a file, of at most %d bytes", maxInput)
	}
	if err != nil {
		return protocol.Errorf(protocol.KindOf(err), "parameter %s: %s: %w", manifest.InputsOfCode, protocol.Short(name, 80), err)
	}
	return f.copy(name, content, filesInside+"/"+name)
}

const maxInput = 120

// copy makes a copy of the moment that a program finds.
func (f *fetching) copy(name string, content *mount.Content, inside string) error {
	if f.size += len(content.Data); f.size > mount.MaxFile {
		return protocol.Errorf(protocol.KindLimit, "the files of one call have more than %d bytes together", mount.MaxFile)
	}
	var err error
	if f.dir == "" {
		if f.dir, err = os.MkdirTemp("", "simd-uri-"); err != nil {
			return protocol.Errorf(protocol.KindTransient, "%w", err)
		}
	}
	host := filepath.Join(f.dir, mount.Folder(name))
	if err := os.WriteFile(host, content.Data, 0o444); err != nil {
		return protocol.Errorf(protocol.KindTransient, "%w", err)
	}
	f.call.Binds = append(f.call.Binds, tools.Bind{Host: host, Inside: inside})
	return nil
}
