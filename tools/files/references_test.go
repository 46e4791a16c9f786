package files

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tavernsim/protocol"
	"tavernsim/tools"
	"tavernsim/tools/mount"
)

// While a command runs, a file has the value of the secret to which it refers, also for an edit,
// which does not see it; before and after, it has the reference. The next process knows
// of it.
func TestLoans(t *testing.T) {
	s, dir := mounts(t), t.TempDir()
	refs := NewReferences(dir)
	x := New(refs)
	if r := call(t, x, s, editing("etc/key", "", "first\ntoken=$KARYI{TOKEN}\n")); r.Status != tools.OK {
		t.Fatal(r.Error)
	}
	file := filepath.Join(s.Folders[mount.Agent], "etc", "key")
	is := func(want string) {
		t.Helper()
		if data, err := os.ReadFile(file); err != nil || string(data) != want {
			t.Errorf("%q %v, want %q", data, err, want)
		}
	}
	lend := func(r *References, values map[string]string) tools.Loan {
		t.Helper()
		l, err := r.Loan(s, "o", values)
		if err != nil || l == nil {
			t.Fatal(l, err)
		}
		return l
	}
	is("first\ntoken=$KARYI{TOKEN}\n")
	again := NewReferences(dir)
	l := lend(again, map[string]string{"TOKEN": token})
	if notes := l.Lend(); len(notes) > 0 || l.Values()["TOKEN"] != token {
		t.Error(notes)
	}
	is("first\ntoken=" + token + "\n")
	r := call(t, x, s, editing("etc/key", "first", "second"))
	if r.Status != tools.OK {
		t.Fatal(r.Error)
	}
	for _, a := range r.Artifacts {
		if data, err := s.Artifacts.Read(a.ID); err != nil || strings.Contains(string(data), token) {
			t.Errorf("%s: %q %v", a.Name, data, err)
		}
	}
	is("second\ntoken=$KARYI{TOKEN}\n")
	l.Lend()
	if err := os.WriteFile(file, []byte("a program wrote "+token), 0o600); err != nil {
		t.Fatal(err)
	}
	l.Back()
	is("a program wrote $KARYI{TOKEN}")
	if notes := lend(again, nil).Lend(); len(notes) != 1 || !strings.Contains(notes[0], "get_value") {
		t.Error(notes)
	}
	is("a program wrote $KARYI{TOKEN}")
	if r := call(t, x, s, editing("etc/key", "$KARYI{TOKEN}", "nothing")); r.Status != tools.OK {
		t.Fatal(r.Error)
	}
	if l, err := NewReferences(dir).Loan(s, "o", nil); l != nil || err != nil {
		t.Error(l, err)
	}
	if l, err := refs.Loan(s, "other", nil); l != nil || err != nil {
		t.Error(l, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "bad"+references), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := refs.Of("bad"); err == nil {
		t.Error("a damaged note is an error")
	}
}

// A list that cannot be written leaves the one before.
func TestAListThatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	r := NewReferences(dir)
	if err := r.note("o", "fam://agent/a", []string{"TOKEN"}); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "gone", "x"), r.file("o")+".new"); err != nil {
		t.Skip(err)
	}
	if err := r.note("o", "fam://agent/b", []string{"TOKEN"}); protocol.KindOf(err) != protocol.KindTransient {
		t.Errorf("%v, want that it could not be noted", err)
	}
	if list, err := NewReferences(dir).Of("o"); err != nil || len(list) != 1 || len(list["fam://agent/a"]) != 1 {
		t.Errorf("the next process reads %v, %v", list, err)
	}
	if err := r.note("o", "fam://agent/b", []string{"TOKEN"}); err != nil {
		t.Errorf("once more: %v", err)
	}
}

// In a full mount references go back into files, also where they are longer than values, and files can be made smaller.
func TestReferencesGoBackIntoAFullMount(t *testing.T) {
	s := mounts(t)
	x := New(NewReferences(t.TempDir()))
	if r := call(t, x, s, editing("key", "", "token=$KARYI{TOKEN}\n")); r.Status != tools.OK {
		t.Fatal(r.Error)
	}
	for name, value := range map[string]string{"longer": strings.Repeat("x", 40) + token, "shorter": "Qx91zebr"} {
		l, err := x.refs.Loan(s, "o", map[string]string{"TOKEN": value})
		if err != nil {
			t.Fatal(err)
		}
		if notes := l.Lend(); len(notes) > 0 {
			t.Fatal(name, notes)
		}
		full := filepath.Join(s.Folders[mount.Agent], "full") // what a command wrote
		if err := errors.Join(os.WriteFile(full, nil, 0o644), os.Truncate(full, 256<<20)); err != nil {
			t.Fatal(err)
		}
		l.Back()
		if data, err := os.ReadFile(filepath.Join(s.Folders[mount.Agent], "key")); err != nil || string(data) != "token=$KARYI{TOKEN}\n" {
			t.Errorf("%s: %q, %v", name, data, err)
		}
		if r := call(t, x, s, editing("new", "", "a")); r.Status == tools.OK || r.Error.Kind != protocol.KindLimit {
			t.Errorf("%s: a full mount takes a file: %+v", name, r.Error)
		}
		if err := os.Remove(full); err != nil {
			t.Fatal(err)
		}
	}
}
