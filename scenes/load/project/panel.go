package project

import (
	"path"
	"slices"
	"strings"

	"tavernsim/engine/panel"
	"tavernsim/internal/schema"
	"tavernsim/internal/source"
	"tavernsim/protocol"
)

// Panel is the definition of an application panel.
type Panel struct {
	panel.Panel
	File  string
	Alone panel.Headless // what becomes of its questions when nobody can answer

	payloads map[string]*schema.Schema // by action; without those that have none
	doc      *source.Document          // while loading
}

// loadPanels reads panels/x.json and panels/x/panel_definition.json, but not
// the other files of a panel's own folder.
func (l *loader) loadPanels() {
	for _, p := range l.tree.definitions(panelsDir) {
		base := source.Stem(p)
		if path.Dir(l.tree.place(p)) != panelsDir && base != "panel_definition" {
			continue
		}
		if doc := l.tree.parse(p); doc != nil {
			l.loadPanel(doc, p)
		}
	}
}

func (l *loader) loadPanel(doc *source.Document, file string) {
	p := &Panel{File: file, doc: doc, payloads: map[string]*schema.Schema{}}
	if !l.decoder.Decode(doc, &p.Panel) || !l.claim("panel", p.ID, doc, at("id")) {
		return
	}
	l.project.panels[p.ID] = p
	var err error
	if p.Alone, err = p.HeadlessPolicy(); err != nil {
		l.fault(doc, at("headless"), "", "%s", err)
	}
	for _, name := range protocol.SortedKeys(p.Actions) {
		a := p.Actions[name]
		if a.PayloadSchema != nil {
			p.payloads[name] = l.schema(doc, at("actions", name, "payload_schema"))
		}
		if a.AnswerSchema != nil {
			if answers := l.schema(doc, at("actions", name, "answer_schema")); answers != nil && p.Alone.Given {
				if err := answers.Fits(p.Alone.Value); err != nil {
					l.fault(doc, at("headless", "default"), "", "the action %s does not take it: %s", name, err)
				}
			}
		}
	}
}

// linkPanels checks what panels say of their own pages, which simd does not show.
func (l *loader) linkPanels() {
	for _, id := range protocol.SortedKeys(l.project.panels) {
		p := l.project.panels[id]
		if p.UI != nil && p.UI.Entry != "" {
			if _, problem := l.tree.locate(path.Join(path.Dir(p.File), p.UI.Entry)); problem != "" {
				l.strict(p.doc, at("ui", "entry"), "", "%s", problem)
			}
		}
		l.eventTypes(l.strict, p.doc, "subscribes", p.Subscribes, true)
		l.eventTypes(l.strict, p.doc, "publishes", p.Publishes, false)
		for i, b := range p.WorkflowBindings {
			l.workflowOf(l.strict, p.doc, at("workflow_bindings", i, "workflow_id"), b.WorkflowID)
		}
		for _, field := range []string{"ui", "subscribes", "publishes", "workflow_bindings"} {
			if p.doc.Root.Get(field) != nil {
				l.warn(p.doc, at(field), "", "this program shows no page of a panel, so the field has no effect; questions are shown as text")
			}
		}
	}
}

// bindings checks the agents and workflows that a scene binds a panel to.
func (l *loader) bindings(s *Scene, steps []string, given map[string]any) {
	for _, key := range protocol.SortedKeys(given) {
		here := append(slices.Clone(steps), key)
		agent, id := strings.HasSuffix(key, "agent_id"), given[key]
		text, ok := id.(string)
		switch {
		case !agent && !strings.HasSuffix(key, "workflow_id"):
		case !ok:
			l.strict(s.doc, here, "", "want an id")
		case !agent:
			l.workflowOf(l.strict, s.doc, here, text)
		case !s.has(text):
			l.strict(s.doc, here, "", "the scene has no agent %q", text)
		}
	}
}

// Complete checks a question and gives it the schema of its answer.
func (p *Panel) Complete(q *panel.Question) error {
	own, has := p.Actions[q.Action]
	schema := any(nil)
	if own.AnswerSchema != nil {
		schema = own.AnswerSchema
	}
	if err := p.payloads[q.Action].Fits(q.Payload); err != nil {
		return protocol.Errorf(protocol.KindInvalid, "payload: the action %s does not take it: %w", q.Action, err)
	}
	if !has {
		var built bool
		var err error
		if schema, built, err = panel.BuiltIn(q.Action, q.Payload); err != nil {
			return err
		}
		if !built {
			return p.Unknown(q.Action)
		}
	}
	switch {
	case q.Schema != nil && schema != nil:
		return protocol.Errorf(protocol.KindInvalid, "schema: the action %s has its own", q.Action)
	case q.Schema == nil:
		q.Schema = schema
	}
	if q.Schema == nil {
		return nil
	}
	check, err := CompileSchema(q.Schema)
	if err == nil && q.Headless != nil {
		if err = check(q.Headless.Value); err != nil {
			return protocol.Errorf(protocol.KindInvalid, "the panel's own answer (headless) does not fit: %w", err)
		}
	}
	return err
}

// PanelFor is the panel of a scene that takes a question: the first one, which the question names then, if it names none. Without
// panels a scene has the built-in actions.
func (p *Project) PanelFor(s *Scene, q *panel.Question) (*Panel, error) {
	names := []string{}
	for _, a := range s.Definition.AssociatedPanels {
		found := p.panels[a.PanelID]
		if found == nil { // a fault of the project
			continue
		}
		if q.Panel == "" || q.Panel == a.Name() {
			q.Panel = a.Name()
			return found, nil
		}
		names = append(names, a.Name())
	}
	if q.Panel != "" {
		slices.Sort(names)
		return nil, protocol.Errorf(protocol.KindNotFound, "panel: the scene has no panel %q; it has %v", protocol.Short(q.Panel, 80), names) // facts have the text
	}
	return &Panel{}, nil
}
