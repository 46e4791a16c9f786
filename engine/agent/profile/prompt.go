package profile

// Prompt replaces settings of the AssemblePrompt nodes of the core workflow, and of the
// reflection but for State and Instruction. What is empty stays as the workflow says.
type Prompt struct {
	Persona     string                   `json:"persona,omitempty"` // template, as Rules, State and Instruction
	Rules       string                   `json:"rules,omitempty"`
	State       string                   `json:"state,omitempty"`
	Instruction string                   `json:"instruction,omitempty"`
	Grammar     string                   `json:"grammar,omitempty"` // native, tam, none
	Context     int                      `json:"context,omitempty"` // tokens
	Output      int                      `json:"output,omitempty"`  // tokens
	Sections    map[string]PromptSection `json:"sections,omitempty"`
}

// PromptSection bounds a section of a prompt.
type PromptSection struct {
	Min   int    `json:"min,omitempty"`   // tokens
	Max   int    `json:"max,omitempty"`   // tokens
	Units int    `json:"units,omitempty"` // entries, messages
	Drop  string `json:"drop,omitempty"`  // never, lowest, oldest, half
}

// Settings are the fields that are set, as settings of the node; nil = there is no prompt.
func (p *Prompt) Settings() map[string]any {
	if p == nil {
		return nil
	}
	m := map[string]any{}
	for name, text := range map[string]string{"persona": p.Persona, "rules": p.Rules, "state": p.State, "instruction": p.Instruction, "grammar": p.Grammar} {
		if text != "" {
			m[name] = text
		}
	}
	for name, n := range map[string]int{"context": p.Context, "output": p.Output} {
		if n != 0 {
			m[name] = n
		}
	}
	if len(p.Sections) > 0 {
		sections := map[string]any{}
		for name, s := range p.Sections {
			sections[name] = s.settings()
		}
		m["sections"] = sections
	}
	return m
}

func (s PromptSection) settings() map[string]any {
	m := map[string]any{}
	for name, n := range map[string]int{"min": s.Min, "max": s.Max, "units": s.Units} {
		if n != 0 {
			m[name] = n
		}
	}
	if s.Drop != "" {
		m["drop"] = s.Drop
	}
	return m
}
