package command

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tavernsim/protocol"
)

// show writes a batch so that order and faults can be seen.
func show(b Batch) string {
	var out []string
	for _, e := range b.Entries {
		s := string(e.Action) + " " + e.Key
		if e.HasValue {
			s += "=" + fmt.Sprint(e.Value)
		}
		if e.Malformed != nil {
			s += " !" + string(e.Malformed.Code)
		}
		if e.BadOption != nil {
			s += " ?" + string(e.BadOption.Code)
		}
		for _, w := range e.Warnings {
			s += " ~" + string(w.Code)
		}
		out = append(out, s)
	}
	return strings.Join(out, "; ")
}

func codes(ws []Warning) string {
	var out []string
	for _, w := range ws {
		out = append(out, string(w.Code))
	}
	return strings.Join(out, " ")
}

// Promises 1 to 3. TestForms_C20_C21 reads every form of a batch.
func TestForms_C20_C21(t *testing.T) {
	for _, c := range []struct{ name, in, want, warn string }{
		{"array", `[{"action":"set","key":"a","value":1},{"action":"delete","key":"b"}]`, "set a=1; delete b", ""},
		{"single", `{"action":"Set ","key":"a","value":null}`, "set a=<nil>", ""},
		{"keyed, fixed order", `{"delete":[{"key":"d"}],"push":[{"key":"p","value":1}],"set":[{"key":"s","value":1}],"ensure":[{"key":"e","value":1}],"pull":[{"key":"q","value":1}],"add":[{"key":"a","value":1}],"patch":[{"key":"t","value":1}],"update":[{"key":"u","value":1}]}`,
			"ensure e=1; set s=1; update u=1; patch t=1; add a=1; push p=1; pull q=1; delete d", ""},
		{"sections that come twice", `{"set":[{"key":"a","value":1}],"delete":["x"],"set":[{"key":"b","value":2}]}`, "set a=1; set b=2; delete x", ""},
		{"key and value sections, as written", `{"set":{"b":1,"a":{"key":"x"}},"delete":{"k":null}}`, "set b=1; set a=map[key:x]; delete k=<nil>", ""},
		{"one entry as a section", `{"set":{"key":"a","value":1}}`, "set a=1", ""},
		{"bare keys under delete", `{"delete":["a","b"]}`, "delete a; delete b", ""},
		{"a bare key under delete", `{"delete":"a"}`, "delete a", ""},
		{"bare text elsewhere", `{"set":["a"]}`, "set  !invalid_entry", ""},
		{"inherited and differing action", `{"set":[{"key":"a","value":1},{"action":"push","key":"b","value":1}]}`, "set a=1; push b=1 ~section_mismatch", ""},
		{"tavern_commands", `{"text":"hello","tavern_commands":[{"action":"set","key":"a","value":1}],"mood":5}`, "set a=1", ""},
		{"tavern_commands keyed", `{"tavern_commands":{"set":{"a":1}}}`, "set a=1", ""},
		{"encoded twice", `{"tavern_commands":"[{\"action\":\"set\",\"key\":\"a\",\"value\":1}]"}`, "set a=1", "repaired_json"},
		{"commands and options", `{"commands":[{"action":"set","key":"a","value":1}],"options":{"transaction":true,"batchId":"x","turnId":"y","bad":1}}`, "set a=1", "unknown_option"},
		{"fenced", "I will do this:\n```json\n{\"set\":{\"a\":1}}\n```", "set a=1", "embedded_json"},
		{"inside prose", `Well [sic] then: {"set":{"a":1}} done`, "set a=1", "embedded_json"},
		{"repaired", `[{action:'set','key':'a',value:1,},]`, "set a=1", "repaired_json"},
		{"cut", `[{"action":"set","key":"a","value":1},{"action":"set","key":"b","val`, "set a=1; set b !truncated", "repaired_json"},
		{"cut section", `{"set":{"a":1,"b":[1,2`, "set a=1; set b=[1 2] !truncated", "repaired_json"},
		{"no entry", `[5,null,{"key":"a"},{"action":"upsert","key":"a"}]`, "  !invalid_entry;   !invalid_entry;  a !unknown_action;  a !unknown_action", ""},
		{"unknown section", `{"set":{"a":1},"sett":{"b":1}}`, "set a=1", "unknown_field"},
		{"empty", `{}`, "", "no_commands"},
		{"unknown field", `{"action":"set","key":"a","val":1}`, "set a ~unknown_field", ""},
		{"option beside options", `{"action":"set","key":"a","value":1,"ifVersion":3}`, "set a=1 ~misplaced_option", ""},
		{"numbers", `[{"action":"set","key":"a","value":[1,1.0,9007199254740993]},{"action":"set","key":"b","value":123456789012345678901}]`, "set a=[1 1 9007199254740993]; set b ?invalid_value", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, err := Decode(c.in)
			if err != nil {
				t.Fatal(err)
			}
			if show(b) != c.want || codes(b.Warnings) != c.warn {
				t.Errorf("read %q, warnings %q; want %q, %q", show(b), codes(b.Warnings), c.want, c.warn)
			}
			for i, e := range b.Entries {
				if e.Index != i {
					t.Errorf("entry %d has index %d", i, e.Index)
				}
			}
		})
	}
	for _, bad := range []string{"", "nothing here", `"text"`, "5", `{"commands":5}`} {
		if b, err := Decode(bad); err == nil {
			t.Errorf("%q was read as %q", bad, show(b))
		}
	}
}

