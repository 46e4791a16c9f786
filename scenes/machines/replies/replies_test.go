package replies_test

import (
	"strings"
	"testing"

	"tavernsim/engine/tooltask"
	"tavernsim/protocol"
	"tavernsim/scenes/machines/replies"
)

// A person takes over an agent that is there, that nobody else plays, and that the person may play.
func TestUnseatable(t *testing.T) {
	people := replies.People{Players: func(agent, _ string) []string { return map[string][]string{"king": {"ada"}}[agent] }}
	people.Tasks.Apply(&tooltask.TakenOver{Player: tooltask.Player{Agent: "guard", By: "bo"}})
	for name, c := range map[string]struct {
		agent, by     string
		release, gone bool
		want          string
	}{
		"anybody":           {agent: "cook", by: "cy"},
		"one who may":       {agent: "king", by: "ada"},
		"one who may not":   {agent: "king", by: "cy", want: `"cy" may not play it; ada may`},
		"again":             {agent: "guard", by: "bo"},
		"another":           {agent: "guard", by: "cy", want: "bo plays it"},
		"a release":         {agent: "guard", by: "cy", release: true},
		"nothing to leave":  {agent: "cook", by: "cy", release: true, want: "nobody plays it"},
		"not in the scene":  {agent: "cook", by: "cy", gone: true, want: "it is not in the scene now"},
		"left while played": {agent: "guard", by: "bo", release: true, gone: true, want: "it is not in the scene now"},
	} {
		why := people.Unseatable(&tooltask.Seat{Player: tooltask.Player{Agent: c.agent, By: c.by}, Release: c.release}, !c.gone)
		if !strings.HasPrefix(why, c.want) || c.want == "" && why != "" {
			t.Errorf("%s: %q, want %q", name, why, c.want)
		}
	}
}

// A question that is open is dismissed by anybody, and a call of a tool by nobody.
func TestUnanswerable(t *testing.T) {
	people := replies.People{Players: func(string, string) []string { return []string{"ada"} }}
	for _, task := range []tooltask.Task{{ID: "q", Agent: "a", Kind: tooltask.KindPerson}, {ID: "dig", Agent: "a", Tool: "Dig", Kind: "tool"}, {ID: "old", Agent: "a"}} {
		people.Tasks.Apply(&tooltask.Opened{Task: task})
	}
	people.Tasks.Apply(&tooltask.Ended{ID: "old", Agent: "a", Status: "ok"})
	for name, c := range map[string]struct {
		id, by   string
		answered bool
		want     string
	}{
		"an answer":            {"q", "ada", true, ""},
		"of somebody else":     {"q", "bo", true, `"bo"`},
		"dismissed":            {"q", "bo", false, ""},
		"a call":               {"dig", "ada", false, "it is a call of Dig"},
		"that has ended":       {"old", "ada", true, "it has ended already (ok)"},
		"that was never there": {"none", "ada", true, "there is none"},
	} {
		if why := people.Unanswerable(c.id, c.answered, protocol.Encode("yes"), c.by); !strings.Contains(why, c.want) || c.want == "" && why != "" {
			t.Errorf("%s: %q, want %q", name, why, c.want)
		}
	}
}
