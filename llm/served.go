package llm

import "tavernsim/protocol"

// Served says which model of several answered a request, and why. The fact of an answer
// keeps it as a value (protocol.ModelOrigin.Served).
type Served struct {
	Model    string `json:"model"` // name of its file
	By       string `json:"by"`    // ByRule, BySurrogate, ByLLM
	Steps    []Step `json:"steps,omitempty"`
	Distance int64  `json:"distance,omitempty"` // of a surrogate's situation to the nearest recorded one, in thousandths
	Audit    string `json:"audit,omitempty"`    // Agreed or Differed, if a surrogate had an answer too
}

// Step is the choice of one model, from the one that the request named to the one that
// answered.
type Step struct {
	Model string `json:"model"`           // that was chosen
	Entry int64  `json:"entry,omitempty"` // of the list that names it, from 1; 0 = there is no list
	After string `json:"after,omitempty"` // outcome of the model before it, if this is a fallback
}

// How a model comes to its answers.
const (
	ByRule      = "rule"      // a script
	BySurrogate = "surrogate" // the nearest recorded decision
	ByLLM       = "llm"
	ByStore     = "store" // what a model answered in an earlier run
)

// What an audit of a surrogate finds.
const (
	Agreed   = "agreed"
	Differed = "differed"
)

// Raw encodes it as a value; nil is none.
func (s *Served) Raw() protocol.Raw {
	if s == nil {
		return nil
	}
	steps := make([]any, len(s.Steps))
	for i, x := range s.Steps {
		step := map[string]any{"model": x.Model}
		if x.Entry > 0 {
			step["entry"] = x.Entry
		}
		if x.After != "" {
			step["after"] = x.After
		}
		steps[i] = step
	}
	v := map[string]any{"model": s.Model, "by": s.By, "steps": steps}
	if s.Distance > 0 {
		v["distance"] = s.Distance
	}
	if s.Audit != "" {
		v["audit"] = s.Audit
	}
	return protocol.Encode(v)
}

// ServedOf is the reverse of Raw; nil = there is none that can be read.
func ServedOf(raw protocol.Raw) *Served {
	v, err := raw.Value()
	m, ok := v.(map[string]any)
	if err != nil || !ok {
		return nil
	}
	s := &Served{}
	s.Model, _ = m["model"].(string)
	s.By, _ = m["by"].(string)
	s.Distance, _ = m["distance"].(int64)
	s.Audit, _ = m["audit"].(string)
	steps, _ := m["steps"].([]any)
	for _, e := range steps {
		step, _ := e.(map[string]any)
		x := Step{}
		x.Model, _ = step["model"].(string)
		x.Entry, _ = step["entry"].(int64)
		x.After, _ = step["after"].(string)
		s.Steps = append(s.Steps, x)
	}
	return s
}
