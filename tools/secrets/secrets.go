// Package secrets holds the values that an operator gives to tools: it reads the file, decides
// which tool gets which value, and masks the values in outputs.
//
// [Load] reads the file. A [Store] is immutable and may be nil: then there are no secrets. [Held]
// are the secrets of one scene.
//
// # Promises
//
//  1. A file that others than its owner may read is refused, and so is a value that cannot
//     be found in texts, and a file with a value that others may write. No error contains a
//     value.
//  2. A tool gets the values that it asks for and that the file grants to its id in its scene; if
//     one is not granted, it gets none.
//  3. [Store.Value] masks plain values in an output, and withholds an output that
//     contains one in another encoding.
//
// # Not here
//
// Which tools ask (tools/manifest); passing the values to programs (tools/script); withheld
// outputs (scenes/tooling).
package secrets

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"tavernsim/engine/secret/mask"
	"tavernsim/internal/source"
	"tavernsim/internal/wirejson"
	"tavernsim/protocol"
	"tavernsim/tools/manifest/places"
	"tavernsim/tools/ownfile"
)

// File is a file of secrets.
type File struct {
	Secrets map[string]*Grant `json:"secrets"`
}

// Grant is one secret.
type Grant struct {
	Value  string   `json:"value"`
	Tools  []string `json:"tools"`
	Scenes []string `json:"scenes"` // nil = all
	Show   string   `json:"show"`
}

// What is shown of the outputs of a call that has a secret.
const (
	Masked   = "masked"   // all but values of secrets; also ""
	Withheld = "withheld" // nothing
)

// Rules say about the fields what their types do not.
func Rules() source.Rules {
	return source.Rules{
		"secrets.File.secrets": {Required: true, Section: "002", MaxItems: 1000, Doc: "By name: letters, digits and `_`, at most 64 characters."},
		"secrets.Grant.value":  {Section: "002", Doc: "The secret; at least eight letters and digits, four of them different. Without it a file has the secret, which SIMD_SECRET_NAME_FILE names."},
		"secrets.Grant.tools":  {Required: true, Section: "001 §9", MaxItems: 1000, Doc: "Ids of the tools that may have it; `*` stands for any characters but `/`."},
		"secrets.Grant.scenes": {Section: "002 §9", MaxItems: 1000, Doc: "Ids of the scenes in which tools may have it, as in `tools`; without it, all."},
		"secrets.Grant.show":   {Enum: []string{Masked, Withheld}, Default: Masked, Section: "002 §9", Doc: "What is shown of the outputs of a call that has it: all but the value, or nothing."},
	}
}

const maxFile = 1 << 20 // bytes

// Store holds the secrets of a file.
type Store struct {
	grants map[string]*Grant
	values []mask.Secret // that are taken out of texts: of the grants, and others
	masker *mask.Masker
}

// Load reads a file of secrets, and the values that it leaves to others.
func Load(file string, from Mounted) (*Store, error) {
	data, err := ownfile.Read(file, ownfile.Guard{Not: 0o077, Reason: "only its owner may read it", Mend: "600", Max: maxFile})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, protocol.Errorf(protocol.KindNotFound, "secrets: there is no file %s", file)
	}
	if err != nil {
		return nil, protocol.Errorf(protocol.KindInvalid, "secrets: %w", err)
	}
	report := &source.Report{}
	f := &File{}
	if doc := source.Parse(file, data, source.Limits{MaxBytes: maxFile, Secret: true}, report); doc != nil {
		d := source.Decoder{Rules: Rules(), Report: report}
		d.Decode(doc, f)
		f.check(doc, report, from)
	}
	if err := report.Err(); err != nil {
		return nil, err
	}
	return New(f)
}

func (f *File) check(doc *source.Document, report *source.Report, from Mounted) {
	name := regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)
	for _, n := range protocol.SortedKeys(f.Secrets) {
		steps := []string{"secrets", n}
		node, _ := doc.Root.Find(steps...)
		fault := func(message string) { report.At(doc, node.Pos, source.Path(steps...), message, "") }
		if !name.MatchString(n) {
			report.At(doc, node.Pos, "secrets", "a secret's name has letters, digits and _ only, at most 64, and begins with no digit", "")
			continue
		}
		g := f.Secrets[n]
		if g == nil {
			continue // that was reported
		}
		if err := from.complete(n, g); err != nil {
			fault(err.Error())
		} else if err := Check(n, g.Value); err != nil {
			fault(err.Error())
		}
		patterns(g.Tools, "tools", fault)
		patterns(g.Scenes, "scenes", fault)
	}
}

