package agent

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/effect"
	"tavernsim/engine/agent/memory"
	"tavernsim/engine/bus"
	"tavernsim/engine/goal"
	"tavernsim/engine/statecmd"
	"tavernsim/engine/worldstate"
	"tavernsim/protocol"
)

func (s *script) print(format string, args ...any) { fmt.Fprintf(&s.out, format+"\n", args...) }

// printDecision prints what a wake perceived, and what the machine asks and
// decided.
func (s *script) printDecision(in any, d *protocol.Decision) {
	if _, ok := in.(*Wake); ok {
		t := &s.live.space.turn
		for _, e := range t.events {
			v := t.eventValue(e)
			meta, _ := v["metadata"].(map[string]any)
			s.print("perceives %s%s", e.ID, text(map[string]any{"again": meta["redelivered"], "task": meta["task"]}))
		}
		for _, o := range t.m.State.deliveryObservations(t.events, t.wake.Now) {
			s.print("is told %s %s", o.Kind, value(o.Value))
		}
	}
	for _, e := range d.Effects {
		q := e.(*effect.Ask)
		var what string
		if q.Kind == effect.KindModel {
			what = value(q.Model.Messages[len(q.Model.Messages)-1].Text)
		} else {
			what = q.Call.Tool + " " + value(q.Call.Params)
		}
		s.print("asks %s %d: %s%s", q.Kind, q.Number, what, shown(reflect.ValueOf(struct{ Wait, Timeout time.Duration }{q.Wait, q.Timeout})))
		s.printConversation(q.Model.Messages)
	}
	for _, f := range d.Facts {
		if c, ok := f.(*statecmd.Committed); ok {
			s.printCommitted(c)
			continue
		}
		s.print("%s%s", f.FactKind(), shown(reflect.ValueOf(f)))
	}
	for _, r := range d.Requests {
		s.print("request %s", s.request(r))
	}
	if len(d.Effects)+len(d.Facts) == 0 && s.live.turn != nil {
		s.print("waits on")
	}
}

// printConversation prints the messages of a request that is not the first of its turn.
func (s *script) printConversation(list []protocol.ModelMessage) {
	if !slices.ContainsFunc(list, func(m protocol.ModelMessage) bool { return m.Role == protocol.RoleAssistant }) {
		return
	}
	for _, m := range list {
		line := fmt.Sprintf("  %s %s", m.Role, value(m.Text))
		for _, c := range m.Calls {
			line += fmt.Sprintf(" <%s %s %s%s>", c.ID, c.Tool, value(c.Params), c.Broken)
		}
		if m.CallID != "" {
			line += " for " + m.CallID
		}
		s.print("%s", line)
	}
}

// printCommitted prints what each command did; the rest belongs to package
// statecmd.
func (s *script) printCommitted(c *statecmd.Committed) {
	results, _ := c.Outcome()
	for _, r := range results {
		s.print("%s%s", c.FactKind(), shown(reflect.ValueOf(r)))
	}
	if len(results) == 0 {
		s.print("%s", c.FactKind())
	}
}

