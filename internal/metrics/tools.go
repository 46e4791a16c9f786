package metrics

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tavernsim/engine/permit"
	"tavernsim/tam/answer"
)

// toolVecs count what tools of projects do when they are carried out. Mocks are not.
type toolVecs struct {
	inflight  prometheus.Gauge
	denied    closed
	approvals closed
	masked    closed
	sandbox   cache[string, sandboxSeries]
	mcp       map[[2]string]closed // by role and method
	misread   closed               // calls of texts that do not run, by format
	warned    cache[string, closed]
	restarts  cache[string, prometheus.Counter]
	tools     cache[string, handSeries]
}

// handSeries are those of one tool.
type handSeries struct {
	took    prometheus.Observer
	retries closed
	cut     prometheus.Counter
	reports prometheus.Counter
}

type sandboxSeries struct {
	runs closed
	took prometheus.Observer
}

// Why calls are denied, but for inventories.
const (
	DeniedByPolicy = "policy"   // a rule of tool_policy
	DeniedByAsk    = "approval" // somebody was asked, or nobody could be
	DeniedByGrant  = "grant"    // the operator has not granted what the tool asks for
	DeniedBySecret = "secret"   // nor a secret
	DeniedByHook   = "hook"     // a hook of a plugin forbade it
	DeniedByTool   = "tool"     // an address, a redirection, an output with a secret
)

// What open tasks wait for.
const (
	TaskQueued   = "queued"   // the wave that opened it becomes durable
	TaskOut      = "out"      // its answer
	TaskOverdue  = "overdue"  // its answer, and the clock of the scene waits, too
	TaskAnswered = "answered" // the moment at which it is due
)

// TaskStates are the states of open tasks.
func TaskStates() []string { return []string{TaskQueued, TaskOut, TaskOverdue, TaskAnswered} }

// States of the plugins of a run.
const (
	PluginOn     = "on"
	PluginDenied = "denied" // the operator has not granted what it asks for
	PluginBroken = "broken" // its files have faults, and nothing of it is loaded
)

// Roles of simd in requests of the Model Context Protocol: it asks a server of a project, or is asked.
const MCPClient, MCPServer = "client", "server"

// What became of outputs with secrets.
const (
	MaskedPlain    = "plain"
	MaskedWithheld = "withheld"
	// MaskedExfiltration: the third output of a tool that was withheld in a scene; nobody may
	// call it any more.
	MaskedExfiltration = "exfiltration"
)

func toolOutcomes() []string {
	return []string{"ok", "error", "denied", "cancelled", "timeout", "unknown", "unavailable"}
}

func runtimes() []string { return []string{"script", "python", "javascript", "sh"} }

func (s *Set) makeTools() {
	s.area = "tools"
	t := &s.hands
	t.inflight = s.gauge("tool_inflight_calls", "Calls of tools of projects that are out.").WithLabelValues()
	t.denied = newClosed(s.counter("tool_denied_total", "Calls that were denied, but for those of tools that are not in the inventory of the profile.", "reason"),
		[]string{DeniedByPolicy, DeniedByAsk, DeniedByGrant, DeniedBySecret, DeniedByHook, DeniedByTool})
	t.approvals = newClosed(s.counter("tool_approvals_total", "Questions whether a call may be made, by the answer: silence, never (nobody answers in this run) and failure are a no, too.", "outcome"),
		[]string{"yes", "no", permit.BySilence, permit.ByNever, permit.ByFailure})
	t.masked = newClosed(s.counter("tool_masked_total", "Outputs of tools that had a secret: as it is, which was taken out, or in another form, which withholds the output; exfiltration counts tools that did so three times and lost their grant.", "form"), []string{MaskedPlain, MaskedWithheld, MaskedExfiltration})
	runs := s.counter("sandbox_runs_total", "Programs that were run in the sandbox, or could not be.", "runtime", "outcome")
	took := s.histogram("sandbox_duration_seconds", "Wall time of a call of a program in the sandbox, with its repetitions.", seconds(), "runtime")
	t.sandbox = newCache(s, "runtime", overflowed, func(name string) *sandboxSeries {
		return &sandboxSeries{newClosed(runs, toolOutcomes(), name), took.WithLabelValues(name)}
	})
	for _, name := range runtimes() {
		t.sandbox.get(name)
	}
	durations := s.histogram("tool_duration_seconds", "Wall time of a call of a tool of a project, with its repetitions.", seconds(), "tool")
	retries := s.counter("tool_retries_total", "Further attempts of calls of tools, by how the attempt before ended.", "tool", "reason")
	cut := s.counter("tool_output_truncated_total", "Outputs of tools that were not kept whole.", "tool")
	reports := s.counter("tool_progress_total", "Reports of calls of tools about how far they are, at most one a second of each call.", "tool")
	t.tools = newCache(s, "tool", overflowed, func(name string) *handSeries {
		return &handSeries{durations.WithLabelValues(name), newClosed(retries, []string{"transient", "rate_limited", "timeout"}, name), cut.WithLabelValues(name), reports.WithLabelValues(name)}
	})
	restarts := s.counter("plugin_restarts_total", "Failures of services of plugins and projects, and of MCP servers (mcp:NAME), after which they start again or are off.", "plugin")
	t.restarts = newCache(s, "plugin", overflowed, func(name string) *prometheus.Counter { c := restarts.WithLabelValues(name); return &c })
	formats := []string{answer.TAM, answer.ToolsXML}
	t.misread = newClosed(s.counter("tool_parse_errors_total", "Findings in answers of models with which a call does not run.", "format"), formats)
	warned := s.counter("tool_parse_warnings_total", "Findings in answers of models with which calls run, as they were repaired.", "warning", "format")
	t.warned = closedBy(s, "warning", warned, formats)
	asked := s.counter("mcp_requests_total", "Requests of the Model Context Protocol.", "role", "method", "outcome")
	t.mcp = map[[2]string]closed{}
	const both = "server/discover initialize tools/list tools/call"
	for role, methods := range map[string]string{MCPClient: both, MCPServer: both + " resources/list resources/templates/list resources/read resources/subscribe resources/unsubscribe subscriptions/listen completion/complete"} {
		for method := range strings.FieldsSeq(methods) {
			t.mcp[[2]string{role, method}] = newClosed(asked, []string{"ok", "error", "timeout", "cancelled"}, role, method)
		}
	}
}

