// Package secrets holds the values that an operator gives to tools: for one file, who may
// have which, and what takes them out of outputs.
//
// [Load] reads the file. A [Store] is immutable and may be nil: then nobody has a secret.
//
// # Promises
//
//  1. A file that others than its owner may read is refused, and so is a value that cannot
//     be found in texts. No error has a value in it.
//  2. A tool gets the values that it asks for and that the file grants to its id; if one is
//     not granted, it gets none.
//  3. [Store.Value] takes plain values out of an output, and withholds an output that
//     spells one in another form.
//
// # Not here
//
// Which tools ask (tools/manifest); who hands the values over (tools/script).
package secrets

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"tavernsim/engine/secret/mask"
	"tavernsim/internal/source"
	"tavernsim/protocol"
	"tavernsim/tools/ownfile"
)

// File is a file of secrets.
type File struct {
	Secrets map[string]*Grant `json:"secrets"`
}

// Grant is one secret.
type Grant struct {
	Value string   `json:"value"`
	Tools []string `json:"tools"`
}

// Rules say about the fields what their types do not.
func Rules() source.Rules {
	return source.Rules{
		"secrets.File.secrets": {Required: true, Section: "002", MaxItems: 1000, Doc: "By name: letters, digits and `_`, at most 64 characters."},
		"secrets.Grant.value":  {Required: true, Section: "002", Doc: "The secret; at least eight letters and digits, four of them different."},
		"secrets.Grant.tools":  {Required: true, Section: "001 §9", MaxItems: 1000, Doc: "Ids of the tools that may have it; `*` stands for any characters but `/`."},
	}
}

const maxFile = 1 << 20 // bytes

// Store holds the secrets of a file.
type Store struct {
	grants map[string]*Grant
	values []mask.Secret // that are taken out of texts: of the grants, and others
	masker *mask.Masker
}

// Load reads a file of secrets.
func Load(file string) (*Store, error) {
	data, err := ownfile.Read(file, ownfile.Guard{Not: 0o077, Reason: "only its owner may read it", Mend: "600", Max: maxFile})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, protocol.Errorf(protocol.KindNotFound, "secrets: there is no file %s", file)
	}
	if err != nil {
		return nil, protocol.Errorf(protocol.KindInvalid, "secrets: %w", err)
	}
	report := &source.Report{}
	f := &File{}
	if doc := source.Parse(file, data, source.Limits{MaxBytes: maxFile}, report); doc != nil {
		d := source.Decoder{Rules: Rules(), Report: report}
		d.Decode(doc, f)
		f.check(doc, report)
	}
	if err := report.Err(); err != nil {
		return nil, err
	}
	return New(f)
}

func (f *File) check(doc *source.Document, report *source.Report) {
	name := regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)
	for _, n := range protocol.SortedKeys(f.Secrets) {
		steps := []string{"secrets", n}
		node, _ := doc.Root.Find(steps...)
		if !name.MatchString(n) {
			report.At(doc, node.Pos, "secrets", "a secret's name has letters, digits and _ only, at most 64, and begins with no digit", "")
		}
		g := f.Secrets[n]
		if g == nil || g.Value == "" {
			continue // the missing field was reported
		}
		if _, err := mask.New([]mask.Secret{{Name: n, Value: g.Value}}); err != nil {
			report.At(doc, node.Pos, source.Path(steps...), err.Error(), "")
		}
		for _, p := range g.Tools {
			if _, err := path.Match(p, ""); err != nil {
				report.At(doc, node.Pos, source.Path(steps...), fmt.Sprintf("%q is no pattern of tools", protocol.Short(p, 80)), "")
			}
		}
	}
}

// With is a store that also finds the values of options of plugins, by their keys, in texts;
// no tool can ask for them. s may be nil.
func (s *Store) With(values map[string]string) (*Store, error) {
	if len(values) == 0 {
		return s, nil
	}
	var more []mask.Secret
	for _, key := range protocol.SortedKeys(values) {
		secret := mask.Secret{Name: key, Value: values[key]}
		if err := Check(key, values[key]); err != nil {
			return nil, protocol.Errorf(protocol.KindInvalid, "%s: %w", key, err)
		}
		more = append(more, secret)
	}
	return s.masking(more)
}