func (s *script) request(r protocol.Sequenced) string {
	var q any
	var err error
	switch r.To {
	case bus.Service:
		q, err = bus.ReadRequest(r.Data)
	case worldstate.Service:
		var w worldstate.Request
		w, err = worldstate.ReadRequest(r.Data)
		q = w
	default:
		var v any
		v, err = r.Data.Value()
		q = struct{ Value any }{v}
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return r.To + shown(reflect.ValueOf(q))
}

// changes prints the parts of the state that are not as they were printed last.
func (s *script) changes() {
	m := &s.live.State
	part := func(name string, lines []string) {
		text := strings.Join(lines, "\n")
		if s.seen[name] == text {
			return
		}
		if s.seen[name] = text; text == "" {
			s.print("%s: empty", name)
		}
		for _, l := range lines {
			s.print("%s: %s", name, l)
		}
	}
	part("inbox", each(m.inbox, func(h Heard) string {
		more := reflect.ValueOf(struct {
			Ack, Ephemeral bool
			Expires        protocol.Time
			heardMarks
		}{acknowledged(h.Event), h.Event.Ephemeral, h.Event.Expires, h.heardMarks})
		return fmt.Sprintf("%d %s %s%s", h.Number, h.Event.ID, h.Event.Priority, shown(more))
	}))
	part("observations", each(m.observations, func(o Observation) string { return o.Kind + " " + value(o.Value) }))
	part("private", []string{value(m.Private)})
	part("goals", each(m.Goals, func(g goal.Goal) string {
		if g.More == nil {
			return shown(reflect.ValueOf(g))
		}
		return strings.TrimSpace(g.ID + " " + g.Status + " " + g.More.Why) // its fact has the rest
	}))
	part("history", each(m.history, func(u Utterance) string { return u.Who + ": " + u.Text }))
	var d delivery
	if m.more != nil {
		d = *m.more
	}
	part("handled", d.handled)
	part("dropped", each(d.drops, func(x agentfact.Drop) string { return x.Event + " of " + x.Source + ": " + string(x.Reason) }))
	part("in flight", each(d.flight, func(h Heard) string { return h.Event.ID }))
	part("met", each(d.met, func(x goal.Met) string { return shown(reflect.ValueOf(x)) }))
	part("episodes", each(m.Mind().Episodes(), func(e *memory.Episode) string { return fmt.Sprintf("%d %d %s", e.Turn, e.Importance, e.Text) }))
	part("since the last reflection", since(m.Mind().Since()))
	part("tasks", each(d.tasks, func(x agentfact.Task) string { return shown(reflect.ValueOf(x)) }))
	part("ended tasks", each(d.closed, func(x taskEnd) string { return x.ID + " " + string(x.How) }))
}

func since(s memory.Since) []string {
	if s.Turn+uint64(s.Turns) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("turn %d turns=%d failures=%d importance=%d today=%d then=%s", s.Turn, s.Turns, s.Failures, s.Importance, s.Count, value(s.State))}
}

func each[T any](list []T, f func(T) string) (out []string) {
	for _, x := range list {
		out = append(out, strings.TrimSpace(f(x)))
	}
	return out
}

// shown lists the fields that are not zero, as name=value. Times are seconds of
// the scene, encoded values are JSON. A fact's agent is always the same.
func shown(v reflect.Value) string {
	v = reflect.Indirect(v)
	var b strings.Builder
	for i := range v.NumField() {
		f, field := v.Type().Field(i), v.Field(i)
		switch {
		case field.IsZero() || f.Name == "Agent" && field.Kind() == reflect.Uint32:
		case field.Kind() == reflect.Struct && f.Anonymous:
			b.WriteString(shown(field))
		case !f.IsExported():
		default:
			fmt.Fprintf(&b, " %s=%s", strings.Replace(strings.ToLower(f.Name[:1])+f.Name[1:], "iD", "id", 1), plain(field))
		}
	}
	return b.String()
}

func plain(v reflect.Value) string {
	v = reflect.Indirect(v)
	switch x := v.Interface().(type) {
	case protocol.Raw:
		decoded, err := x.Value()
		if err != nil {
			return err.Error()
		}
		return value(decoded)
	case protocol.Time:
		return fmt.Sprintf("%gs", float64(x-moment(0))/float64(time.Second))
	case fmt.Stringer:
		return x.String()
	}
	switch v.Kind() {
	case reflect.Struct:
		return "{" + strings.TrimSpace(shown(v)) + "}"
	case reflect.Slice:
		var list []string
		for i := range v.Len() {
			list = append(list, plain(v.Index(i)))
		}
		return "[" + strings.Join(list, " ") + "]"
	case reflect.String:
		if s := v.String(); !strings.ContainsAny(s, " \n") {
			return s
		}
	}
	return value(v.Interface())
}

// text lists what is not null.
func text(m map[string]any) (out string) {
	for _, k := range protocol.SortedKeys(m) {
		if m[k] != nil {
			out += fmt.Sprintf(" %s=%s", k, value(m[k]))
		}
	}
	return out
}

func value(v any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err.Error()
	}
	return strings.TrimSpace(b.String())
}
