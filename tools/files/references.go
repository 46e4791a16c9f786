package files

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"tavernsim/protocol"
	"tavernsim/tools"
	"tavernsim/tools/manifest/places"
	"tavernsim/tools/mount"
	"tavernsim/tools/ownfile"
)

// References are the files of agents that refer to secrets: which names stand in which file.
// A file keeps the reference, $KARYI{NAME}; it has the value only while a command of its agent
// runs ([References.Loan]). It can be used by many goroutines.
type References struct {
	dir string // where they are noted for the next process; "" = nowhere

	mu sync.Mutex
	of map[string]map[string][]string // by owner and URI: the names
}

// NewReferences reads those of an agent when it is asked for them. dir = "": nothing is kept.
func NewReferences(dir string) *References {
	return &References{dir: dir, of: map[string]map[string][]string{}}
}

const (
	references    = ".references.json"
	maxReferences = 1000 // files of an agent
)

// Of are the references in the files of an agent, by URI.
func (r *References) Of(owner string) (map[string][]string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	list, err := r.read(owner)
	return maps.Clone(list), err
}

// read is for those who hold the lock.
func (r *References) read(owner string) (map[string][]string, error) {
	if list, ok := r.of[owner]; ok || r.dir == "" {
		return list, nil
	}
	list := map[string][]string{}
	data, err := ownfile.Read(r.file(owner), ownfile.Guard{Not: 0o022, Reason: "only its owner may write it", Mend: "600", Max: maxFile})
	if err == nil {
		err = json.Unmarshal(data, &list)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, protocol.Errorf(protocol.KindCorrupt, "which files refer to secrets cannot be read: %w", err)
	}
	r.of[owner] = list
	return list, nil
}

func (r *References) file(owner string) string {
	return filepath.Join(r.dir, mount.Folder(owner)+references)
}

// note keeps the names in a file, before the file has them.
func (r *References) note(owner, uri string, names []string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	list, err := r.read(owner)
	if err != nil || slices.Equal(list[uri], names) {
		return err
	}
	list = maps.Clone(list)
	if list == nil {
		list = map[string][]string{}
	}
	if list[uri] = names; len(names) == 0 {
		delete(list, uri)
	}
	if len(list) > maxReferences {
		return protocol.Errorf(protocol.KindLimit, "%d files of the agent refer to secrets, which is the limit", maxReferences)
	}
	if r.dir != "" {
		if err := keep(r.dir, r.file(owner), list); err != nil {
			return protocol.Errorf(protocol.KindTransient, "nobody could note that the file refers to a secret: %w", err)
		}
	}
	r.of[owner] = list
	return nil
}

func keep(dir, file string, list map[string][]string) error {
	data, err := json.Marshal(list)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err = os.WriteFile(file+".new", data, 0o600); err == nil {
		err = os.Rename(file+".new", file)
	}
	if err != nil {
		_ = os.Remove(file + ".new") // it may be a part of the list
	}
	return err
}

// SecretsOf are the names of the secrets to which the texts of an edit refer, sorted.
func SecretsOf(params map[string]any) (names []string) {
	list, _ := params["files"].([]any)
	for _, v := range list {
		if w, err := wantedOf(v); err == nil {
			for _, p := range w.edits {
				names = append(names, p.names()...)
			}
		}
	}
	return union(names, nil)
}

func (p *pair) names() []string {
	return slices.Concat(places.SecretsIn(p.replace), places.SecretsIn(p.replaceOther))
}

// escapedMark is the text $KARYI{, which is no reference.
const (
	mark        = "$KARYI{"
	escapedMark = "$" + mark
)

func unescaped(text string) string { return strings.ReplaceAll(text, escapedMark, mark) }

func reference(name string) string { return mark + name + "}" }

// filled puts values into the place of references; hidden does the reverse.
func filled(text string, values map[string]string) string {
	list := make([]string, 0, 2*len(values))
	for name, value := range values {
		list = append(list, reference(name), value)
	}
	return strings.NewReplacer(list...).Replace(text) // no value is read again
}

