package files

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/agent/tool"
	"tavernsim/engine/template"
	"tavernsim/protocol"
	"tavernsim/tam/bind"
	"tavernsim/tam/toolsxml"
	"tavernsim/tools"
	"tavernsim/tools/artifact"
	"tavernsim/tools/manifest"
	"tavernsim/tools/manifest/builtin"
	"tavernsim/tools/mount"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// mounts are empty ones.
func mounts(t testing.TB) *mount.Source {
	t.Helper()
	dir := t.TempDir()
	return &mount.Source{
		Folders:   map[string]string{mount.Project: filepath.Join(dir, "project"), mount.Run: filepath.Join(dir, "run"), mount.Agent: filepath.Join(dir, "agent")},
		Artifacts: artifact.New(filepath.Join(dir, "artifacts"), artifact.DefaultLimits()),
	}
}

func write(t testing.TB, s *mount.Source, name, text string) {
	t.Helper()
	m, rest, _ := strings.Cut(name, "/")
	file := filepath.Join(s.Folders[m], filepath.FromSlash(rest))
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(plain(text)), 0o640)); err != nil {
		t.Fatal(err)
	}
}

// token is the secret of the agent.
const token = "swordfish-4711-abc"

// plain is a text of an archive: ␍ stands for CR, and \ at the end of the last line for
// no line break.
func plain(s string) string {
	return strings.ReplaceAll(strings.TrimSuffix(s, "\\\n"), "␍", "\r")
}

func escaped(s string) string {
	if !strings.HasSuffix(s, "\n") && s != "" {
		s += "\\\n"
	}
	return strings.ReplaceAll(s, "\r", "␍")
}

func definition(t testing.TB, id string) *manifest.Tool {
	t.Helper()
	for _, d := range builtin.FileTools() {
		if d.ID == id {
			return d
		}
	}
	t.Fatalf("there is no tool %s", id)
	return nil
}

// call makes a call as a scene does.
func call(t testing.TB, x *Executor, s *mount.Source, c *protocol.Call) tools.Result {
	t.Helper()
	d := definition(t, c.Tool)
	schema, err := bind.SchemaOf(d.Parameters)
	if err != nil {
		t.Fatal(err)
	}
	params, err := bind.Bind(c, &schema)
	if err != nil {
		return tools.Fail(protocol.KindInvalid, err.Error())
	}
	keep := func(b tools.Blob) (tool.Artifact, error) {
		id, size, err := s.Artifacts.Put(artifact.Owner{}, strings.NewReader(string(b.Data)))
		return tool.Artifact{ID: id, Size: size, Type: b.Type, Name: b.Name}, err
	}
	return tools.Run(t.Context(), x, &tools.Call{Tool: d, Params: params, Files: s, Keep: keep, Owner: "o", Secrets: map[string]string{"TOKEN": token}}, tools.Options{Keep: keep})
}