// ToolCall is a call of a tool of a project that has ended.
type ToolCall struct {
	Tool    string
	Runtime string // of the sandbox; "" = it needs none
	Outcome string
	Took    time.Duration
	Cut     bool   // the output was not kept whole
	Denied  string // why; "" = it was not
}

// ToolBegan counts a call that is being carried out; ToolEnded follows.
func (s *Set) ToolBegan() { s.hands.inflight.Inc() }

// ToolEnded counts a call that was carried out, or denied.
func (s *Set) ToolEnded(c *ToolCall) {
	s.hands.inflight.Dec()
	t := s.hands.tools.get(c.Tool)
	if c.Cut {
		t.cut.Inc()
	}
	if c.Denied != "" {
		s.hands.denied.inc(c.Denied)
	}
	if c.Denied == DeniedByGrant || c.Denied == DeniedBySecret || c.Denied == DeniedByHook {
		return // nothing was begun
	}
	t.took.Observe(c.Took.Seconds())
	if c.Runtime != "" {
		x := s.hands.sandbox.get(c.Runtime)
		x.runs.inc(c.Outcome)
		x.took.Observe(c.Took.Seconds())
	}
}

// ServiceFailed counts a failure of a service.
func (s *Set) ServiceFailed(name string) { (*s.hands.restarts.get(name)).Inc() }

// Misread counts a problem of an answer of a model, if a grammar found it.
func (s *Set) Misread(problem string) {
	switch f, ok := answer.FindingOf(problem); {
	case !ok:
	case f.Error:
		s.hands.misread.inc(f.Format)
	default:
		s.hands.warned.get(f.Code).inc(f.Format)
	}
}

// MCPRequest counts a request that has ended, in which simd has a role; those of other methods are
// not counted.
func (s *Set) MCPRequest(role, method, outcome string) {
	if c, ok := s.hands.mcp[[2]string{role, method}]; ok {
		c.inc(outcome)
	}
}

// ToolAgain counts a further attempt of a call, after one that ended so.
func (s *Set) ToolAgain(tool, reason string) { s.hands.tools.get(tool).retries.inc(reason) }

// ToolProgress counts a report of a call about how far it is.
func (s *Set) ToolProgress(tool string) { s.hands.tools.get(tool).reports.Inc() }

// ToolMasked counts an output that had a secret.
func (s *Set) ToolMasked(form string) { s.hands.masked.inc(form) }

// Judged counts what a policy made of a call.
func (s *Set) Judged(allowed bool, by string) {
	switch {
	case by == permit.ByPolicy && !allowed:
		s.hands.denied.inc(DeniedByPolicy)
	case by == permit.ByPolicy:
	case allowed:
		s.hands.approvals.inc("yes")
	default:
		s.hands.denied.inc(DeniedByAsk)
		if by == permit.ByFile || by == permit.ByPerson || by == permit.ByService {
			by = "no"
		}
		s.hands.approvals.inc(by)
	}
}

// collectTasks adds up the open tasks of all scenes.
func (w *watched) collectTasks(ch chan<- prometheus.Metric) {
	open := map[string]int{}
	for _, s := range w.sources {
		if s.Tasks != nil {
			s.Tasks.TaskStates(func(state string, n int) { open[state] += n })
		}
	}
	for _, state := range TaskStates() {
		gauge(ch, w.tasks, open[state], state)
	}
}

// collectPlugins adds up the plugins of all runs.
func (w *watched) collectPlugins(ch chan<- prometheus.Metric) {
	n := map[string]int{}
	for _, s := range w.sources {
		if s.Plugins == nil {
			continue
		}
		for state, more := range s.Plugins() {
			n[state] += more
		}
	}
	for _, state := range []string{PluginOn, PluginDenied, PluginBroken} {
		gauge(ch, w.plugins, n[state], state)
	}
}