func TestBatchOptions(t *testing.T) {
	b, err := Decode(`{"commands":[],"options":{"transaction":"yes","reads":[{"key":"a","version":3}]},"tavern_inspect":["x",{"key":"y"},5]}`)
	if err != nil || !b.Options.Transaction || len(b.Options.Reads) != 1 || len(b.Inspect) != 2 {
		t.Errorf("%+v %v", b, err)
	}
	if codes(b.Warnings) != "option_ignored unknown_field" {
		t.Error(codes(b.Warnings))
	}
}

func TestOptions(t *testing.T) {
	for option, want := range map[string]Code{
		`"idempotencyKey":""`: InvalidOption, `"idempotencyKey":5`: InvalidOption, `"reason":5`: InvalidOption, `"ifMissing":"true"`: InvalidOption,
		`"ifVersion":-1`: InvalidOption, `"ifVersion":1.5`: InvalidOption, `"ifVersion":"1"`: InvalidOption, `"ifVersion":2.0`: "", `"ifVersion":null`: "",
		`"mergeStrategy":"merge"`: InvalidOption, `"tags":["a",5]`: InvalidOption, `"tags":"a"`: "", `"expect":[]`: InvalidOption, `"expect":{}`: "",
		`"ttl":"5"`: InvalidOption, `"ttl":0`: InvalidExpiry, `"ttl":1e30`: InvalidExpiry, `"ttl":0.5`: "", `"expiresAt":"2030-01-01"`: "",
		`"expiresAt":"x"`: InvalidExpiry, `"expiresAt":"2262-01-01"`: InvalidExpiry, `"expiresAt":5`: InvalidOption, `"transaction":1`: InvalidOption,
	} {
		b, err := Decode(`[{"action":"set","key":"a","value":1,"options":{` + option + `}}]`)
		if err != nil {
			t.Fatal(err)
		}
		f := b.Entries[0].Check()
		if f == nil {
			f = &Fault{}
		}
		if f.Code != want {
			t.Errorf("%s: %q; want %q", option, f.Code, want)
		}
	}
	b, _ := Decode(`[{"action":"set","key":"a","value":1,"options":{"ttl":2.5,"expiresAt":"1970-01-01T00:00:02Z"}}]`)
	if got := b.Entries[0].Options.Expires(0); got != protocol.Time(2*time.Second) {
		t.Error("the earlier of ttl and expiresAt: ", got)
	}
	list, _ := Decode(`[{"action":"push","key":"a","value":1,"options":{"uniqueBy":[],"position":"middle","limit":0,"dedupe":"x"}}]`)
	if f := list.Entries[0].Check(); f == nil || !strings.Contains(f.Message, "uniqueBy") {
		t.Error("the first fault stays: ", f)
	}
}

func TestNearest(t *testing.T) {
	for word, want := range map[string]string{"upate": "update", "SET": "set", "dlete": "delete", "xyz": "", "pul": "pull", "esnure": "ensure"} {
		if got := Nearest(word, actionNames()); got != want {
			t.Errorf("%s: %q; want %q", word, got, want)
		}
	}
}

func TestDecodeValue(t *testing.T) {
	b, err := DecodeValue(map[string]any{"set": map[string]any{"b": int64(1), "a": 2.5}, "delete": []any{"x"}})
	if err != nil || show(b) != "set a=2.5; set b=1; delete x" {
		t.Errorf("%s %v", show(b), err)
	}
	if _, err := DecodeValue(5.0); err == nil {
		t.Error("a number was read as a batch")
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{`[{"action":"set","key":"a","value":1,"options":{"ttl":5}}]`, `{"set":{"a":1},"delete":["b"]}`, "```json\n[{action:'set'", `{"commands":[],"options":{"reads":[]}}`, `{"tavern_commands":"[]"}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		b, err := Decode(s)
		if err != nil {
			return
		}
		for i := range b.Entries {
			e := &b.Entries[i]
			if e.Index != i || e.Malformed == nil && section(string(e.Action)) == "" {
				t.Fatalf("entry %d: %+v", i, e)
			}
			e.Check()
		}
	})
}

// FuzzReadBatch: damaged bytes are refused; what is read is written the same.
func FuzzReadBatch(f *testing.F) {
	for _, text := range []string{`[{"action":"set","key":"s.a","value":1,"options":{"ttl":5,"uniqueBy":["a"],"ifEquals":null}}]`, `{"set":{"s.a":1},"delete":["s.b",5],"options":{"reads":[{"key":"s.a","version":3}]},"tavern_inspect":["s.a"]}`} {
		b, err := Decode(text)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b.AppendMsg(nil))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		b, err := ReadBatch(raw)
		if err != nil {
			return
		}
		first := b.AppendMsg(nil)
		again, err := ReadBatch(first)
		if err != nil || string(again.AppendMsg(nil)) != string(first) {
			t.Fatalf("%v: %+v", err, b)
		}
	})
}
