package models

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"tavernsim/engine/expr"
	"tavernsim/internal/source"
	"tavernsim/llm/embed"
	"tavernsim/llm/models/modelfile"
	"tavernsim/llm/replay"
	"tavernsim/llm/surrogate"
)

// conditionRoots are what a condition of a route reads.
func conditionRoots() []string {
	return []string{"purpose", "self", "goals", "events", "budget", "variables"}
}

// Check checks the model files of a project together: what they name of each other, and
// of the other files in their folder. [Read] checks each file by itself.
func Check(files, others []File, report *source.Report) {
	compile(files, others, passing(), report)
}

// graph are the files that answer by other models.
type graph struct {
	files     map[string]*file           // of sound model files, by the models' names
	nodes     map[string]any             // *route, *recorded, *likeness, *faulted, by the same
	others    map[string][]byte          // by path
	cassettes map[string]*replay.Answers // by path
	shapes    map[string]shape           // of nodes
	words     map[string]*embed.Words    // of static models, by their names
	report    *source.Report
}

// file is a sound model file.
type file struct {
	File
	name string
	def  any // *modelfile.Definition, *scripted.Model, *modelfile.Route, *modelfile.Replay, *modelfile.Faulty
	doc  *source.Document
}

type route struct {
	*modelfile.Route
	name string
	when []*expr.Program // nil = always
}

type recorded struct {
	*modelfile.Replay
	name    string
	answers *replay.Answers
}

type faulted struct {
	*modelfile.Faulty
	name string
}

type likeness struct {
	*modelfile.Surrogate
	name  string
	index *surrogate.Index
	most  int64 // distance, in thousandths
}

