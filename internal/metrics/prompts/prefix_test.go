package prompts

import (
	"fmt"
	"strings"
	"testing"

	"tavernsim/protocol"
)

// The ratio is of the bytes that an agent's prompt shares with its prompt before.
func TestPromptPrefix(t *testing.T) {
	p := New()
	p.Runs("s", true)
	ask := func(agent, text string) (float64, bool) {
		return p.Share("s", &protocol.ModelRequest{Agent: agent, Messages: []protocol.ModelMessage{{Text: text}}}, answered())
	}
	long := strings.Repeat("word ", 200)
	if _, ok := ask("a", long); ok {
		t.Error("a first prompt has a ratio")
	}
	if _, ok := ask("b", long); ok {
		t.Error("another agent's prompt counts")
	}
	for _, c := range []struct {
		text     string
		from, to float64
	}{{long, 1, 1}, {long + long, 0.4, 0.5}, {long + "new", 0.9, 1}, {"x" + long, 0, 0}} {
		if got, ok := ask("a", c.text); !ok || got < c.from || got > c.to {
			t.Errorf("%.20q: %v, want %v to %v", c.text, got, c.from, c.to)
		}
	}
}

func answered() *protocol.ModelAnswer {
	return &protocol.ModelAnswer{Origin: &protocol.ModelOrigin{Endpoint: "cloud"}}
}

// There is room for the agents of scenes that run: those of one that has ended leave it.
func TestScenesThatRun(t *testing.T) {
	p := New()
	p.Runs("one", true)
	p.Runs("two", true)
	ask := func(scene, agent string) bool {
		_, ok := p.Share(scene, &protocol.ModelRequest{Agent: agent, Messages: []protocol.ModelMessage{{Text: "words"}}}, answered())
		return ok
	}
	for i := range maxPrefixes {
		ask("one", fmt.Sprint(i))
	}
	if ask("two", "a"); ask("two", "a") {
		t.Error("there was room for more agents than the bound")
	}
	p.Runs("one", false)
	if ask("two", "a"); !ask("two", "a") {
		t.Error("the room of a scene that has ended is not given to others")
	}
	if ask("one", "1"); ask("one", "1") {
		t.Error("a prompt of a scene that has ended is kept")
	}
}