// all lists the files of the mounts.
func all(t testing.TB, s *mount.Source) (files []txtar.File) {
	t.Helper()
	for _, m := range []string{mount.Agent, mount.Run} {
		err := filepath.WalkDir(s.Folders[m], func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return nil //nolint:nilerr // a mount that is not there yet
			}
			rel, _ := filepath.Rel(s.Folders[m], p)
			data, err := os.ReadFile(p)
			files = append(files, txtar.File{Name: "after " + m + "/" + filepath.ToSlash(rel), Data: []byte(escaped(string(data)))})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// Promises 1, 2 and 5: what ToolsXML does to files: before, after, and what it answers.
func TestGolden(t *testing.T) {
	names, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(names) < 10 {
		t.Fatal(names, err)
	}
	for _, file := range names {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want := txtar.Parse(data)
			s, x := mounts(t), New(NewReferences(""))
			got := &txtar.Archive{Comment: want.Comment}
			for _, f := range want.Files {
				if before, ok := strings.CutPrefix(f.Name, "before "); ok {
					write(t, s, before, string(f.Data))
					got.Files = append(got.Files, f)
				}
				if f.Name == "answer" {
					got.Files = append(got.Files, f, txtar.File{Name: "result", Data: []byte(answers(t, x, s, string(f.Data)))})
				}
			}
			got.Files = append(got.Files, all(t, s)...)
			text := string(txtar.Format(got))
			if *update {
				if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if text != string(data) {
				t.Errorf("got\n%s\nwant\n%s", text, data)
			}
		})
	}
}

// answers carries out the tools of an answer.
func answers(t *testing.T, x *Executor, s *mount.Source, text string) string {
	t.Helper()
	parsed := toolsxml.Parse(text, toolsxml.Options{})
	var b strings.Builder
	for _, c := range parsed.Calls("t") {
		r := call(t, x, s, &c)
		fmt.Fprintf(&b, "%s %s", c.Tool, r.Status)
		switch out := r.Output.(type) {
		case nil:
			fmt.Fprintf(&b, " %s: %s\n", r.Error.Kind, r.Error.Message)
		case string:
			fmt.Fprintf(&b, "\n%s\n", out)
		default:
			fmt.Fprintf(&b, "\n%s\n", template.AppendJSON(nil, out))
		}
		for _, a := range r.Artifacts {
			kept, err := s.Artifacts.Read(a.ID)
			fmt.Fprintf(&b, "kept %s: %d bytes %v\n", a.Name, len(kept), err)
		}
	}
	return b.String()
}

func editing(src string, pairs ...string) *protocol.Call {
	var edits []any
	for i := 0; i < len(pairs); i += 2 {
		edits = append(edits, map[string]any{"find": pairs[i], "replace": pairs[i+1]})
	}
	return &protocol.Call{Tool: "edit", Origin: protocol.OriginNative, Params: map[string]any{"files": []any{map[string]any{"src": src, "edits": edits}}}}
}

// Promise 3: the mode stays, and nothing of a temporary file is left.
func TestModes(t *testing.T) {
	s, x := mounts(t), New(NewReferences(""))
	write(t, s, "agent/run.sh", "#!/bin/sh\necho a\n")
	name := filepath.Join(s.Folders[mount.Agent], "run.sh")
	if err := os.Chmod(name, 0o755); err != nil {
		t.Fatal(err)
	}
	if r := call(t, x, s, editing("run.sh", "echo a", "echo b")); r.Status != tools.OK {
		t.Fatal(r.Error)
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o755 {
		t.Error(info.Mode(), err)
	}
	if list, err := os.ReadDir(s.Folders[mount.Agent]); err != nil || len(list) != 1 {
		t.Error(list, err)
	}
}

// Line ends of a file stay whatever ends the lines of the pairs have, if all of the file are alike.
func TestLineEndsOfPairs(t *testing.T) {
	for _, c := range []struct{ file, find, replace, want string }{
		{"a\r\nb\r\nc\r\n", "b", "B1\r\nB2", "a\r\nB1\r\nB2\r\nc\r\n"},
		{"a\r\nb\r\nc\r\n", "a\r\nb", "Z", "Z\r\nc\r\n"},
		{"a\r\nb\r\nc\r\n", "a\r\nb\n", "Z\nY\r\n", "Z\r\nY\r\nc\r\n"},
		{"a\r\nb\r\nc\r\n", "\r\nb\r\n", "\r\nB\r\n", "a\r\nB\r\nc\r\n"},
		{"a\nb\n", "b", "B1\r\nB2", "a\nB1\r\nB2\n"},
		{"a\r\nb\n", "a\r\n", "A\r\n", "A\r\nb\n"},
		{"", "", "a\r\nb\r\n", "a\r\nb\r\n"},
	} {
		s, x := mounts(t), New(NewReferences(""))
		write(t, s, "agent/f.txt", c.file)
		r := call(t, x, s, editing("f.txt", c.find, c.replace))
		got, err := os.ReadFile(filepath.Join(s.Folders[mount.Agent], "f.txt"))
		if r.Error != nil || err != nil || string(got) != c.want {
			t.Errorf("%q in %q by %q: %q, want %q; %+v %v", c.find, c.file, c.replace, got, c.want, r.Error, err)
		}
	}
}

// Promise 3: what somebody else changed after it was read is left as it is.
func TestChangedMeanwhile(t *testing.T) {
	s := mounts(t)
	write(t, s, "agent/a", "old")
	for name, c := range map[string]struct {
		is  bool
		was string
	}{"changed": {true, "older"}, "made": {false, ""}} {
		if err := s.Write("fam://agent/a", []byte("new"), 0o644, c.is, sum([]byte(c.was))); protocol.KindOf(err) != protocol.KindConflict {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := s.Write("fam://agent/b", []byte("new"), 0o644, true, sum(nil)); protocol.KindOf(err) != protocol.KindConflict {
		t.Error(err) // it is gone
	}
	data, err := os.ReadFile(filepath.Join(s.Folders[mount.Agent], "a"))
	if list, broke := os.ReadDir(s.Folders[mount.Agent]); string(data) != "old" || err != nil || broke != nil || len(list) != 1 {
		t.Errorf("%q %v %v", data, list, err)
	}
}

// Many edits of one file at once are all made, one after the other.
func TestEditsAtOnce(t *testing.T) {
	s, x := mounts(t), New(NewReferences(""))
	write(t, s, "agent/list", "end\n")
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if r := call(t, x, s, editing("list", "end", fmt.Sprintf("item %02d\nend", i))); r.Status != tools.OK {
				t.Error(r.Error)
			}
		})
	}
	all.Wait()
	data, _ := os.ReadFile(filepath.Join(s.Folders[mount.Agent], "list"))
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	if slices.Sort(lines); len(lines) != 21 || lines[20] != "item 19" {
		t.Error(lines)
	}
}

// What leads out of a mount is neither read nor written.
func TestHostilePaths(t *testing.T) {
	s, x := mounts(t), New(NewReferences(""))
	write(t, s, "agent/dir/a", "a")
	write(t, s, "project/p", "p")
	outside := filepath.Join(t.TempDir(), "passwd")
	agent := s.Folders[mount.Agent]
	if err := errors.Join(os.WriteFile(outside, []byte("root:x"), 0o644), os.Symlink(outside, filepath.Join(agent, "link")), os.Symlink(filepath.Dir(outside), filepath.Join(agent, "out")), os.Link(outside, filepath.Join(agent, "hard")), os.Symlink("dir/a", filepath.Join(agent, "inner"))); err != nil {
		t.Fatal(err)
	}
	for _, src := range []string{"/etc/passwd", "../../etc/passwd", "dir/../../x", "file:///etc/passwd", "link", "out/passwd", "out/new", "hard", "fam://project/p", "fam://project/new", "fam://agent/../x", "a%2fb", "x\x00y", "dir", "", ".", "inner", "dir/a/b", "https://x.org", "artifact:sha256-" + strings.Repeat("0", 64), "data:,x"} {
		for _, find := range []string{"", "root:x", "p", "a"} {
			if r := call(t, x, s, editing(src, find, "owned")); r.Status == tools.OK {
				t.Errorf("edit %q: %v", src, r.Output)
			}
		}
		r := call(t, x, s, &protocol.Call{Tool: "read", Origin: protocol.OriginNative, Params: map[string]any{"files": []any{map[string]any{"src": src}}}})
		if text, _ := r.Output.(string); strings.Contains(text, "root:x") {
			t.Errorf("read %q: %s", src, text)
		}
	}
	for name, want := range map[string]string{outside: "root:x", filepath.Join(agent, "dir", "a"): "a", filepath.Join(s.Folders[mount.Project], "p"): "p"} {
		if data, err := os.ReadFile(name); string(data) != want || err != nil {
			t.Errorf("%s: %q %v", name, data, err)
		}
	}
	if list, err := os.ReadDir(filepath.Dir(outside)); len(list) != 1 || err != nil {
		t.Error(list, err)
	}
}

// Promise 4: without room for its history a file is not edited.
func TestNoRoomForTheHistory(t *testing.T) {
	s, x := mounts(t), New(NewReferences(""))
	s.Artifacts = artifact.New(t.TempDir(), artifact.Limits{Each: 2, Turn: 10, Run: 10})
	write(t, s, "agent/a", "long text")
	if r := call(t, x, s, editing("a", "long", "short")); r.Status != tools.Failed || r.Error.Kind != protocol.KindLimit {
		t.Errorf("%+v", r)
	}
	if data, _ := os.ReadFile(filepath.Join(s.Folders[mount.Agent], "a")); string(data) != "long text" {
		t.Errorf("%q", data)
	}
}

// A few pairs that make a text longer and longer are refused before it is in memory.
func TestEditsAreBounded(t *testing.T) {
	s := mounts(t)
	grows := wanted{uri: "fam://agent/a.txt", edits: []pair{{replace: "aaaaaaaa"}}}
	for range 20 {
		grows.edits = append(grows.edits, pair{find: "a", replace: "aaaaaaaa", all: true})
	}
	if _, err := prepare(t.Context(), &tools.Call{Files: s}, nil, grows, nil); protocol.KindOf(err) != protocol.KindLimit {
		t.Errorf("%v", err)
	}
	again := wanted{uri: "fam://agent/b.txt", edits: []pair{{replace: "Z\n"}, {find: "Z", replace: "Y"}}}
	if e, err := prepare(t.Context(), &tools.Call{Files: s}, nil, again, nil); err != nil || e.text != "Y\n" {
		t.Errorf("the second pair of a new file: %q, %v", e.text, err)
	}
}

// Promise 6: an edit holds its own files only, and one that waits obeys its time and its caller.
func TestEditsWaitForTheirFiles(t *testing.T) {
	s, x := mounts(t), New(NewReferences(""))
	write(t, s, "agent/dir/a", "a")
	write(t, s, "agent/b", "b")
	if err := os.Symlink("dir", filepath.Join(s.Folders[mount.Agent], "other")); err != nil {
		t.Fatal(err)
	}
	edit := func(ctx context.Context, keep func(tools.Blob) (tool.Artifact, error), files ...string) tools.Result {
		var list []any
		for _, f := range files {
			list = append(list, map[string]any{"src": f, "edits": []any{map[string]any{"find": "", "replace": "x"}}})
		}
		return x.Call(ctx, &tools.Call{Tool: definition(t, manifest.Edit), Params: map[string]any{"files": list}, Files: s, Keep: keep})
	}
	begun, hold, ended := make(chan bool), make(chan bool), make(chan tools.Result)
	go func() {
		ended <- edit(t.Context(), func(tools.Blob) (tool.Artifact, error) { begun <- true; <-hold; return tool.Artifact{}, nil }, "dir/new")
	}()
	<-begun
	if r := edit(t.Context(), nil, "other/free"); r.Status != tools.OK {
		t.Errorf("another file: %+v", r.Error)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	for _, file := range []string{"dir/new", "other/new", "fam://agent/dir/new"} {
		if r := edit(ctx, nil, "second", file); r.Status != tools.Cancelled || !r.Unsent {
			t.Errorf("%s: %+v", file, r)
		}
	}
	close(hold)
	if r := <-ended; r.Status != tools.OK {
		t.Error(r.Error)
	}
	if r := edit(ctx, nil, "late"); r.Status != tools.Cancelled {
		t.Errorf("after its time: %+v", r)
	}
	for _, gone := range []string{"second", "late"} {
		if _, err := os.Stat(filepath.Join(s.Folders[mount.Agent], gone)); err == nil {
			t.Errorf("%s was written", gone)
		}
	}
	if len(x.editing.of) != 0 {
		t.Errorf("locks are left: %v", x.editing.of)
	}
}

// Promise 6: a call that ends between two files says which are written.
func TestEditIsCancelledBetweenFiles(t *testing.T) {
	s, x := mounts(t), New(NewReferences(""))
	ctx, cancel := context.WithCancel(t.Context())
	kept := 0
	keep := func(tools.Blob) (tool.Artifact, error) {
		if kept++; kept == 2 {
			cancel()
		}
		return tool.Artifact{}, nil
	}
	var list []any
	for _, f := range []string{"a", "b", "c"} {
		list = append(list, map[string]any{"src": f, "edits": []any{map[string]any{"find": "", "replace": "x"}}})
	}
	r := x.Call(ctx, &tools.Call{Tool: definition(t, manifest.Edit), Params: map[string]any{"files": list}, Files: s, Keep: keep})
	done, _ := r.Output.([]any)
	var states []string
	for _, d := range done {
		states = append(states, d.(map[string]any)["status"].(string))
	}
	if !slices.Equal(states, []string{"created", "error", "error"}) {
		t.Errorf("%+v", r)
	}
}

// One file under two names in one edit is refused, and left as it is.
func TestOneFileTwice(t *testing.T) {
	s := mounts(t)
	write(t, s, "agent/a/b", "one two\n")
	if err := os.Symlink("a", filepath.Join(s.Folders[mount.Agent], "link")); err != nil {
		t.Skip(err)
	}
	pair := func(src, find, with string) map[string]any {
		return map[string]any{"src": src, "edits": []any{map[string]any{"find": find, "replace": with}}}
	}
	for _, other := range []string{"a/b", "a/b/", "link/b"} {
		r := New(NewReferences("")).Call(t.Context(), &tools.Call{Tool: &manifest.Tool{ID: manifest.Edit}, Params: map[string]any{"files": []any{pair("a/b", "one", "ONE"), pair(other, "two", "TWO")}}, Files: s})
		data, err := os.ReadFile(filepath.Join(s.Folders[mount.Agent], "a", "b"))
		if r.Status == tools.OK || r.Error.Kind != protocol.KindInvalid || err != nil || string(data) != "one two\n" {
			t.Errorf("%s: %+v %v, %q %v", other, r.Error, r.Output, data, err)
		}
	}
}

// The nth place is that of a search from each byte on.
func TestPlaces(t *testing.T) {
	for _, find := range []string{"a", "aa", "aba", "abab", "aab", "abaab", "aaaa"} {
		for code := range 1 << 10 {
			var b strings.Builder
			for i := range 10 {
				b.WriteByte("ab"[code>>i&1])
			}
			text := b.String()
			var want []int
			for i := range text {
				if strings.HasPrefix(text[i:], find) {
					want = append(want, i)
				}
			}
			if len(want) == 0 {
				continue
			}
			for k, at := range want {
				if got, n := place(text, find, int64(k)+1); got != at || n != int64(k)+1 {
					t.Fatalf("%s in %s: place %d is %d, want %d", find, text, n, got, at)
				}
			}
			if _, n := place(text, find, 0); n != int64(len(want)) {
				t.Fatalf("%s in %s: %d places, want %d", find, text, n, len(want))
			}
		}
	}
}

// A pair that wants all places and one of them is refused, whoever writes it.
func TestAllAndNth(t *testing.T) {
	s := mounts(t)
	write(t, s, "agent/n", "a a")
	c := editing("n", "a", "b")
	pair := c.Params["files"].([]any)[0].(map[string]any)["edits"].([]any)[0].(map[string]any)
	pair["all"], pair["nth"] = true, int64(1)
	r := call(t, New(NewReferences("")), s, c)
	if r.Error == nil || r.Error.Kind != protocol.KindInvalid || !strings.Contains(r.Error.Message, "both all and nth") {
		t.Errorf("%+v %+v", r.Output, r.Error)
	}
}
