package world

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"tavernsim/internal/doctest"
	"tavernsim/protocol"
)

func examples(t *testing.T, kind string) []string {
	return doctest.Examples(t, "formats/world.md", kind)
}

// TestDocs runs the examples of docs/formats/world.md.
func TestDocs(t *testing.T) {
	t.Run("paths", docsPaths)
	t.Run("commit", docsCommit)
	t.Run("diff", docsDiff)
}

func docsDiff(t *testing.T) {
	var example struct {
		Before, After map[string]any
		Gives         json.RawMessage
	}
	dec := json.NewDecoder(strings.NewReader(examples(t, "diff")[0]))
	dec.UseNumber()
	if err := dec.Decode(&example); err != nil {
		t.Fatal(err)
	}
	made := func(m map[string]any) *Document {
		v, err := protocol.Normalize(m)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := FromValue(v, 1)
		if err != nil {
			t.Fatal(err)
		}
		return doc
	}
	var list []any
	for _, d := range Diff(made(example.Before), made(example.After)) {
		one := map[string]any{"path": d.Path.String()} // a side that has nothing there is left out
		if d.BeforePresent {
			one["before"] = d.Before
		}
		if d.AfterPresent {
			one["after"] = d.After
		}
		list = append(list, one)
	}
	raw, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	var got, want any
	if json.Unmarshal(raw, &got) != nil || json.Unmarshal(example.Gives, &want) != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %s", raw)
	}
}

func docsPaths(t *testing.T) {
	for line := range strings.SplitSeq(strings.TrimSpace(examples(t, "paths")[0]), "\n") {
		fields := strings.Fields(line)
		path, err := ParsePath(fields[0])
		got := "error"
		if err == nil {
			v, _ := protocol.Raw(path.AppendMsg(nil)).Value()
			got = string(AppendJSON(nil, v))
		}
		if got != fields[1] {
			t.Errorf("%s reads as %s; the page says %s", fields[0], got, fields[1])
		}
	}
}

func docsCommit(t *testing.T) {
	for _, text := range examples(t, "commit") {
		var x struct {
			Document json.RawMessage
			Requests []struct {
				Op          Op
				Path, Group string
				Value       any
				Expected    *int64
			}
			Gives struct {
				Document json.RawMessage
				Version  int64
				Refused  []string
			}
		}
		dec := json.NewDecoder(strings.NewReader(text))
		dec.UseNumber()
		if err := dec.Decode(&x); err != nil {
			t.Fatal(err)
		}
		var reqs []Request
		for _, q := range x.Requests {
			r := req(t, q.Op, q.Path, q.Value)
			r.Group, r.Expected = q.Group, q.Expected
			reqs = append(reqs, r)
		}
		d, refused := decide(t, Machine{}, mustDoc(t, string(x.Document)), reqs...)
		if len(Diff(d, mustDoc(t, string(x.Gives.Document)))) > 0 || d.Version() != x.Gives.Version {
			t.Errorf("%s", d.AppendJSON(nil))
		}
		var got []string
		for _, r := range refused {
			got = append(got, r.Path.String()+" "+string(r.Code))
		}
		if !reflect.DeepEqual(got, x.Gives.Refused) {
			t.Errorf("refused %v; the page says %v", got, x.Gives.Refused)
		}
	}
}
