package inspect

import (
	"cmp"
	"slices"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/effect"
	"tavernsim/engine/prompt"
	"tavernsim/engine/secret"
	"tavernsim/internal/source"
	"tavernsim/llm"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/protocol/bound"
	"tavernsim/protocol/picture"
	"tavernsim/scenes/history"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/view/factjson"
	"tavernsim/scenes/view/verify"
)

// Question is what a model was asked.
type Question struct {
	Messages    []Message `json:"messages"`
	Tools       []Offered `json:"tools"`
	MaxTokens   int       `json:"max_tokens"` // 0 = the model file's
	Temperature *float64  `json:"temperature"`
	Stop        []string  `json:"stop"`
	JSON        bool      `json:"json"`
	Tokens      int       `json:"tokens"`             // by the table of prompts
	Prompt      any       `json:"prompt"`             // trace of the node that assembled it; null = none did
	Recorded    string    `json:"recorded"`           // hash of the question in the fact of the answer; "" = a model inside the program answered
	Model       string    `json:"asked"`              // name of the model whose question has this hash; "" = none has
	Or          []string  `json:"asked_or,omitempty"` // other such models, if nothing says which was asked
}

// Message is a message of a question.
type Message struct {
	Role   string `json:"role"`
	Text   string `json:"text"`
	Calls  any    `json:"calls"`
	CallID string `json:"call_id"`
	Images any    `json:"images,omitempty"` // [{uri, mediaType, sha256, found}]
}

// Offered is a tool that a model was offered.
type Offered struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Parameters  any    `json:"parameters"`
}

// questions decides a turn again and adds what its models were asked.
func (s *Scene) questions(d *Deliberation, t *turnFacts, state *machines.State) error {
	if len(t.models) == 0 {
		return nil
	}
	o, ok := state.Ordinal(d.Agent)
	if !ok || d.Agent == sceneActor {
		d.Differs = "workflows of the scene are not decided again by themselves"
		return nil
	}
	made, err := s.made()
	if err != nil {
		return err
	}
	again := verify.Single{Scene: made, Codec: s.codec, State: state, Agent: o, At: t.at, End: t.end}
	if again.Records, err = s.records(d.Agent, t); err != nil {
		return err
	}
	if again.Seed, err = history.SeedIn(state.StageState, s.journal, made.Seed); err != nil {
		return err
	}
	d.Differs, err = again.Again(func(q *effect.Ask) {
		if q.Kind == effect.KindModel {
			s.answered(d, t, q)
		}
	})
	d.Knowledge = again.Activated
	return err
}

// answered adds a question to its answer. Older facts do not number requests: answers
// came in the order of the questions then.
func (s *Scene) answered(d *Deliberation, t *turnFacts, q *effect.Ask) {
	i := slices.IndexFunc(t.models, func(m *agentfact.ModelAnswered) bool { return int(m.Request) == q.Number })
	if i < 0 && q.Number <= len(t.models) && t.models[q.Number-1].Request == 0 {
		i = q.Number - 1
	}
	if i < 0 {
		return
	}
	d.Models[i].Purpose = string(q.Model.Purpose)
	asked := questionOf(&q.Model)
	if origin := t.models[i].Origin; origin != nil {
		asked.Recorded = origin.Question
		if s.Askers != nil {
			if askers, _ := s.Askers(&q.Model, origin.Question); len(askers) > 0 { // after an error nothing is compared
				asked.Model, asked.Or = s.askedOf(askers, q.Model.Model, origin)
			}
		}
	}
	d.Models[i].Question = asked
}

// askedOf is the model that was asked, of those whose question has the recorded hash, and the others if nothing says which: files
// with the same parameters have the same one. Those at the endpoint of the answer come before all others. named is the model of the request.
func (s *Scene) askedOf(endpoints map[string]string, named string, origin *effect.Origin) (model string, or []string) {
	names := protocol.SortedKeys(endpoints)
	if there := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return endpoints[name] != origin.Endpoint }); len(there) > 0 {
		names = there
	}
	if chosen := llm.ServedOf(origin.Served); chosen != nil {
		named = chosen.Model
	}
	if file := s.def.Definition.Simulation.Model; named == "" {
		named = cmp.Or(s.run.Manifest.Model, source.Stem(file))
	}
	if slices.Contains(names, named) {
		return named, nil
	}
	return names[0], names[1:]
}

func questionOf(q *protocol.ModelRequest) *Question {
	out := &Question{Messages: []Message{}, Tools: []Offered{}, Stop: append([]string{}, q.Stop...), MaxTokens: q.MaxTokens, Temperature: q.Temperature, JSON: q.JSON}
	for i := range q.Messages {
		m := &q.Messages[i]
		var calls []any
		for k := range m.Calls {
			calls = append(calls, map[string]any{"id": m.Calls[k].ID, "tool": m.Calls[k].Tool, "params": m.Calls[k].Params})
		}
		shown := Message{Role: string(m.Role), Text: secret.Text(m.Text), CallID: m.CallID}
		out.Tokens += prompt.PerMessage + prompt.Tokens(m.Text)
		if calls != nil {
			shown.Calls = factjson.JSON(calls)
			out.Tokens += prompt.JSONTokens(calls)
		}
		if m.Images != nil {
			list := make([]any, len(m.Images))
			for k := range m.Images {
				list[k] = picture.Value(&m.Images[k])
			}
			shown.Images = list
			out.Tokens += len(list) * bound.Image
		}
		out.Messages = append(out.Messages, shown)
	}
	for i := range q.Tools {
		tool := &q.Tools[i]
		out.Tools = append(out.Tools, Offered{tool.Name, tool.Description, factjson.JSON(tool.Parameters)})
		out.Tokens += prompt.PerTool + prompt.JSONTokens(map[string]any{"name": tool.Name, "description": tool.Description, "parameters": tool.Parameters})
	}
	if trace, ok := q.Variables["prompt"].(map[string]any); ok {
		out.Prompt = factjson.JSON(trace)
	}
	return out
}

// records reads the facts of a turn.
func (s *Scene) records(id string, t *turnFacts) (list []protocol.Record, err error) {
	err = s.journal.Scan(persistence.Query{Actor: id, From: t.first, To: t.last}, func(r protocol.Record) error {
		r.Data = slices.Clone(r.Data)
		list = append(list, r)
		return nil
	})
	return list, err
}
