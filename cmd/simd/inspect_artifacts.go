package main

import (
	"tavernsim/internal/terminal"
	"tavernsim/scenes/view/artifacts"
)

func (x *inspecting) artifacts([]string) error {
	q := artifacts.Query{Span: x.span(), Agent: x.o.agent}
	t := terminal.NewTable(x.out, "at", "agent", "tool", "name", "type", ">bytes", "artifact")
	return list(x, t, "no call left an artifact", func(limit int, yield func(artifacts.Line) error) error {
		q.Limit = limit
		return artifacts.List(x.run.Dir, x.scene, q, yield)
	}, func(t *terminal.Table, a artifacts.Line) {
		uri := a.URI
		if !a.There {
			uri += " (not there)"
		}
		t.Row(x.since(a.Time), a.Agent, a.Tool, a.Name, a.Type, number(a.Size), uri)
	})
}

// artifact writes the bytes of one.
func (x *inspecting) artifact(args []string) error {
	data, err := artifacts.Read(x.run.Dir, args[0])
	if err == nil {
		_, err = x.out.Write(data)
	}
	return err
}
