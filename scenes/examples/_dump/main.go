package main

import (
	"fmt"
	"os"
	"sort"
	"strings"

	"tavernsim/engine/agent"
	"tavernsim/engine/bus"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/template"
	"tavernsim/engine/world"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/runner"
)

func js(r protocol.Raw) string {
	v, err := r.Value()
	if err != nil {
		return err.Error()
	}
	return string(template.AppendText(nil, v))
}

func main() {
	dir := os.Args[1]
	mode := os.Args[2] // story | all | sizes | fails
	who := ""
	if len(os.Args) > 3 {
		who = os.Args[3]
	}
	m, err := runner.ReadManifest(dir)
	if err != nil {
		panic(err)
	}
	st, err := persistence.Open(dir+"/journal", persistence.Options{ReadOnly: true})
	if err != nil {
		panic(err)
	}
	j, err := st.Journal(m.Scenes[0])
	if err != nil {
		panic(err)
	}
	codec := protocol.NewCodec()
	size, n := map[string]int{}, map[string]int{}
	err = j.Read(0, func(r protocol.Record) error {
		size[r.Kind] += len(r.Data)
		n[r.Kind]++
		if mode == "sizes" || who != "" && !strings.Contains(r.Actor, who) {
			return nil
		}
		t := r.Time.String()
		if len(t) > 19 {
			t = t[5:16]
		}
		p := func(f string, a ...any) { fmt.Printf("%s %-22.22s "+f+"\n", append([]any{t, r.Actor}, a...)...) }
		f, err := agent.ReadFact(codec, r.Kind, r.Data)
		if err != nil {
			return err
		}
		switch x := f.(type) {
		case *agent.Said:
			if mode != "fails" {
				p("SAYS %s", x.Text)
			}
			return nil
		case *agent.TurnEnded:
			if x.Outcome != "ok" {
				p("TURN %s: %s", x.Outcome, x.Error)
			} else if mode == "all" {
				p("turn %d ok calls %d", x.Turn, x.Calls)
			}
			return nil
		case *agent.CallMade:
			bad := x.Status == "failed" || x.Status == "denied" || x.Status == "not_run"
			if bad || mode == "all" || mode == "story" && x.Tool != agent.ToolReadPrivateState {
				p("  call %s(%s) %s %s %s", x.Tool, js(x.Params), x.Status, x.Error, cut(js(x.Output)))
			}
			return nil
		case *agent.ModelAnswered:
			if x.Error != "" {
				p("MODEL FAILED %s", x.Error)
			} else if mode == "all" {
				p("model: %s %s", x.Text, js(x.Calls))
			}
			return nil
		case *agent.GoalsUpdated:
			if mode != "fails" {
				p("GOAL %s %s %v", x.Goal.ID, x.Goal.Status, x.Removed)
			}
			return nil
		case *agent.Reflected:
			p("REFLECTED %s %s", x.Reason, x.Error)
			return nil
		case *agent.StateUpdated:
			if mode == "all" {
				p("state %s %s %s", x.Op, x.Path, js(x.Value))
			}
			return nil
		}
		if strings.HasPrefix(r.Kind, "world.") {
			f, err := world.ReadFact(r.Kind, r.Data)
			if err != nil {
				return err
			}
			if x, ok := f.(*world.Refused); ok {
				p("WORLD REFUSED %s %s %s", x.By, x.Path, x.Message)
			}
			if x, ok := f.(*world.Committed); ok && mode == "all" {
				for _, c := range x.Changes {
					p("v%d %s %s %s by %s", x.After, c.Op, c.Path, js(c.Value), c.By)
				}
			}
			return nil
		}
		switch r.Kind {
		case bus.FactRouted:
			x, err := bus.ReadRouted(r.Data)
			if err != nil {
				return err
			}
			if (mode == "all" || mode == "story") && x.Type != "agent.said" {
				p("EVENT %s from %s to %d: %s", x.Type, x.Source, x.Receivers.Len(), js(x.Body))
			}
			for _, mk := range x.Marks {
				p("MARK %v", mk)
			}
		case bus.FactRefused:
			x := &bus.Refused{}
			if err := codec.Unmarshal(r.Data, x); err != nil {
				return err
			}
			p("EVENT REFUSED %s %s %s %s", x.Type, x.Source, x.Reason, x.Detail)
		default:
			if f, err := knowledge.DecodeFact(codec, r.Kind, r.Data); err == nil && f != nil {
				switch x := f.(type) {
				case knowledge.Written:
					if mode != "fails" {
						p("KNOWLEDGE %s %s", x.KB, js(x.Entry))
					}
				case knowledge.Refused:
					p("KNOWLEDGE REFUSED %s %s", x.KB, x.Message)
				}
				return nil
			}
			p("%s %s", r.Kind, cut(js(r.Data)))
		}
		return nil
	})
	if err != nil {
		panic(err)
	}
	if mode == "sizes" {
		var ks []string
		for k := range size {
			ks = append(ks, k)
		}
		sort.Strings(ks)
		for _, k := range ks {
			fmt.Printf("%10d facts %12d bytes %8.1f each  %s\n", n[k], size[k], float64(size[k])/float64(n[k]), k)
		}
	}
}

func cut(s string) string {
	if len(s) > 160 {
		return s[:160] + "…"
	}
	return s
}
