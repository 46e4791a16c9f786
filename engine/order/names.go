package order

import (
	"fmt"

	"tavernsim/engine/agent/person"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/panel"
)

// Names say what is wrong with the names of a scene that a change has.
type Names struct {
	// Name says what is wrong with one in a field of a change; "" = the scene has it.
	Name func(kind, field, name string) (fault string)
	// Question refuses a question to people that no panel of the scene takes. open: its payload or schema is not known.
	Question func(q *panel.Question, open bool) error
}

// Check is [Check] with the names. An older program let wrong ones pass, so the change lacks something then.
func (n Names) Check(kind string, fields map[string]any, later map[string]bool) (lacks, err error) {
	if lacks, err = Check(kind, fields, later); lacks != nil || err != nil {
		return lacks, err
	}
	kind = canonical(kind)
	if kind == kindAsk {
		return n.question(fields, later), nil
	}
	for _, field := range []string{"agent", "agents", "to", "profile"} {
		names, _ := tool.Params(fields).Texts(field) // their form was checked
		for _, name := range names {
			if fault := n.Name(kind, field, name); fault != "" {
				return fmt.Errorf("%s: %s", field, fault), nil
			}
		}
	}
	return nil, nil
}

// question checks what is known of one.
func (n Names) question(fields map[string]any, later map[string]bool) error {
	p := tool.Params(fields)
	if wait, known := fields["wait"].(string); known {
		if err := person.CheckWait(wait); err != nil {
			return err
		}
	}
	_, _, err := person.Question(p, func(q *panel.Question) error {
		if later["action"] || later["panel"] {
			return nil
		}
		return n.Question(q, later["payload"] || later["schema"])
	})
	return err
}
