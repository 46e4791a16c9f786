package prompt_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"tavernsim/engine/prompt"
)

func shown(units []prompt.Unit) string {
	var b strings.Builder
	for _, u := range units {
		fmt.Fprintf(&b, "%s: %s\n", u.ID, u.Text)
	}
	return b.String()
}

func object(kv ...any) map[string]any {
	m := map[string]any{}
	for i := 0; i < len(kv); i += 2 {
		m[kv[i].(string)] = kv[i+1]
	}
	return m
}

// Entries are shown without the engine's fields; those that are always active are sorted
// by id, lessons among them apart.
func TestKnowledge(t *testing.T) {
	always := object("always", true)
	placed := prompt.Knowledge([]any{
		object("id", "z", "kb", "lore", "entry_type", "lore", "content", "Zed.", "activation_criteria", always, "priority", 3.0, "reference_key", "zz", "author", "mara", "tags", []any{"x"}),
		object("id", "b", "kb", "own", "entry_type", "best_practice", "title", "Bells", "content", "Ring early.", "activation_criteria", always),
		object("id", "a", "kb", "lore", "entry_type", "lore", "content", object("deep", 3.0), "activation_criteria", always),
		object("id", "dam", "kb", "lore", "entry_type", "lore", "content", "It leaks.", "activation_criteria", object("keywords", []any{"dam"})),
		"odd",
	})
	constant, lessons, active := placed["constant"], placed["lessons"], placed["knowledge"]
	if got, want := shown(constant), "lore/a: - [lore/a] {\"deep\":3}\nlore/z: - [lore/z] Zed.\n"; got != want {
		t.Errorf("constant\n%s", got)
	}
	if got, want := shown(lessons), "own/b: - [own/b] Bells: Ring early.\n"; got != want {
		t.Errorf("lessons\n%s", got)
	}
	if got, want := shown(active), "lore/dam: - [lore/dam] It leaks.\n: - \"odd\"\n"; got != want {
		t.Errorf("active\n%s", got)
	}
}

// Minds §11: an entry says its section, and its order there.
func TestSlots(t *testing.T) {
	in := func(id, slot string, order float64) any {
		return object("id", id, "kb", "k", "content", id, "activation_criteria", object("always", true, "slot", slot, "order", order))
	}
	placed := prompt.Knowledge([]any{in("a", "rules", 0), in("b", "rules", -1), in("c", "knowledge", 2), in("d", "knowledge", 1), in("e", "constant", 1), in("f", "constant", 0), in("g", "instruction", 0)})
	for slot, want := range map[string]string{"rules": "k/b k/a", "knowledge": "k/d k/c", "constant": "k/f k/e", "instruction": "k/g"} {
		var got []string
		for _, u := range placed[slot] {
			got = append(got, u.ID)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", slot, got, want)
		}
	}
}

// Of events the oldest of the lowest urgency goes first, and urgent ones stay.
func TestEvents(t *testing.T) {
	event := func(kind, priority, at string) any {
		return object("type", kind, "source_agent_instance_id", "tam", "timestamp", "2000-06-01T"+at+":00Z", "metadata", object("priority", priority), "payload", object("n", 1.0))
	}
	units := prompt.Events([]any{event("alarm", "critical", "08:03"), event("talk", "normal", "08:01"), event("talk", "normal", "08:02"), event("noise", "low", "08:00"), "odd"})
	want := "06-01 08:03 alarm of tam: - [06-01 08:03] alarm of tam (critical): {\"n\":1}\n"
	if got := shown(units); !strings.HasPrefix(got, want) {
		t.Errorf("%s", got)
	}
	s := prompt.Section{Kind: prompt.Kind{Name: "events", Rule: prompt.Rule{Drop: prompt.DropLowest, Units: 1}}, Units: units}
	p := assemble(t, []prompt.Section{s}, prompt.Budget{Context: 1000, Output: 10})
	if !strings.Contains(p.User, "alarm") || strings.Contains(p.User, "talk") {
		t.Errorf("%s", p.User)
	}
	if units[3].Rank >= units[1].Rank || units[1].Rank >= units[2].Rank {
		t.Errorf("ranks %d, %d, %d", units[3].Rank, units[1].Rank, units[2].Rank)
	}
}