// masking is a store that takes more values out of texts, and gives the same ones.
func (s *Store) masking(more []mask.Secret) (*Store, error) {
	out := &Store{values: more}
	if s != nil {
		out.grants, out.values = s.grants, slices.Concat(s.values, more)
	}
	var err error
	out.masker, err = mask.New(out.values)
	return out, err
}

// New makes a store.
func New(f *File) (*Store, error) {
	s := &Store{grants: f.Secrets}
	for _, name := range protocol.SortedKeys(f.Secrets) {
		s.values = append(s.values, mask.Secret{Name: name, Value: f.Secrets[name].Value})
	}
	var err error
	s.masker, err = mask.New(s.values)
	return s, err
}

// Changes lists how a store differs from the one before, a line for each secret and without a
// value.
func Changes(was, is *Store) (list []string) {
	before, after := was.file(), is.file()
	for _, name := range protocol.SortedKeys(before) {
		switch a, b := before[name], after[name]; {
		case b == nil:
			list = append(list, "the secret "+name+" is gone")
		case a.Value != b.Value:
			list = append(list, "the secret "+name+" has another value")
		case !slices.Equal(a.Tools, b.Tools):
			list = append(list, "the secret "+name+" is granted to "+strings.Join(b.Tools, ", "))
		}
	}
	for _, name := range protocol.SortedKeys(after) {
		if before[name] == nil {
			list = append(list, "the secret "+name+" is new")
		}
	}
	return list
}

func (s *Store) file() map[string]*Grant {
	if s == nil {
		return nil
	}
	return s.grants
}

// For gives a tool the values of the secrets that it asks for.
func (s *Store) For(tool string, names []string) (map[string]string, error) {
	out := map[string]string{}
	for _, name := range names {
		var g *Grant
		if s != nil {
			g = s.grants[name]
		}
		if g == nil || !slices.ContainsFunc(g.Tools, func(p string) bool { ok, _ := path.Match(p, tool); return ok }) {
			return nil, protocol.Errorf(protocol.KindDenied, "the secret %s is not granted to %s; the operator grants it in a file of secrets (--secrets)", name, tool)
		}
		out[name] = g.Value
	}
	return out, nil
}

// Has reports whether the store has a secret under a name.
func (s *Store) Has(name string) bool { return s != nil && s.grants[name] != nil }

// Text masks a text; the error says which secret makes it one that must not be shown.
func (s *Store) Text(text string) (string, error) {
	if s == nil {
		return text, nil
	}
	masked, found := s.masker.Text(text)
	if found.Withhold != "" {
		return "", withheld(&found)
	}
	return masked, nil
}

// More masks a text that follows another one, which was masked before.
func (s *Store) More(before, text string) (string, error) {
	if s == nil {
		return text, nil
	}
	masked, found := s.masker.After(before, text)
	if found.Withhold != "" {
		return "", withheld(&found)
	}
	return masked, nil
}

func withheld(f *mask.Found) error {
	return protocol.Errorf(protocol.KindDenied, "the output is withheld: it has the secret %s, written as %s", f.Withhold, f.Form)
}

// Value masks a value, as the JSON that it is kept and shown as. What is no JSON any more
// becomes a text. found = it had a secret.
func (s *Store) Value(v any) (out any, found bool, err error) {
	if s == nil || v == nil {
		return v, false, nil
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, false, protocol.Errorf(protocol.KindInternal, "the output cannot be masked: %w", err)
	}
	text := b.String()
	masked, err := s.Text(text)
	if err != nil {
		return nil, true, err
	}
	if masked == text {
		return v, false, nil
	}
	report := &source.Report{} // its faults are of no use: the text is the output then
	if doc := source.Parse("output.json", []byte(masked), source.Limits{}, report); doc != nil && report.Total() == 0 {
		return doc.Root.Value(), true, nil
	}
	return masked, true, nil
}
