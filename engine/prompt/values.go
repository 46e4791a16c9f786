package prompt

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"tavernsim/engine/template"
	"tavernsim/protocol"
	"tavernsim/tam/answer"
)

// What follows makes units of the inputs of a core workflow, in the form of
// docs/formats/deliberation.md. What is no object of that form is shown as JSON.

// Tools describes tools in the text, for grammars without native calls, sorted by name. Nothing in it is
// read as a call. Those that are detailed have a line for each parameter, others only the names.
func Tools(list []any) (units []Unit) {
	for _, v := range list {
		m, _ := v.(map[string]any)
		name := text(m, "name")
		names, lines := "", ""
		if m["detailed"] == true {
			lines = manual(m["parameters"])
		} else if list := parameters(m["parameters"]); list != "" {
			names = " (" + list + ")"
		}
		units = append(units, Unit{ID: name, Text: answer.Clean("- " + name + names + ": " + text(m, "description") + lines)})
	}
	sortByID(units)
	return units
}

// parameters lists the names of a schema's properties; those that must be given have a star.
func parameters(schema any) string {
	m, _ := schema.(map[string]any)
	properties, _ := m["properties"].(map[string]any)
	names := make([]string, 0, len(properties))
	for name := range properties { // sorted below
		names = append(names, name+starOf(m, name))
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// Placed are the units of active entries, by section.
type Placed map[string][]Unit

// Knowledge makes units of active entries: those that are always active, which stand with
// the lessons among them in the stable part, by id, and the others in their order, the
// first with the highest rank. An entry may say its section, and its order there. Fields of
// the engine's own are left out: what makes an entry active, its key, its dates.
func Knowledge(list []any) Placed {
	out := Placed{}
	orders := map[string]float64{}
	for i, v := range list {
		m, ok := v.(map[string]any)
		u := Unit{ID: path(text(m, "kb"), text(m, "id")), Rank: int64(len(list) - i)}
		if !ok {
			u.Text = "- " + asJSON(v)
			out["knowledge"] = append(out["knowledge"], u)
			continue
		}
		u.Text = entry(m)
		criteria, _ := m["activation_criteria"].(map[string]any)
		always, _ := criteria["always"].(bool)
		kind := text(m, "entry_type")
		slot := text(criteria, "slot")
		switch {
		case slot != "":
		case always && (kind == "best_practice" || kind == "failed_lesson"):
			slot = "lessons"
		case always:
			slot = "constant"
		default:
			slot = "knowledge"
		}
		if order, ok := protocol.Number(criteria["order"]); ok {
			orders[u.ID] = order
		}
		out[slot] = append(out[slot], u)
	}
	sortByID(out["constant"])
	sortByID(out["lessons"])
	if len(orders) > 0 {
		for _, units := range out {
			slices.SortStableFunc(units, func(a, b Unit) int { return cmp.Compare(orders[a.ID], orders[b.ID]) })
		}
	}
	return out
}

func entry(m map[string]any) string {
	b := []byte("- [" + path(text(m, "kb"), text(m, "id")) + "]")
	if title := text(m, "title"); title != "" {
		b = append(append(append(b, ' '), title...), ':')
	}
	if content, ok := m["content"]; ok && content != nil {
		b = append(b, ' ')
		b = appendValue(b, content)
	}
	if goal, ok := m["goal"].(map[string]any); ok {
		b = append(append(b, ' '), asJSON(goal)...)
	}
	return string(b)
}

// History makes units of what was said.
func History(list []any) []Unit {
	return each(list, func(m map[string]any) Unit {
		at, seconds := clock(text(m, "time"))
		who := cmp.Or(text(m, "who"), "?")
		return Unit{ID: at + " " + who, Text: "[" + at + "] " + who + ": " + text(m, "text"), Moment: seconds}
	})
}

// Episodes makes units of what an agent remembers of its turns, oldest first; without scores
// the oldest has the lowest rank.
func Episodes(list []any) []Unit {
	units := each(list, func(m map[string]any) Unit {
		at, seconds := clock(text(m, "time"))
		rank, _ := m["score"].(int64)
		return Unit{ID: text(m, "id"), Text: "- [" + at + "] " + text(m, "content"), Rank: rank, Moment: seconds}
	})
	for i := range units {
		if units[i].Rank == 0 {
			units[i].Rank = int64(i)
		}
		units[i].Rank = min(units[i].Rank, Protected-1)
	}
	return units
}

// Goals makes units of goals.
func Goals(list []any) []Unit {
	return each(list, func(m map[string]any) Unit {
		b := []byte("- [" + text(m, "id") + "]")
		if d := text(m, "description"); d != "" {
			b = append(append(b, ' '), d...)
		}
		b = append(b, " ("...)
		b = append(b, cmp.Or(text(m, "status"), "active")...)
		b = append(b, ", priority "...)
		b = appendValue(b, m["priority"])
		b = append(goalDetails(b, m), ')')
		if d := m["details"]; !empty(d) {
			b = appendValue(append(b, ' '), d)
		}
		return Unit{ID: text(m, "id"), Text: string(b)}
	})
}

// goalDetails appends what is known of a goal beside its text.
func goalDetails(b []byte, m map[string]any) []byte {
	for _, x := range [...]struct{ name, says string }{
		{"progress", "progress"}, {"deadline", "until"}, {"parent", "part of"}, {"given_by", "given by"}, {"exclusive", "needs"},
		{"preconditions", "only if"}, {"completion_criteria", "done when"}, {"failure_criteria", "fails when"},
		{"rewards", "brings"}, {"penalties", "costs"}, {"why", "because"},
	} {
		if v := m[x.name]; !empty(v) {
			b = append(append(append(b, ", "...), x.says...), ' ')
			b = appendValue(b, v)
		}
	}
	return b
}

// Observations makes units of observations.
func Observations(list []any) []Unit {
	return each(list, func(m map[string]any) Unit {
		at, seconds := clock(text(m, "time"))
		kind := text(m, "kind")
		return Unit{ID: at + " " + kind, Text: "- [" + at + "] " + kind + ": " + asJSON(m["value"]), Moment: seconds}
	})
}

// Events makes units of events. Urgent ones are never dropped, of the others the oldest of
// the lowest urgency first.
func Events(list []any) []Unit {
	units := each(list, func(m map[string]any) Unit {
		at, seconds := clock(text(m, "timestamp"))
		kind, source := text(m, "type"), cmp.Or(text(m, "source_agent_instance_id"), "?")
		metadata, _ := m["metadata"].(map[string]any)
		u := Unit{ID: at + " " + kind + " of " + source, Moment: seconds}
		b := []byte("- [" + at + "] " + kind + " of " + source)
		switch p := text(metadata, "priority"); p {
		case "high", "critical":
			u.Rank = Protected
			b = append(append(append(b, " ("...), p...), ')')
		case "low":
		default:
			u.Rank = 1 << 32
		}
		if task, ok := metadata["task"]; ok {
			b = append(append(b, " task "...), asJSON(task)...)
		}
		if payload := m["payload"]; !empty(payload) {
			b = appendValue(append(b, ": "...), payload)
		}
		u.Text = string(b)
		return u
	})
	for i := range units {
		if units[i].Rank < Protected {
			units[i].Rank += int64(i) // of equals the last is the newest
		}
	}
	return units
}

// One makes the only unit of a section; none for no text.
func One(id, text string) []Unit {
	if text = strings.TrimSpace(text); text == "" {
		return nil
	}
	return []Unit{{ID: id, Text: text}}
}

func each(list []any, unit func(map[string]any) Unit) []Unit {
	units := make([]Unit, 0, len(list))
	for _, v := range list {
		if m, ok := v.(map[string]any); ok {
			units = append(units, unit(m))
		} else {
			units = append(units, Unit{ID: "?", Text: "- " + asJSON(v)})
		}
	}
	return units
}

func sortByID(units []Unit) {
	slices.SortStableFunc(units, func(a, b Unit) int { return strings.Compare(a.ID, b.ID) })
}

func text(m map[string]any, key string) string {
	s, _ := m[key].(string)
	return s
}

func path(kb, id string) string {
	if kb == "" {
		return id
	}
	return kb + "/" + id
}

func empty(v any) bool {
	switch x := v.(type) {
	case nil:
		return true
	case string:
		return x == ""
	case []any:
		return len(x) == 0
	case map[string]any:
		return len(x) == 0
	}
	return false
}

// Request counts what a model reads of a request.
func Request(q *protocol.ModelRequest) (n int) {
	for i := range q.Messages {
		m := &q.Messages[i]
		n += PerMessage + lineTokens(m.Text)
		for k := range m.Calls {
			n += Tokens(m.Calls[k].Tool) + JSONTokens(m.Calls[k].Params)
		}
	}
	for i := range q.Tools {
		t := &q.Tools[i]
		n += PerTool + Tokens(t.Name) + Tokens(t.Description) + JSONTokens(t.Parameters)
	}
	return n
}

// Extra counts the fields of the endpoint's own, any of which the model may read.
func Extra(o *protocol.ModelOptions) int {
	if o == nil || len(o.Extra) == 0 {
		return 0
	}
	return JSONTokens(o.Extra)
}

// JSONTokens counts a value as JSON.
func JSONTokens(v any) int { return Tokens(asJSON(v)) }

func asJSON(v any) string { return string(template.AppendJSON(nil, v)) }

// appendValue writes text as it is and everything else as JSON.
func appendValue(b []byte, v any) []byte { return template.AppendText(b, v) }

// clock is a moment as a prompt shows it, to the minute, and its second.
func clock(at string) (string, int64) {
	t, err := time.Parse(time.RFC3339Nano, at)
	if err != nil {
		return at, 0
	}
	return t.Format("01-02 15:04"), t.Unix()
}

// State makes the unit of the private state.
func State(v any) []Unit {
	if empty(v) {
		return nil
	}
	return []Unit{{ID: "state", Text: asJSON(v)}}
}
