package grants_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tavernsim/internal/doctest"
	"tavernsim/protocol"
	"tavernsim/tools/grants"
)

var (
	one = strings.Repeat("1", 64)
	two = strings.Repeat("2", 64)
)

func asked() grants.Asked {
	return grants.Asked{Folder: "/p", Tool: "t", Needs: []string{"net:a:1", "secret:k"}, Files: map[string]string{"tools/t.tool.yaml": one}}
}

// Promises 2 and 3: what is asked counts as long as it is all of it, of the same files (tools may not widen
// what they were granted, 001 §9).
func TestCheck(t *testing.T) {
	store, a := &grants.Store{}, asked()
	var none *grants.Store
	for _, s := range []*grants.Store{none, store} {
		if err := s.Check(&a); protocol.KindOf(err) != protocol.KindDenied || !strings.Contains(err.Error(), "asks for net:a:1, secret:k, which nobody has granted for this project; the operator grants it: simd tool grant PROJECT t") {
			t.Error(err)
		}
	}
	store.Give(&a)
	if err := store.Check(&a); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*grants.Asked){
		"asks for net:b:2":              func(a *grants.Asked) { a.Needs = append([]string{"net:b:2"}, a.Needs...) },
		"tools/t.tool.yaml has changed": func(a *grants.Asked) { a.Files = map[string]string{"tools/t.tool.yaml": two} },
		"x.py is new":                   func(a *grants.Asked) { a.Files = map[string]string{"tools/t.tool.yaml": one, "x.py": one} },
		"tools/t.tool.yaml is gone":     func(a *grants.Asked) { a.Files = nil },
		"nobody has granted for this ":  func(a *grants.Asked) { a.Tool = "u" },
	} {
		b := asked()
		change(&b)
		if err := store.Check(&b); protocol.KindOf(err) != protocol.KindDenied || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	less := asked()
	less.Needs = less.Needs[:1]
	if err := store.Check(&less); err != nil {
		t.Errorf("it asks for less: %v", err)
	}
	less.Needs = nil
	if err := none.Check(&less); err != nil {
		t.Errorf("it asks for nothing: %v", err)
	}
	store.Take("/p", "t")
	if store.Check(&a) == nil || store.Of(&a) != nil {
		t.Error("the grant is still there")
	}
}

func TestRemedy(t *testing.T) {
	s, a := &grants.Store{Flag: " --grants g"}, asked()
	for store, want := range map[*grants.Store]string{s: "simd tool grant my/dir t --grants g", nil: "simd tool grant my/dir t"} {
		if got := store.Remedy(store.Check(&a).Error(), "my/dir"); !strings.HasSuffix(got, want) {
			t.Error(got)
		}
	}
	if a.Tool = "plugin:guard"; !strings.HasSuffix(s.Remedy(s.Check(&a).Error(), "my/dir"), "simd plugin grant my/dir guard --grants g") {
		t.Error(s.Check(&a))
	}
	if got := s.Remedy("no", "x"); got != "no" {
		t.Error(got)
	}
}

// Promises 1 and 4: a written file is read again as it was; nobody else may write it.
func TestFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "new", "g.json")
	if _, err := grants.Load(file); protocol.KindOf(err) != protocol.KindNotFound || !strings.Contains(err.Error(), "simd tool grant") {
		t.Error(err)
	}
	s, a := &grants.Store{}, asked()
	s.Give(&a)
	if err := s.Write(file); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatal(info.Mode(), err)
	}
	r, err := grants.Load(file)
	if err != nil || !reflect.DeepEqual(r, s) {
		t.Fatalf("%+v %v", r, err)
	}
	for _, mode := range []os.FileMode{0o620, 0o602} {
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := grants.Load(file); protocol.KindOf(err) != protocol.KindInvalid || !strings.Contains(err.Error(), "chmod go-w") {
			t.Errorf("%s: %v", mode, err)
		}
	}
	entries, err := os.ReadDir(filepath.Dir(file))
	if err != nil || len(entries) != 1 {
		t.Error(entries, err)
	}
}

func TestBadFiles(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "",
		"{}":                            "projects",
		`{"projects": []}`:              "projects",
		`{"projects": {"p": null}}`:     "",
		`{"projects": {"p": {}}}`:       "tools",
		`{"projects": {}, "rules": []}`: `unknown field "rules"`,
		`{"projects": {"/p": {"tools": {"t": {"needs": [], "files": {"a": "` + one[:63] + `g"}}}}}}`: "g.json:1:66: projects./p.tools.t.files.a: want the SHA-256",
		`{"projects": {"p": {"tools": {}}}}`:                    "projects.p: want the folder of a project",
		`{"key": "x", "projects": {}}`:                          "key: want 64",
		`{"projects": {"/p": {"tools": {"t": {"files": {}}}}}}`: "needs",
		strings.Repeat("[", 100_000):                            "",
	} {
		file := filepath.Join(t.TempDir(), "g.json")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := grants.Load(file)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %q", text, err, want)
		}
	}
}

func TestDefaultFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "simd", "grants.json")
	env := map[string]string{}
	get := func(name string) string { return env[name] }
	for _, c := range []struct {
		dir, want string
		exists    bool
	}{{dir, file, false}, {"", "", false}} {
		if got, exists := grants.DefaultFile(get, c.dir); got != c.want || exists != c.exists {
			t.Error(got, exists)
		}
	}
	if err := (&grants.Store{}).Write(file); err != nil {
		t.Fatal(err)
	}
	if got, exists := grants.DefaultFile(get, dir); got != file || !exists {
		t.Error(got, exists)
	}
	env["SIMD_GRANTS"] = "else"
	if got, exists := grants.DefaultFile(get, dir); got != "else" || !exists {
		t.Error(got, exists)
	}
}

// The file on the page is one.
func TestGrantsPage(t *testing.T) {
	_, text, _ := strings.Cut(doctest.Page(t, "formats/grants.md"), "```json\n")
	text, _, _ = strings.Cut(text, "```")
	file := filepath.Join(t.TempDir(), "g.json")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := grants.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	a := grants.Asked{Folder: "/home/ada/shop", Tool: "shop.order"}
	if g := s.Of(&a); g == nil || len(g.Files) != 1 || len(g.Needs) != 1 {
		t.Error(g)
	}
}

// Promise 2: the same project in another folder has nothing, unless this file knows it as a copy. The denial is the same
// wherever the project lies, and whatever else is granted: a run and its resumption have one digest.
func TestCopies(t *testing.T) {
	s, a := &grants.Store{}, asked()
	before := s.Check(&a).Error()
	s.Give(&a)
	moved := a
	moved.Folder = "/run/inputs"
	if err := s.Check(&moved); protocol.KindOf(err) != protocol.KindDenied || err.Error() != before {
		t.Errorf("%v, want %s", err, before)
	}
	if others := s.Elsewhere(&moved); !slices.Equal(others, []string{"/p"}) {
		t.Error(others)
	}
	moved.Origin = "/p"
	if err := s.Check(&moved); err != nil {
		t.Error(err)
	}
	other := moved
	other.Needs = []string{"net:b:1"}
	if err := s.Check(&other); protocol.KindOf(err) != protocol.KindDenied {
		t.Error(err)
	}
	s.Give(&other)
	if err := s.Check(&other); err != nil {
		t.Errorf("it was granted where the copy lies: %v", err)
	}
}

// Promise 5: a mark is of one file of grants, one folder and one state of the inputs.
func TestMarks(t *testing.T) {
	var none *grants.Store
	one, two := &grants.Store{}, &grants.Store{}
	if none.Mark("/p", "h") != "" || one.Mark("/p", "h") != "" || one.Marked("", "/p", "h") {
		t.Error("a mark without a key")
	}
	for i, s := range []*grants.Store{one, two} {
		if err := s.Write(filepath.Join(t.TempDir(), strconv.Itoa(i))); err != nil {
			t.Fatal(err)
		}
	}
	mark := one.Mark("/p", "h")
	if !one.Marked(mark, "/p", "h") {
		t.Error("not known again")
	}
	for name, known := range map[string]bool{
		"another file": two.Marked(mark, "/p", "h"), "another folder": one.Marked(mark, "/q", "h"), "other inputs": one.Marked(mark, "/p", "i"), "no mark": one.Marked("", "/p", "h"), "no folder": one.Marked(one.Mark("", "h"), "", "h"),
	} {
		if known {
			t.Error(name)
		}
	}
}

// Promise 4: what could not be read again is not written, and the file stays as it was.
func TestTooManyGrants(t *testing.T) {
	file := filepath.Join(t.TempDir(), "grants.json")
	s := &grants.Store{}
	give := func(n int) {
		for i := range n {
			a := asked()
			a.Folder = fmt.Sprint("/p", i)
			s.Give(&a)
		}
	}
	give(1000)
	if err := s.Write(file); err != nil {
		t.Fatal(err)
	}
	give(1001)
	if err := s.Write(file); protocol.KindOf(err) != protocol.KindLimit || !strings.Contains(err.Error(), "1001 entries; the limit is 1000") {
		t.Error(err)
	}
	if _, err := grants.Load(file); err != nil {
		t.Error(err)
	}
}