func hidden(text string, values map[string]string) string {
	names := protocol.SortedKeys(values)
	slices.SortStableFunc(names, func(a, b string) int { return len(values[b]) - len(values[a]) })
	for _, name := range names {
		text = strings.ReplaceAll(text, values[name], reference(name))
	}
	return text
}

func union(a, b []string) []string {
	list := slices.Concat(a, b)
	slices.Sort(list)
	return slices.Compact(list)
}

// of are the values of some names, where there are any.
func of(values map[string]string, names []string) map[string]string {
	some := map[string]string{}
	for _, name := range names {
		if v, ok := values[name]; ok {
			some[name] = v
		}
	}
	return some
}

// refers takes the references of an edit: the file keeps them as they are written. in is the
// mount, had are the names that the file refers to already.
func (w *wanted) refers(in, text string, had []string, known map[string]string) (names []string, err error) {
	for i := range w.edits {
		p := &w.edits[i]
		for _, name := range p.names() {
			if in != mount.Agent {
				return nil, protocol.Errorf(protocol.KindDenied, "a secret goes into files of your own only (fam://agent/): other agents read these")
			}
			if _, ok := known[name]; !ok {
				return nil, protocol.Errorf(protocol.KindDenied, "the secret %s was not given; ask for it with get_value", name)
			}
			if !slices.Contains(had, name) && strings.Contains(text, reference(name)) {
				return nil, protocol.Errorf(protocol.KindInvalid, "%s stands in the file as a text, so it cannot be a reference there; give the secret another name", reference(name))
			}
			names = append(names, name)
		}
		for _, name := range slices.Concat(had, names) {
			if strings.Contains(p.replace, "$"+reference(name)) {
				return nil, protocol.Errorf(protocol.KindInvalid, "the file refers to the secret %s, so %s cannot be a text there", name, reference(name))
			}
		}
		p.find, p.replace, p.findOther, p.replaceOther = unescaped(p.find), unescaped(p.replace), unescaped(p.findOther), unescaped(p.replaceOther)
	}
	return names, nil
}

// Loan lends values of secrets to the files of an agent for the time of a command. values has
// those that the agent may use now.
func (r *References) Loan(s *mount.Source, owner string, values map[string]string) (tools.Loan, error) {
	files, err := r.Of(owner)
	if err != nil || len(files) == 0 {
		return nil, err
	}
	l := &loan{source: s, files: map[string]map[string]string{}, values: map[string]string{}}
	for uri, names := range files {
		for _, name := range names {
			value, ok := values[name]
			if !ok {
				l.missing = append(l.missing, name)
				continue
			}
			if l.files[uri] == nil {
				l.files[uri] = map[string]string{}
			}
			l.files[uri][name], l.values[name] = value, value
		}
	}
	return l, nil
}

// loan implements tools.Loan.
type loan struct {
	source  *mount.Source
	files   map[string]map[string]string // by URI: values by name
	values  map[string]string
	missing []string // names without a value
}

// Values implements tools.Loan.
func (l *loan) Values() map[string]string { return l.values }

// Lend implements tools.Loan.
func (l *loan) Lend() (notes []string) {
	for _, uri := range protocol.SortedKeys(l.files) {
		err := l.change(uri, false)
		if err != nil {
			notes = append(notes, name(uri)+" keeps its references to secrets: "+err.Error())
		}
	}
	slices.Sort(l.missing)
	for _, name := range slices.Compact(l.missing) {
		notes = append(notes, "a file refers to the secret "+name+", which was not given; ask for it with get_value")
	}
	return notes
}

// Back implements tools.Loan.
func (l *loan) Back() {
	for uri := range l.files {
		for range 3 { // a program in the background may change it meanwhile
			if l.change(uri, true) == nil {
				break
			}
		}
	}
}

// change puts values into a file, or takes them back.
func (l *loan) change(uri string, back bool) error {
	was, err := load(l.source, uri)
	if err != nil || !was.is {
		return err
	}
	text, with := string(was.data), filled
	if back {
		with = hidden
	}
	switch text = with(text, l.files[uri]); {
	case text == string(was.data):
		return nil
	case back:
		return l.source.Replace(uri, []byte(text), was.mode, sum(was.data))
	}
	return l.source.Write(uri, []byte(text), was.mode, true, sum(was.data))
}
