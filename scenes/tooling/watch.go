package tooling

import (
	"context"
	"fmt"
	"time"

	"tavernsim/engine/agent/effect"
	"tavernsim/internal/metrics"
	"tavernsim/protocol"
	"tavernsim/scenes/tooling/progress"
	"tavernsim/tools"
	"tavernsim/tools/manifest"
)

// Watch counts the calls of a scene, or of a server.
type Watch struct{ Counts *metrics.Set }

func (w *Watch) masked(form string) {
	if w != nil {
		w.Counts.ToolMasked(form)
	}
}

// serviceFailed counts a failure of a service, or of an MCP server, and tells a person when it
// does not start again; off says why.
func (s *Set) serviceFailed(name, off string) {
	if w := s.opt.Watch; w != nil {
		w.Counts.ServiceFailed(name)
	}
	if off != "" && s.opt.Warn != nil {
		s.opt.Warn(fmt.Sprintf("the service %s is off, and calls of its tools fail until the run is resumed: %s; try it alone with simd tool call, and mend it", name, s.maskSaid(off)))
	}
}

func (w *Watch) mcpAsked(method, outcome string) {
	if w != nil {
		w.Counts.MCPRequest(metrics.MCPClient, method, outcome)
	}
}

// watched counts a call, and how long it took.
func (s *Set) watched(t *toolOf, c *tools.Call, o tools.Options, call func(tools.Options) (tools.Result, string)) tools.Result {
	w := s.opt.Watch
	if w == nil {
		r, _ := call(o)
		return r
	}
	o.Again = func(kind protocol.ErrorKind) { w.Counts.ToolAgain(c.Tool.ID, string(kind)) }
	begun := time.Now()
	w.Counts.ToolBegan()
	r, refused := call(o)
	seen := &metrics.ToolCall{Tool: c.Tool.ID, Outcome: string(r.Status), Took: time.Since(begun), Cut: r.Meta.Cut, Denied: refused}
	switch typ := t.Definition.Implementation.Type; typ {
	case manifest.Script:
		seen.Runtime = manifest.Script
	case manifest.Code:
		seen.Runtime, _ = c.Params["language"].(string) // one of the schema
	}
	if r.Error != nil && r.Error.Kind == protocol.KindUnknown {
		seen.Outcome = string(protocol.KindUnknown)
	}
	if r.Status == tools.Denied && refused == "" {
		seen.Denied = metrics.DeniedByTool
	}
	w.Counts.ToolEnded(seen)
	return r
}

// Reports are the calls that are out and have said how far they are, the newest report first.
func (s *Set) Reports() []progress.Report {
	if s == nil {
		return nil
	}
	return s.board.List()
}

// reporting lets a call say how far it is until end.
func (s *Set) reporting(ctx context.Context, c *tools.Call, q *effect.Ask) (end func()) {
	to := tools.ToProgress(ctx)
	c.Progress, end = s.board.Open(q.Model.Agent, c.Tool.ID, func(p *tools.Progress) {
		p.Message = s.maskSaid(p.Message)
		if w := s.opt.Watch; w != nil {
			w.Counts.ToolProgress(c.Tool.ID)
		}
		if to != nil {
			to(c.Tool.ID, *p)
		}
	})
	return end
}
