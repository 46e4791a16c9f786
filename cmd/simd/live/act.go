package live

import (
	"fmt"
	"slices"
	"strings"

	"tavernsim/engine/agent/person"
	"tavernsim/engine/panel"
	"tavernsim/internal/terminal"
	"tavernsim/protocol"
)

// Words of a player beside what its agent says.
const (
	wordPass    = "/pass"
	wordEvent   = "/event"
	wordCall    = "/call"
	wordCan     = "/can"
	wordRelease = "/release"
	wordHelp    = "/help"
)

const actHelp = `  words are said aloud; others:
  /event TYPE [JSON]   publish an event with this payload
  /call TOOL [JSON]    call a tool with these parameters
  /can [TOOL]          what the agent can do
  /pass                do nothing this turn
  /release             let the agent go on by itself
  {"say": ...}         a whole decision, as docs/formats/deliberation.md has it
  an empty line        answer later: simd interact DIR ID`

// acts reports whether a question asks the player of an agent what it does.
func acts(q *panel.Asked) bool { return q.Action == person.Action && q.Panel == "" }

// actOf reads a line of a player: an answer, or something to print, or the word that lets the
// agent go.
func actOf(q *panel.Asked, line string) (v any, told string, released bool, err error) {
	word, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	if !strings.HasPrefix(word, "/") {
		v, err = answerOf(q, line)
		return v, "", false, err
	}
	named, text, _ := strings.Cut(rest, " ")
	var data any
	if text = strings.TrimSpace(text); text != "" {
		if data, err = valueOf(text); err != nil {
			return nil, "", false, fmt.Errorf("%s: want JSON: %w", protocol.Short(text, 80), err)
		}
	}
	switch {
	case word == wordPass && rest == "":
		return nil, "", false, nil
	case word == wordRelease && rest == "":
		return nil, "", true, nil
	case word == wordHelp:
		return nil, actHelp, false, nil
	case word == wordCan:
		return nil, canText(q, rest), false, nil
	case word == wordEvent && named != "":
		e := map[string]any{"type": named}
		if data != nil {
			e["payload"] = data
		}
		return map[string]any{"events": []any{e}}, "", false, nil
	case word == wordCall && named != "":
		params, ok := data.(map[string]any)
		if data != nil && !ok {
			return nil, "", false, fmt.Errorf("%s: want the parameters of %s, an object", protocol.Short(text, 80), protocol.Short(named, 80))
		}
		return map[string]any{"calls": []any{map[string]any{"tool": named, "params": params}}}, "", false, nil
	}
	return nil, "", false, fmt.Errorf("%s: there is no such word; %s lists them", protocol.Short(line, 80), wordHelp)
}

// tools lists what an agent can call.
func tools(q *panel.Asked) (list []map[string]any) {
	payload, _ := q.Payload.(map[string]any)
	can, _ := payload["available_capabilities"].(map[string]any)
	for _, kind := range []string{"tools", "skills"} {
		list = append(list, protocol.ObjectsIn(can[kind])...)
	}
	return list
}

// canText describes what an agent can call, or one tool with its parameters.
func canText(q *panel.Asked, name string) string {
	var b strings.Builder
	for _, t := range tools(q) {
		id := asText(t["id"])
		if name != "" && !strings.EqualFold(id, name) {
			continue
		}
		fmt.Fprintf(&b, "  %-28s  %s\n", terminal.Plain(id), terminal.Plain(asText(t["description"])))
		if name != "" {
			fmt.Fprintf(&b, "  %s\n", terminal.Plain(asText(t["parameters"])))
		}
	}
	if b.Len() == 0 {
		return "  nothing of that name"
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// actText shows what an agent perceives, to who plays it.
func actText(q *panel.Asked) string {
	p, _ := q.Payload.(map[string]any)
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s asks %s what it does", terminal.Plain(q.ID), terminal.Plain(q.Agent), terminal.Plain(q.To))
	if now := asText(p["now"]); p["now"] != nil {
		fmt.Fprintf(&b, ", at %s", terminal.Plain(now))
	}
	line := func(title, format string, args ...any) {
		fmt.Fprintf(&b, "\n  %-8s  %s", title, terminal.Plain(protocol.Short(fmt.Sprintf(format, args...), 400)))
	}
	shown := append(person.Perceived(), "left_out", "self", "interaction_history", "scene")
	for _, u := range newest(protocol.ObjectsIn(p["interaction_history"]), 3) {
		line("before", "%s: %s", asText(u["who"]), asText(u["text"]))
	}
	for _, e := range protocol.ObjectsIn(p["incoming_events"]) {
		from, payload := asText(e["source_agent_instance_id"]), e["payload"]
		meta, _ := e["metadata"].(map[string]any)
		said, _ := payload.(map[string]any)
		text := asText(payload)
		if words, ok := said["text"].(string); ok && len(said) == 1 {
			text = words
		}
		if meta["expects_reply"] == true {
			text += fmt.Sprintf("  (asks for an answer, task_id %s)", asText(meta["task_id"]))
		}
		line("heard", "%s %s: %s", from, asText(e["type"]), text)
	}
	for _, o := range protocol.ObjectsIn(p["observations"]) {
		line("noticed", "%s", asText(any(without(o, "time"))))
	}
	for _, g := range protocol.ObjectsIn(p["active_goals"]) {
		line("wants", "%s: %s", asText(g["id"]), asText(g["description"]))
	}
	state, _ := p["private_state"].(map[string]any)
	for _, name := range protocol.SortedKeys(state) {
		line("state", "%s: %s", name, asText(state[name]))
	}
	scene, _ := p["scene"].(map[string]any)
	for _, name := range protocol.SortedKeys(scene) {
		if turn, ok := scene[name].(map[string]any); ok && turn["holder"] != nil {
			line("scene", "round %s, it is the turn of %s", asText(turn["round"]), asText(turn["holder"]))
		} else if text := asText(scene[name]); text != "" {
			line("scene", "%s: %s", name, text)
		}
	}
	for _, name := range protocol.SortedKeys(p) {
		title, v := strings.TrimSuffix(name, "_state"), p[name]
		if fields, ok := v.(map[string]any); ok && !slices.Contains(shown, name) {
			for _, field := range protocol.SortedKeys(fields) {
				line(title, "%s: %s", field, asText(fields[field]))
			}
		} else if !slices.Contains(shown, name) && v != nil {
			line(title, "%s", asText(v))
		}
	}
	if p["left_out"] != nil {
		line("left out", "%s (simd inspect DIR agent %s)", asText(p["left_out"]), q.Agent)
	}
	var ids []string
	for _, t := range tools(q) {
		ids = append(ids, asText(t["id"]))
	}
	if len(ids) > 0 {
		line("can", "%s", strings.Join(ids, ", "))
	}
	fmt.Fprintf(&b, "\n  %s; /help lists other words", endText(q))
	return b.String()
}

func newest[T any](list []T, n int) []T { return list[max(0, len(list)-n):] }

func without(m map[string]any, field string) map[string]any {
	rest := map[string]any{}
	for k, v := range m {
		if k != field {
			rest[k] = v
		}
	}
	return rest
}
