package compare

import (
	"fmt"
	"os"
	"reflect"
	"strings"

	"tavernsim/llm/replay"
	"tavernsim/protocol"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/view/inspect"
)

// Questions compares what the models of a turn were asked with the nearest questions of
// other recorded answers: a run directory, whose turns are decided again, or a cassette.
func Questions(scene string, d *inspect.Deliberation, from string) error {
	answers, err := rundir.ReadAnswers(from)
	if err != nil {
		return err
	}
	turns := func(string) (*inspect.Deliberation, error) { return nil, nil }
	if info, err := os.Stat(from); err == nil && info.IsDir() {
		run, err := inspect.Open(from)
		if err != nil {
			return err
		}
		defer run.Close()
		other, err := run.Scene(scene)
		if err != nil {
			return err
		}
		turns = other.Deliberation
	}
	for i := range d.Models {
		if err := question(scene, d, &d.Models[i], answers, turns); err != nil {
			return err
		}
	}
	return nil
}

func question(scene string, d *inspect.Deliberation, m *inspect.Asked, answers *replay.Answers, turns func(string) (*inspect.Deliberation, error)) error {
	m.Against = &inspect.Against{}
	e := answers.Nearest(replay.Place{Scene: scene, Agent: d.Agent, Turn: d.Turn, Request: m.Request})
	switch {
	case e == nil:
		m.Against.Differs = "nothing is recorded of this agent"
		return nil
	case m.Question == nil:
		m.Against.Differs = "what was asked here is not known"
	}
	m.Against.Turn, m.Against.Request = e.Turn, e.Request
	if m.Question == nil {
		return nil
	}
	other, err := turns(fmt.Sprintf("%s/%d", d.Agent, e.Turn))
	if err != nil {
		return fmt.Errorf("the nearest recorded turn: %w", err)
	}
	if other == nil {
		byCassette(m.Against, e, m.Question)
		return nil
	}
	for i := range other.Models {
		if q := other.Models[i].Question; other.Models[i].Request == e.Request && q != nil {
			byQuestion(m.Against, q, m.Question)
			return nil
		}
	}
	m.Against.Differs = strings.TrimSuffix("what was asked there is not known: "+other.Differs, ": ")
	return nil
}

// byCassette compares what a cassette has of a question.
func byCassette(to *inspect.Against, e *replay.Entry, asked *inspect.Question) {
	var b strings.Builder
	for _, m := range asked.Messages {
		if m.Role != string(protocol.RoleSystem) {
			b.WriteString(m.Text + "\n")
		}
	}
	situation := b.String()
	switch {
	case e.Situation == "":
		to.Differs = "the cassette does not have what was asked (simd cassette export --situations)"
	case !strings.HasSuffix(situation, e.Situation):
		to.Differs = "the messages without the system's"
		textDiffers(to, e.Situation, situation)
	default:
		to.Differs = "the messages without the system's are the same; a cassette has nothing else of a question"
	}
}

// byQuestion names the first part in which two questions differ, in the order in which a
// model reads them.
func byQuestion(to *inspect.Against, recorded, asked *inspect.Question) {
	for i := range max(len(recorded.Messages), len(asked.Messages)) {
		switch {
		case i >= len(recorded.Messages):
			to.Differs = fmt.Sprintf("message %d (%s) was not there", i+1, asked.Messages[i].Role)
		case i >= len(asked.Messages):
			to.Differs = fmt.Sprintf("message %d (%s) is not there any more", i+1, recorded.Messages[i].Role)
		default:
			a, b := &recorded.Messages[i], &asked.Messages[i]
			to.Differs = fmt.Sprintf("message %d (%s)", i+1, b.Role)
			if !textDiffers(to, a.Text, b.Text) && reflect.DeepEqual(a, b) {
				continue
			}
		}
		return
	}
	to.Differs = ""
	for _, part := range []struct {
		name string
		a, b any
	}{
		{"the tools", recorded.Tools, asked.Tools},
		{"max_tokens", recorded.MaxTokens, asked.MaxTokens},
		{"temperature", recorded.Temperature, asked.Temperature},
		{"the stop texts", recorded.Stop, asked.Stop},
		{"whether JSON is asked for", recorded.JSON, asked.JSON},
	} {
		if !reflect.DeepEqual(part.a, part.b) {
			to.Differs = part.name
			return
		}
	}
	if recorded.Recorded != asked.Recorded {
		to.Differs = "the model or a parameter of its file"
	}
}

func textDiffers(to *inspect.Against, recorded, asked string) bool {
	d := replay.Differ(recorded, asked)
	if d != nil {
		to.Line, to.Character, to.Recorded, to.Asked = d.Line, d.Column, d.Recorded, d.Asked
	}
	return d != nil
}
