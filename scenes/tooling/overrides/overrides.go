// Package overrides lets services of plugins replace parts of the program: the
// models, the approver of calls, the store of secrets, and executors of tools
// (docs/formats/plugin.md, overrides).
//
// [Of] finds the replacements in a project. The types of this package implement the replaced interfaces:
// each asks the service by a method of its own.
//
// # Promises
//
//  1. One service replaces an interface: that of the plugin which the project lists last.
//  2. The answer of a service is used if it has the form of its method and is within the
//     bounds of the replaced part; otherwise the request fails.
//  3. If the service fails, the request fails. The replaced part is not asked instead.
//
// # Not here
//
// The grant of the operator (scenes/tooling); logs, facts and replays, which are
// those of the replaced part; the process (tools/rpc).
package overrides

import (
	"context"
	"encoding/json"
	"path"
	"slices"
	"strings"
	"time"

	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/tools"
	"tavernsim/tools/manifest"
	"tavernsim/tools/plugin"
	"tavernsim/tools/rpc"
)

// Services are asked.
type Services interface {
	// Ask asks a service and gives the result, or why there is none.
	Ask(ctx context.Context, q *rpc.Request) (json.RawMessage, *tools.Result)
}

// Asked are services that stand for models, and what takes secrets out of what they say.
type Asked struct {
	Services
	// Mask takes secrets out of a value. An error says that one is spelled in another form than its own, and has none.
	Mask func(v any) (any, error)
}

// said is a text of a service, for agents and people.
func (a *Asked) said(text string) string {
	v, err := a.Mask(text)
	masked, ok := v.(string)
	if err != nil || !ok {
		return "(withheld: it has a secret)"
	}
	return masked
}

// Winner is the service that replaces an interface.
type Winner struct {
	Interface string
	Plugin    string
	Service   string        // with its plugin: PLUGIN/NAME
	Price     *plugin.Price // of answers of a model; nil = nobody knows it
	Over      []string      // plugins that the project lists before, which would have replaced it
}

// String says who replaces what.
func (w *Winner) String() string {
	text := "the service " + w.Service + " replaces " + w.Interface
	if len(w.Over) > 0 {
		text += ", and not that of " + strings.Join(w.Over, ", ") + ", listed before it"
	}
	return text
}

// Name is what the replacement is called where the thing that it replaces has a name.
func (w *Winner) Name() string { return "plugin:" + w.Service }

// Of finds the services that replace something, by interface.
func Of(p *project.Project) map[string]*Winner {
	all := map[string]*Winner{}
	for _, name := range inOrder(p) {
		x := p.Plugins()[name]
		if x == nil || x.Broken() {
			continue
		}
		for _, o := range x.Manifest.Overrides {
			w := &Winner{Interface: o.Interface, Plugin: name, Service: path.Join(name, o.Service), Price: o.Price}
			if before := all[o.Interface]; before != nil {
				w.Over = append(slices.Clone(before.Over), before.Plugin)
			}
			all[o.Interface] = w
		}
	}
	return all
}

// Last reports whether one of the services is held to the end of the scene: what it replaces is
// made once. Others are found anew for each edition of a project.
func Last(all map[string]*Winner) bool {
	return all[plugin.OfModel] != nil || all[plugin.OfEmbedder] != nil || all[plugin.OfApprover] != nil
}

// OfExecutor is the interface of what carries a tool out.
func OfExecutor(t *manifest.Tool) string { return plugin.OfExecutor + t.Implementation.Type }

// inOrder are the plugins as the project lists them; those that it does not list come first.
func inOrder(p *project.Project) []string {
	listed := p.Definition.Plugins
	at := func(name string) int {
		return slices.IndexFunc(listed, func(u plugin.Use) bool { return u.Name == name })
	}
	names := protocol.SortedKeys(p.Plugins())
	slices.SortStableFunc(names, func(a, b string) int { return at(a) - at(b) })
	return names
}

// left is the time that a request has left, in milliseconds; 0 = nothing bounds it.
func left(ctx context.Context) int64 {
	until, ok := ctx.Deadline()
	if !ok {
		return 0
	}
	return max(1, time.Until(until).Milliseconds())
}