func patterns(list []string, of string, fault func(string)) {
	for _, p := range list {
		if _, err := path.Match(p, ""); err != nil {
			fault("one of these is no pattern of " + of)
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
		case !slices.Equal(a.Tools, b.Tools) || a.where() != b.where():
			list = append(list, "the secret "+name+" is granted to "+strings.Join(b.Tools, ", ")+b.where())
		case cmp.Or(a.Show, Masked) != cmp.Or(b.Show, Masked):
			list = append(list, "outputs of calls with the secret "+name+" are "+cmp.Or(b.Show, Masked))
		}
	}
	for _, name := range protocol.SortedKeys(after) {
		if before[name] == nil {
			list = append(list, "the secret "+name+" is new")
		}
	}
	return list
}

// where says in which scenes tools may have a secret.
func (g *Grant) where() string {
	switch {
	case g.Scenes == nil:
		return ""
	case len(g.Scenes) == 0:
		return " in no scene"
	}
	return " in the scenes " + strings.Join(g.Scenes, ", ")
}

func (s *Store) file() map[string]*Grant {
	if s == nil {
		return nil
	}
	return s.grants
}

// For gives a tool the values of the secrets that it asks for in a scene; "" = the call is outside
// of scenes.
func (s *Store) For(scene, tool string, names []string) (map[string]string, error) {
	out := map[string]string{}
	for _, name := range names {
		g := s.file()[name]
		if g == nil || !matches(g.Tools, tool) {
			return nil, denied(name, tool, "")
		}
		if g.Scenes != nil && scene == "" {
			return nil, denied(name, tool, " outside of scenes")
		}
		if g.Scenes != nil && !matches(g.Scenes, scene) {
			return nil, denied(name, tool, " in the scene "+scene)
		}
		out[name] = g.Value
	}
	return out, nil
}

func matches(patterns []string, id string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { ok, _ := path.Match(p, id); return ok })
}

func denied(name, tool, where string) error {
	return protocol.Errorf(protocol.KindDenied, "the secret %s is not granted to %s%s; the operator grants it in a file of secrets (--secrets)", name, tool, where)
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

// Shown masks a text for people. One that spells a secret in another form is withheld.
func (s *Store) Shown(text string) string {
	masked, err := s.Text(text)
	if err != nil {
		return "(withheld: it has a secret)"
	}
	return masked
}

// Said names a secret that a value has, in any form; "" = it has none.
func (s *Store) Said(v any) (name string, err error) {
	if s == nil {
		return "", nil
	}
	text, err := textOf(v)
	if err != nil {
		return "", err
	}
	_, found := s.masker.Text(text)
	if len(found.Plain) > 0 {
		return found.Plain[0], nil
	}
	return found.Withhold, nil
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

// textOf is a value as the JSON in which secrets are looked for.
func textOf(v any) (string, error) {
	b, err := wirejson.AppendAny(nil, v)
	if err != nil {
		return "", protocol.Errorf(protocol.KindInternal, "the output cannot be masked: %w", err)
	}
	return unescaped(string(b)), nil
}

// Value masks a value, as the JSON that it is kept and shown as. What is no JSON any more
// becomes a text. found = it had a secret.
func (s *Store) Value(v any) (out any, found bool, err error) {
	if s == nil || v == nil {
		return v, false, nil
	}
	if !places.Valid(v) { // JSON is UTF-8, and a secret in another code would be none there
		v = places.Rewrite(v, func(text string) string {
			masked := text
			if err == nil && !utf8.ValidString(text) {
				masked, err = s.Text(text)
			}
			found = found || masked != text
			return masked
		})
		if err != nil {
			return nil, true, err
		}
	}
	text, err := textOf(v)
	if err != nil {
		return nil, false, err
	}
	masked, err := s.Text(text)
	if err != nil {
		return nil, true, err
	}
	if masked == text {
		return v, found, nil
	}
	masked = escaped(masked)
	if v, err := source.ParseValue("output.json", []byte(masked), source.Limits{Wide: true}); err == nil {
		return v, true, nil
	}
	return masked, true, nil
}

// unescaped has characters in the place of their escapes in JSON: the n of a line break would
// stand as a letter between those of a value. Quotes and backslashes are no letters either way.
func unescaped(text string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, `\`)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		escape := `\` + rest[:1]
		if rest[0] == 'u' {
			escape = `\` + rest[:5]
		}
		text = rest[len(escape)-1:]
		var character string
		if rest[0] == '"' || rest[0] == '\\' || json.Unmarshal([]byte(`"`+escape+`"`), &character) != nil {
			character = escape
		}
		b.WriteString(character)
	}
}

// escaped makes JSON again of what unescaped made.
func escaped(text string) string {
	var b strings.Builder
	for _, c := range []byte(strings.TrimSuffix(text, "\n")) {
		if c < ' ' {
			fmt.Fprintf(&b, `\u%04x`, c)
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}
