package toolreplay

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"tavernsim/engine/agent/tool"
	"tavernsim/protocol"
	"tavernsim/tools/artifact"
)

func call(q any) *protocol.Call {
	return &protocol.Call{Tool: "look", Params: map[string]any{"q": q}, URIs: map[string]string{"file": "fam://run/x"}}
}

func entry(agent string, turn uint64, number int64, out any) *Entry {
	e := New(Place{"s", agent, turn, number}, "tool", call("x"))
	e.Output = protocol.Encode(out)
	return e
}

// Promise 2.
func TestFind(t *testing.T) {
	failed := entry("a", 5, 1, nil)
	failed.Error, failed.ErrorKind = "tool: no", "tool"
	a := &Answers{}
	for _, e := range []*Entry{entry("b", 1, 1, "b1"), entry("a", 2, 1, "a2"), entry("a", 2, 2, "a2.2"), failed, entry("a", 9, 1, "a9"), entry("b", 9, 1, "b9")} {
		a.Add(e)
	}
	for at, want := range map[Place]string{
		{"s", "a", 2, 1}: "a2", {"s", "a", 2, 2}: "a2.2", {"s", "a", 5, 1}: "tool: no", {"s", "a", 5, 2}: "a9", {"s", "a", 1, 1}: "a2", {"s", "a", 10, 1}: "a9",
		{"s", "c", 9, 1}: "b1", {"z", "a", 9, 1}: "b1",
	} {
		e, ok := a.Find(Question("tool", call("x")), at)
		if v, _ := e.Output.Value(); !ok || v != want && e.Error != want {
			t.Errorf("%+v: %v %s, want %s", at, v, e.Error, want)
		}
	}
	for name, q := range map[string]string{"parameters": Question("tool", call("y")), "kind": Question("approval", call("x")), "number": Question("tool", call(1.0)),
		"references": Question("tool", &protocol.Call{Tool: "look", Params: map[string]any{"q": "x"}})} {
		if e, ok := a.Find(q, Place{"s", "a", 2, 1}); ok {
			t.Errorf("other %s: %+v", name, e)
		}
	}
}

// Promise 3.
func TestMissed(t *testing.T) {
	a := &Answers{From: "run r"}
	if s := a.Missed(Place{"s", "a", 4, 1}, call("y")); !strings.Contains(s, "none to any other call of agent a") {
		t.Error(s)
	}
	secret := New(Place{"s", "a", 3, 7}, "tool", &protocol.Call{Tool: "look", Params: map[string]any{"password": "swordfish"}})
	a.Add(New(Place{"s", "a", 4, 1}, "tool", &protocol.Call{Tool: "other"}))
	a.Add(secret)
	if s := a.Missed(Place{"", "cli", 1, 1}, call("y")); !strings.Contains(s, "the first of anybody is of agent a: look {") {
		t.Error(s)
	}
	if s := a.Missed(Place{"s", "a", 4, 1}, call("y")); !strings.Contains(s, "run r has no answer to this call of look; the nearest of this agent is request 7 of turn 3: look {") || strings.Contains(s, "swordfish") {
		t.Error(s)
	}
}

// Promises 1 and 4.
func TestFolder(t *testing.T) {
	a, from := &Answers{From: "run r"}, artifact.New(t.TempDir(), artifact.DefaultLimits())
	id, size, err := from.Put(artifact.Owner{}, strings.NewReader("abc"))
	if err != nil {
		t.Fatal(err)
	}
	for i, out := range []any{nil, 1.0, int64(1), 0.1, "ä\n</x>", []any{map[string]any{"n": -1.5e300}}} {
		e := entry("a", uint64(i+1), 1, out)
		e.Artifacts = []tool.Artifact{{ID: id, Size: size, Type: "text/plain", Name: "n"}, {ID: "sha256-" + strings.Repeat("0", 64), Name: "missing"}}
		e.Carried = i == 1
		a.Add(e)
	}
	dir := filepath.Join(t.TempDir(), "answers")
	if err := a.Save(dir, from); err != nil {
		t.Fatal(err)
	}
	b, err := Open(dir)
	if err != nil || !reflect.DeepEqual(a, b) {
		t.Fatalf("%v %+v", err, b)
	}
	if data, err := Artifacts(dir).Read(id); err != nil || string(data) != "abc" {
		t.Error(string(data), err)
	}
	name := filepath.Join(dir, answersFile)
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(whole), "\n")
	for want, text := range map[string]string{
		":1:":                  "{}x\n{\n",
		":3:":                  lines[0] + lines[1] + strings.Replace(lines[2], `"turn"`, `"turm"`, 1),
		"5 answers; the first": strings.Join(lines[:6], ""),
		"no place":             lines[0] + strings.Replace(lines[1], `"turn":1`, `"turn":0`, 1),
		"output":               lines[0] + strings.Replace(lines[2], `"output":"`, `"output":"wcHB`, 1),
		"no such file":         "",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if text == "" {
			_ = os.Remove(name)
		}
		if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	for i := range len(lines[1]) { // flipped bits make errors, or another entry
		b := []byte(lines[1])
		b[i] ^= 4
		_, _ = read(fmt.Sprint(i), strings.NewReader(lines[0]+string(b)))
	}
}

// What is saved can be read, or it is not saved.
func TestLongAnswers(t *testing.T) {
	for _, c := range []struct {
		size int
		want string
	}{{1 << 20, ""}, {MaxLine, "at most 33554432 are read again"}} {
		a := &Answers{From: "run r"}
		a.Add(entry("a", 1, 1, strings.Repeat("x", c.size)))
		dir := filepath.Join(t.TempDir(), "answers")
		err := a.Save(dir, artifact.New(t.TempDir(), artifact.DefaultLimits()))
		if c.want != "" {
			if protocol.KindOf(err) != protocol.KindLimit || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%d bytes: %v", c.size, err)
			}
			continue
		}
		if b, broke := Open(dir); err != nil || broke != nil || !reflect.DeepEqual(a, b) {
			t.Errorf("%d bytes: %v, %v", c.size, err, broke)
		}
	}
	if _, err := read("f", strings.NewReader(strings.Repeat("x", MaxLine+1))); protocol.KindOf(err) != protocol.KindLimit {
		t.Error(err)
	}
}
