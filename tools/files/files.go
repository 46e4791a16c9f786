package files

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"tavernsim/protocol"
	"tavernsim/tools"
	"tavernsim/tools/manifest"
	"tavernsim/tools/mount"
)

// Executor carries out read and edit. It can be used by many goroutines.
type Executor struct {
	editing locks
	refs    *References
}

// New makes an executor, which notes in refs what files refer to secrets.
func New(refs *References) *Executor {
	return &Executor{editing: locks{of: map[string]*lock{}}, refs: refs}
}

// Close implements tools.Executor.
func (*Executor) Close() error { return nil }

// Call implements tools.Executor.
func (x *Executor) Call(ctx context.Context, c *tools.Call) tools.Result {
	if c.Files == nil {
		return refuse(protocol.Errorf(protocol.KindUnknown, "there are no mounts here; they belong to a run"))
	}
	list, _ := c.Params["files"].([]any)
	wanted := make([]wanted, 0, len(list))
	for _, v := range list {
		f, err := wantedOf(v)
		if err != nil {
			return refuse(err)
		}
		wanted = append(wanted, f)
	}
	if c.Tool.ID == manifest.Read {
		return read(ctx, c.Files, wanted)
	}
	done, err := x.editing.take(ctx, c.Files, wanted)
	defer done()
	if err != nil {
		return refuse(err)
	}
	return x.edit(ctx, c, wanted)
}

// refuse is a call of which nothing began.
func refuse(err error) tools.Result {
	r := tools.Fail(protocol.KindOf(err), err.Error())
	r.Unsent = true
	return r
}

// wanted is one file of a call.
type wanted struct {
	src   string
	uri   string
	lines string // behind #, of read
	edits []pair
}

type pair struct {
	find, replace           string
	findOther, replaceOther string
	all                     bool
	nth                     int64
}

// maxFile bounds a file that is read as text, in bytes.
const maxFile = 1 << 20

func wantedOf(v any) (wanted, error) {
	m, _ := v.(map[string]any)
	w := wanted{}
	w.src, _ = m["src"].(string)
	list, _ := m["edits"].([]any)
	for _, e := range list {
		em, _ := e.(map[string]any)
		p := pair{}
		p.find, _ = em["find"].(string)
		p.replace, _ = em["replace"].(string)
		p.all, _ = em["all"].(bool)
		if p.nth, _ = em["nth"].(int64); p.all && p.nth > 0 {
			return w, protocol.Errorf(protocol.KindInvalid, "%s: an edit has both all and nth; want one of them", protocol.Short(w.src, 80))
		}
		p.findOther, _ = em["find_other"].(string)
		p.replaceOther, _ = em["replace_other"].(string)
		w.edits = append(w.edits, p)
	}
	if strings.Contains(w.src, mark) {
		return w, protocol.Errorf(protocol.KindDenied, "%s: no secret goes into the name of a file, which facts have", protocol.Short(w.src, 80))
	}
	w.uri = w.src
	if list == nil {
		w.uri, w.lines, _ = strings.Cut(w.src, "#")
	}
	if w.uri = uriOf(w.uri); strings.HasPrefix(strings.ToLower(w.uri), "data:") {
		return w, protocol.Errorf(protocol.KindInvalid, "%s: data: is no file, and has its text in it", protocol.Short(w.src, 80))
	}
	return w, nil
}

// URIs are the references of the files that a call of read or edit names.
func URIs(params map[string]any) (uris []string) {
	list, _ := params["files"].([]any)
	for _, v := range list {
		if w, err := wantedOf(v); err == nil {
			uris = append(uris, w.uri)
		}
	}
	return uris
}

// uriOf is the reference of a path: below the agent's own files, or as programs of its session
// see the mounts. Everything else stays what it is.
func uriOf(path string) string {
	if rest, inside := strings.CutPrefix(path, mount.Inside); inside {
		return mount.Scheme + rest
	}
	if strings.Contains(path, ":") || strings.HasPrefix(path, "/") {
		return path
	}
	for strings.HasPrefix(path, "./") {
		path = path[2:]
	}
	if path == "." {
		path = ""
	}
	return mount.Scheme + mount.Agent + "/" + path
}

// reading is what is there of a file.
type reading struct {
	data []byte
	mode fs.FileMode
	is   bool
}

func sum(b []byte) string { return fmt.Sprintf("sha256-%x", sha256.Sum256(b)) }

// load reads a file of a mount for an edit; one that is not there is empty.
func load(s *mount.Source, uri string) (reading, error) {
	f, info, err := s.Open(uri)
	if protocol.KindOf(err) == protocol.KindNotFound && err != nil {
		return reading{mode: 0o644}, nil
	}
	if err != nil {
		return reading{}, err
	}
	defer f.Close()
	if info.IsDir() {
		return reading{}, protocol.Errorf(protocol.KindInvalid, "it is a folder")
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return reading{}, protocol.Errorf(protocol.KindTransient, "it cannot be read: %w", errors.Unwrap(err))
	case len(b) > maxFile:
		return reading{}, protocol.Errorf(protocol.KindLimit, "it has more than %d bytes, which is the limit for edits", maxFile)
	}
	return reading{b, info.Mode().Perm(), true}, nil
}

// name is a file in results.
func name(uri string) string {
	if short, ok := strings.CutPrefix(uri, mount.Scheme+mount.Agent+"/"); ok {
		return cmp.Or(short, ".")
	}
	return uri
}

// Restore gives a file an earlier text. The file must have the text of the id after, unless
// that is "".
func Restore(s *mount.Source, uri string, text []byte, after string) error {
	now, err := load(s, uri)
	if err != nil {
		return err
	}
	if has := sum(now.data); after != "" && (!now.is || has != after) {
		return protocol.Errorf(protocol.KindConflict, "%s was changed after that edit, and is left as it is; --force replaces it", uri)
	}
	return s.Write(uri, text, now.mode, now.is, sum(now.data))
}