// compile reads the files, and links those that answer by others. Faults of a file by
// itself go to each, others to report.
func compile(files, others []File, each, report *source.Report) *graph {
	g := &graph{files: map[string]*file{}, nodes: map[string]any{}, others: map[string][]byte{}, cassettes: map[string]*replay.Answers{}, report: report, shapes: map[string]shape{}, words: map[string]*embed.Words{}}
	for _, f := range others {
		g.others[f.Path] = f.Data
	}
	for _, f := range files {
		def, doc := modelfile.Read(f.Path, f.Data, each)
		if name := NameOf(f.Path); def != nil && g.files[name] == nil {
			g.files[name] = &file{f, name, def, doc}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(g.files)) {
		g.link(g.files[name])
	}
	for _, name := range slices.Sorted(maps.Keys(g.nodes)) {
		g.shape(name, nil)
	}
	return g
}

// fault reports a fault of a file.
func (g *graph) fault(f *file, suggestion, message string, steps ...string) {
	node, _ := f.doc.Root.Find(steps...)
	g.report.At(f.doc, node.Pos, source.Path(steps...), message, suggestion)
}

func (g *graph) link(f *file) {
	switch d := f.def.(type) {
	case *modelfile.Route:
		r := &route{Route: d, name: f.name}
		if len(d.Route) == 0 {
			g.fault(f, "add an entry with use", "the route has no entry", "route")
		}
		for i := range d.Route {
			r.when = append(r.when, g.condition(f, i, len(d.Route), &d.Route[i]))
		}
		for i := range d.Fallback {
			g.known(f, d.Fallback[i].Use, "fallback", strconv.Itoa(i), "use")
		}
		g.nodes[f.name] = r
	case *modelfile.Replay:
		r := &recorded{Replay: d, name: f.name}
		if g.known(f, d.Model, "model") {
			g.speaks(f, d.Model)
		}
		r.answers = g.answers(f, d.Answers)
		g.nodes[f.name] = r
	case *modelfile.Static:
		w, err := embed.Load(f.name, d.Words, g.others)
		if err != nil {
			g.fault(f, source.Suggest(d.Words, slices.Sorted(maps.Keys(g.others))), err.Error(), "words")
		}
		g.words[f.name] = w
	case *modelfile.Surrogate:
		g.known(f, d.Model, "model")
		n := &likeness{Surrogate: d, name: f.name, most: int64(math.Round(1000 * modelfile.DefaultDistance))}
		if d.Distance != nil {
			n.most = int64(math.Round(1000 * *d.Distance))
		}
		if a := g.answers(f, d.Answers); a != nil {
			n.index = surrogate.New(a.All())
			if n.index.Len() == 0 {
				g.fault(f, "write it with simd cassette export --situations", d.Answers+" has no situations", "answers")
			}
		}
		g.nodes[f.name] = n
	case *modelfile.Faulty:
		g.known(f, d.Model, "model")
		if problem := d.Faults.Check(); problem != "" {
			g.fault(f, "", problem, "faults")
		}
		g.nodes[f.name] = &faulted{d, f.name}
	}
}

func (g *graph) condition(f *file, i, n int, c *modelfile.Choice) *expr.Program {
	at := []string{"route", strconv.Itoa(i)}
	g.known(f, c.Use, append(at, "use")...)
	switch {
	case c.When == "" && i < n-1:
		g.fault(f, "add when, or remove what follows", "an entry without a condition always answers, so those after it never do", at...)
	case c.When != "" && i == n-1:
		g.fault(f, "add an entry without when", "the last entry has a condition: who answers if none holds?", append(at, "when")...)
	case c.When == "":
	default:
		p, err := expr.Compile(c.When, conditionRoots()...)
		if err != nil {
			hint := ""
			if e, ok := errors.AsType[*expr.Error](err); ok {
				hint = e.Hint
			}
			g.fault(f, hint, fmt.Sprintf("the expression does not compile: %v", err), append(at, "when")...)
		}
		return p
	}
	return nil
}

// known reports whether there is a model of that name.
func (g *graph) known(f *file, name string, steps ...string) bool {
	if name == "" || g.files[name] != nil {
		return name != ""
	}
	names := slices.Sorted(maps.Keys(g.files))
	g.fault(f, source.Suggest(name, names), fmt.Sprintf("there is no sound model %q (a file models/%s.yaml); there are %s", name, name, cmp.Or(strings.Join(names, ", "), "none")), steps...)
	return false
}

// speaks refuses a model whose answers are never recorded.
func (g *graph) speaks(f *file, name string) {
	switch g.files[name].def.(type) {
	case *modelfile.Definition, *modelfile.Route:
	default:
		g.fault(f, "name a model that is at an endpoint, or a route", fmt.Sprintf("answers of %s are not recorded: it is at no endpoint", name), "model")
	}
}

// answers reads a cassette, once.
func (g *graph) answers(f *file, path string) *replay.Answers {
	if a := g.cassettes[path]; a != nil {
		return a
	}
	data, ok := g.others[path]
	if !ok {
		g.fault(f, source.Suggest(path, slices.Sorted(maps.Keys(g.others))), fmt.Sprintf("there is no file %s; a cassette lies in the folder models of the project, for example models/recorded/market.jsonl", path), "answers")
		return nil
	}
	a, err := replay.Read(path, bytes.NewReader(data))
	if err == nil && a.Len() == 0 {
		err = fmt.Errorf("%s has no answers", path)
	}
	if err != nil {
		g.fault(f, "", err.Error(), "answers")
		return nil
	}
	g.cassettes[path] = a
	return a
}

// shape is how deep models name each other below one, and to how many of them one
// request may come.
type shape struct{ depth, plan int }

// shape finds cycles, and files that are too deep or too wide.
func (g *graph) shape(name string, above []string) shape {
	if s, ok := g.shapes[name]; ok {
		return s
	}
	f := g.files[name]
	if f == nil || g.nodes[name] == nil {
		return shape{1, 1}
	}
	if i := slices.Index(above, name); i >= 0 {
		g.fault(f, "", "the models name each other in a circle: "+strings.Join(append(above[i:], name), " -> "), "kind")
		g.shapes[name] = shape{1, 1}
		return g.shapes[name]
	}
	above = append(slices.Clip(above), name)
	var s shape
	below := func(name string) shape {
		x := g.shape(name, above)
		s.depth = max(s.depth, x.depth+1)
		return x
	}
	switch n := g.nodes[name].(type) {
	case *route:
		for i := range n.Route.Route {
			s.plan = max(s.plan, below(n.Route.Route[i].Use).plan)
		}
		for i := range n.Fallback {
			s.plan += below(n.Fallback[i].Use).plan
		}
	case *recorded:
		s.plan = below(n.Model).plan + 1
	case *likeness:
		s.plan = below(n.Model).plan + 1
	case *faulted:
		s.plan = below(n.Model).plan
	}
	if old, cycled := g.shapes[name]; cycled {
		return old
	}
	if s.depth > modelfile.MaxDepth {
		g.fault(f, "", fmt.Sprintf("models name each other %d deep; at most %d", s.depth, modelfile.MaxDepth), "kind")
	}
	if s.plan > modelfile.MaxPlan {
		g.fault(f, "", fmt.Sprintf("with all fallbacks a request may come to %d models; at most %d", s.plan, modelfile.MaxPlan), "kind")
	}
	g.shapes[name] = s
	return s
}
