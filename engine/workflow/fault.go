package workflow

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tavernsim/protocol"
)

// Fault is a fault of a definition.
type Fault struct {
	Workflow   string
	Node       string   // id; "" when it is not about one node
	Edge       string   // id, or "source.handle -> target.handle"
	Field      string   // the handle, or the key of configValues
	Path       []string // steps from the top of the file: nodes, 3, configValues, template
	Message    string
	Suggestion string // what to do; "" = none
	Strict     bool   // older programs let it pass, so there is a plan nevertheless
}

// Pointer is the path as a JSON pointer.
func (f Fault) Pointer() string {
	var b strings.Builder
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	for _, step := range f.Path {
		b.WriteByte('/')
		b.WriteString(escape.Replace(step))
	}
	return b.String()
}

// String reads `workflow "id": /nodes/3: node "x": message (suggestion)`.
func (f Fault) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "workflow %q: %s: ", f.Workflow, f.Pointer())
	if f.Node != "" {
		fmt.Fprintf(&b, "node %q: ", f.Node)
	}
	if f.Edge != "" {
		fmt.Fprintf(&b, "edge %s: ", f.Edge)
	}
	if f.Field != "" {
		fmt.Fprintf(&b, "%s: ", f.Field)
	}
	b.WriteString(f.Message)
	if f.Suggestion != "" {
		fmt.Fprintf(&b, " (%s)", f.Suggestion)
	}
	return b.String()
}

// MaxFaults bounds the list that Compile returns; the last one says how many
// more there are.
const MaxFaults = 200

// faults collects what is wrong with one definition.
type faults struct {
	workflow string
	list     []Fault
	more     int
	plain    bool // some are not strict, so there is no plan
}

func (l *faults) add(f Fault) {
	f.Workflow = l.workflow
	l.plain = l.plain || !f.Strict
	if len(l.list) >= MaxFaults {
		l.more++
		return
	}
	l.list = append(l.list, f)
}

func (l *faults) addf(path []string, suggestion, format string, args ...any) {
	l.add(Fault{Path: path, Message: fmt.Sprintf(format, args...), Suggestion: suggestion})
}

// done sorts the faults as their places stand in a file.
func (l *faults) done() []Fault {
	slices.SortStableFunc(l.list, func(a, b Fault) int { return comparePaths(a.Path, b.Path) })
	if l.more > 0 {
		l.list = append(l.list, Fault{Workflow: l.workflow, Message: fmt.Sprintf("and %d more faults", l.more), Strict: !l.plain})
		l.more = 0
	}
	return l.list
}

func comparePaths(a, b []string) int {
	sections := []string{"interfaceInputs", "interfaceOutputs", "nodes", "edges"}
	return slices.CompareFunc(a, b, func(x, y string) int {
		i, errI := strconv.Atoi(x)
		j, errJ := strconv.Atoi(y)
		if errI == nil && errJ == nil {
			return cmp.Compare(i, j)
		}
		return cmp.Or(cmp.Compare(slices.Index(sections, x), slices.Index(sections, y)), strings.Compare(x, y))
	})
}

func nodePath(i int, steps ...string) []string {
	return append([]string{"nodes", strconv.Itoa(i)}, steps...)
}

func edgePath(i int, steps ...string) []string {
	return append([]string{"edges", strconv.Itoa(i)}, steps...)
}

// suggest finds the most similar name, or lists all names if none is similar.
func suggest(got string, names []string) string {
	best, distance := "", 3
	for _, n := range names {
		if d := protocol.EditDistance(strings.ToLower(got), strings.ToLower(n), distance); d < distance {
			best, distance = n, d
		}
	}
	if best == "" {
		best = containing(got, names)
	}
	switch {
	case best != "":
		return fmt.Sprintf("did you mean %q?", best)
	case len(names) == 0:
		return ""
	case len(names) > 12:
		names = append(names[:12:12], "…")
	}
	return "there is " + strings.Join(names, ", ")
}

func containing(got string, names []string) string {
	got = strings.ToLower(got)
	for _, n := range names {
		low := strings.ToLower(n)
		if len(got) > 2 && (strings.Contains(low, got) || len(low) > 2 && strings.Contains(got, low)) {
			return n
		}
	}
	return ""
}