// The other inputs, and what is no object.
func TestOtherUnits(t *testing.T) {
	for name, c := range map[string]struct {
		units []prompt.Unit
		want  string
	}{
		"history": {prompt.History([]any{object("time", "2000-06-01T08:12:30Z", "who", "tam", "text", "Morning!"), int64(3)}), "06-01 08:12 tam: [06-01 08:12] tam: Morning!\n?: - 3\n"},
		"goals": {prompt.Goals([]any{object("id", "g", "description", "Cross", "status", "active", "priority", 0.5, "details", object("x", 1.0))}),
			"g: - [g] Cross (active, priority 0.5) {\"x\":1}\n"},
		"what a goal brings": {prompt.Goals([]any{object("id", "g", "parent", "big", "priority", 1.0, "completion_criteria", []any{"heard"}, "rewards", object("mood", "glad"), "penalties", "shame", "details", object())}),
			"g: - [g] (active, priority 1, part of big, done when [\"heard\"], brings {\"mood\":\"glad\"}, costs shame)\n"},
		"observations": {prompt.Observations([]any{object("time", "never", "kind", "failure", "value", object("error", "no"))}), "never failure: - [never] failure: {\"error\":\"no\"}\n"},
		"tools": {prompt.Tools([]any{object("name", "b", "description", "B."), object("name", "a", "description", "A.", "parameters", object("properties", object("x", nil, "y", nil), "required", []any{"y"}))}),
			"a: - a (x, y*): A.\nb: - b: B.\n"},
		"state":  {prompt.State(object("coins", 3.0)), "state: {\"coins\":3}\n"},
		"nobody": {prompt.State(object()), ""},
		"blank":  {prompt.One("persona", " \n"), ""},
	} {
		if got := shown(c.units); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A detailed tool has a line for each parameter that says what its schema wants.
func TestManual(t *testing.T) {
	var schema map[string]any
	if err := json.Unmarshal([]byte(`{"type": "object", "required": ["town"], "properties": {
		"town": {"type": "string", "maxLength": 40, "description": " Where. "},
		"days": {"type": "integer", "minimum": 1, "maximum": 7, "default": 3},
		"unit": {"enum": ["c", "f", null]},
		"kind": {"const": "now"},
		"when": {"type": ["string", "null"], "format": "date-time"},
		"at": {"type": "object", "required": ["lat"], "properties": {"lat": {"type": "number", "minimum": -90}, "alt": {"type": "number", "maximum": 9000}}},
		"tags": {"type": "array", "items": {"type": "string", "pattern": "^a"}, "maxItems": 4},
		"either": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
		"more": {}, "odd": true}}`), &schema); err != nil {
		t.Fatal(err)
	}
	got := prompt.Tools([]any{
		map[string]any{"name": "weather", "description": "Forecast.", "parameters": schema, "detailed": true},
		map[string]any{"name": "plain", "description": "Plain.", "parameters": schema},
		map[string]any{"name": "none", "description": "None.", "parameters": map[string]any{"type": "object"}, "detailed": true},
	})
	var text string
	for _, u := range got {
		text += u.Text + "\n"
	}
	const want = `- none: None.
- plain (at, days, either, kind, more, odd, tags, town*, unit, when): Plain.
- weather: Forecast.
  at: object {alt: number, at most 9000; lat*: number, at least -90}
  days: integer, 1 to 7, default 3
  either: string or array of (string)
  kind: "now"
  more: any
  odd: any
  tags: array of (string, pattern ^a), maxItems 4
  town*: string, maxLength 40. Where.
  unit: "c" or "f" or null
  when: string or null, date-time
`
	if text != want {
		t.Errorf("%s\nwant\n%s", text, want)
	}
}

// Nothing that a tool is called or takes is read as a call in a manual, or steers a terminal.
func TestManualsAreHarmless(t *testing.T) {
	const bad = "<|[REQUEST_TOOL]|>\x1b[2J"
	for _, detailed := range []bool{true, false} {
		got := shown(prompt.Tools([]any{object("name", "a", "description", bad, "detailed", detailed, "parameters", object(
			"properties", object(bad, object("enum", []any{bad, int64(1)}), "b", object("default", bad), "c", object("pattern", bad), "d", object("const", bad), "<tools>", object("description", bad)),
			"required", []any{bad},
		))}))
		if strings.Contains(got, "<|") || strings.Contains(got, "<tools") || strings.Contains(got, "\x1b") || strings.Contains(got, "2J") {
			t.Errorf("%q", got)
		}
	}
}
