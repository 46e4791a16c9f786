// Package tooling joins the tools of a project with their executors: a [Set] carries out
// the calls of one scene.
//
// [New] makes a Set in one of four modes. You add [Set.Entries] to scenes.Options.Executors
// and must call Close after the scene has ended.
//
// # Promises
//
//  1. With [Live] each call has its key, which is the same after a kill, and at most as many
//     calls of a tool are in flight as its definition allows.
//  2. With [Mock], [Replay] and [Off] nothing leaves the process, and the same call of the
//     same turn gets the same answer.
//  3. New names every tool that it cannot carry out.
//  4. A tool is called only if the operator has granted all that it asks for. Mocks and
//     recorded answers need no grant.
//
// # Not here
//
// The log of effects, gates and facts (scenes/outside, engine/agent); attempts and their
// results (tools).
package tooling

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tavernsim/engine/agent/effect"
	"tavernsim/engine/permit"
	"tavernsim/engine/tooltask"
	"tavernsim/internal/metrics"
	"tavernsim/llm"
	"tavernsim/llm/gate"
	"tavernsim/llm/limit"
	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/outside"
	"tavernsim/scenes/tooling/hooks"
	"tavernsim/scenes/tooling/leaks"
	"tavernsim/scenes/tooling/needs"
	"tavernsim/scenes/tooling/overrides"
	"tavernsim/scenes/tooling/own"
	"tavernsim/scenes/tooling/progress"
	"tavernsim/scenes/tooling/trial"
	"tavernsim/tools"
	"tavernsim/tools/artifact"
	"tavernsim/tools/child"
	"tavernsim/tools/files"
	"tavernsim/tools/grants"
	"tavernsim/tools/httpcall"
	"tavernsim/tools/manifest"
	"tavernsim/tools/mcp"
	"tavernsim/tools/plugin"
	"tavernsim/tools/rpc"
	"tavernsim/tools/sandbox"
	"tavernsim/tools/script"
	"tavernsim/tools/secrets"
	"tavernsim/tools/shell/folders"
	"tavernsim/tools/toolmock"
	"tavernsim/tools/toolreplay"
)

// Mode says what carries out the tools of a project.
type Mode string

const (
	Live Mode = "live"          // what their definitions say
	Mock Mode = setup.ToolsMock // nothing; tools/mock.yaml answers
	Off  Mode = setup.ToolsOff  // nothing; every call fails
)

// Options of a Set.
type Options struct {
	Project *project.Project
	Place   needs.Place // whose grants count
	Scene   string      // whose calls it carries out; "" = those outside of scenes
	Mode    Mode        // "" = Live
	Run     string      // names the run in the keys of calls
	// Services carry out the tools of the type service, by name.
	Services map[string]tools.Executor
	// Sandbox runs tools of the types script and code, and MCP servers. The program that gives one calls
	// sandbox.Reexec first in its main function.
	Sandbox *sandbox.Box
	// Secrets are those of the operator; nil = there are none.
	Secrets *secrets.Store
	// Watch counts calls that are carried out; nil = nobody counts.
	Watch *Watch
	// Grants are what the operator allows tools that ask for something; nil = nothing.
	Grants *grants.Store
	// Mounts are what references in parameters lead into.
	Mounts Mounts
	// Policy judges calls of [Set.Try], by Profile; nil allows them. Those of agents are judged
	// before they come here.
	Policy  *permit.Judge
	Profile string
	// Audit is told of the calls of Try, and of those that their workflows make.
	Audit trial.Audit
	// Warn is told of what a person should know, at the start and when a service is off; nil =
	// nobody is. It may be called by several goroutines at once.
	Warn func(text string)
	// Realtime: calls take as long in the scene as in fact.
	Realtime bool
	// Given are values that the operator gives to options of plugins, and SceneConfig those
	// of the scene, by plugin.
	Given       plugin.Given
	SceneConfig map[string]map[string]any
	// Artifacts keeps what calls leave; nil = nothing is kept, and long outputs are cut.
	Artifacts *artifact.Store
	// Recorded are the answers that are given again with Replay, and RecordedArtifacts the
	// files that they name; nil = none is there.
	Recorded          *toolreplay.Answers
	RecordedArtifacts *artifact.Store

	before *Set // of the edition before; nil = this is the first one
}

// Set carries out the tools of a project for one scene.
type Set struct {
	opt    Options
	tools  map[string]*toolOf // by id; without those that a workflow carries out (setup.Stands)
	http   *httpcall.Executor
	mcp    *mcp.Executor
	script *script.Executor
	rpc    *rpc.Executor
	files  *files.Executor
	refs   *files.References
	shell  sessions
	mock   *toolmock.Mock
	own    *own.Own

	children child.Group // services and MCP servers

	hooks *hooks.Hooks
	over  map[string]*overrides.Winner // services that replace something, by interface
	kept  *overrides.Secrets           // where the values of secrets come from; nil = of the operator's file
	// config are the values of options, by plugin and option.
	config map[string]map[string]string

	replayed *replayed     // of all editions
	tries    atomic.Uint64 // calls of Try with Live
	board    *progress.Board

	next  atomic.Pointer[Set] // of the newest edition; nil = plugins were not read again
	ended sync.Once           // its programs have ended
	calls sync.RWMutex        // is held for reading by calls that are carried out
}

// toolOf is a tool with what carries it out.
type toolOf struct {
	*project.Tool
	executor tools.Executor
	gate     *gate.Gate
	by       *overrides.Winner // the service that replaces the executor; nil = none does
	leaks    *leaks.Count      // that the tools of sessions share
	leftOut  sync.Once         // the warning about files that a call left beyond those that are kept
}

// New makes the tools and hooks of a project ready; nil if it has none that leave the turn.
func New(opt Options) (*Set, error) {
	s, err := ForTries(opt)
	if err == nil {
		err = s.Clean()
	}
	if err != nil || len(s.tools)+len(s.over) == 0 && !s.hooks.Turns() {
		return nil, err
	}
	return s, s.mayReplace(s.own.Refused)
}

// ForTries makes the tools of a project ready for [Set.Try], also if all of them are
// workflows.
func ForTries(opt Options) (*Set, error) {
	s := &Set{opt: opt, tools: map[string]*toolOf{}, refs: files.NewReferences(opt.Mounts.sessions()), mock: opt.Project.ToolMock(), board: &progress.Board{}, replayed: &replayed{}, shell: sessions{leaks: new(leaks.Count), beside: folders.NewBeside(opt.Mounts.Agent)}}
	s.files = files.New(s.refs)
	if opt.before != nil {
		s.files = opt.before.files
	}
	if err := errors.Join(s.configure(), s.replaced()); err != nil {
		return nil, err
	}
	var missing []string
	for _, id := range opt.Project.ToolIDs() {
		t, _ := opt.Project.Tool(id)
		x := &toolOf{Tool: s.configured(t), leaks: new(leaks.Count), gate: gate.New(id, limit.Options{Requests: int64(t.Definition.Execution.Rate), Concurrency: t.Definition.Execution.Concurrency, Fixed: true, Retries: -1, Kept: -1})}
		if x.by = s.over[overrides.OfExecutor(t.Definition)]; x.by != nil {
			x.Tool, x.executor = s.withoutSecrets(t), s.services().Instead(x.by.Service)
			s.tools[id] = x
			continue
		}
		switch impl := &t.Definition.Implementation; impl.Type {
		case manifest.Workflow, manifest.Node:
			if !setup.Stands(opt.Project, id, string(s.mode())) {
				continue
			}
		case manifest.HTTP:
			if s.http == nil {
				s.http = httpcall.New()
			}
			x.executor = s.http
		case manifest.Files:
			x.executor = s.files
		case manifest.Shell:
			if opt.Sandbox == nil && s.mode() == Live {
				return nil, protocol.Errorf(protocol.KindNotFound, "the tool %s runs programs, and this program has no sandbox for them (runner.Options.Sandbox); run with --tools mock", id)
			}
			if opt.before != nil {
				s.shell = opt.before.shell
			}
			x.executor, x.leaks = s.sessions(), s.shell.leaks
		case manifest.Value:
			x.executor = value{Set: s} // made for each call
		case manifest.Script, manifest.Code:
			if opt.Sandbox == nil && s.mode() == Live {
				return nil, protocol.Errorf(protocol.KindNotFound, "the tool %s is a program, and this program has no sandbox for it (runner.Options.Sandbox); run with --tools mock", id)
			}
			if s.script == nil {
				s.script = script.New(opt.Sandbox)
			}
			x.executor = s.script
		case manifest.MCP:
			if d := opt.Project.Servers()[impl.Server].Definition; d.Command != "" && opt.Sandbox == nil && s.mode() == Live {
				return nil, protocol.Errorf(protocol.KindNotFound, "the MCP server %s is a program, and this program has no sandbox for it (runner.Options.Sandbox); run with --tools mock", d.ID)
			}
			if s.mcp == nil {
				s.mcp = s.newMCP()
			}
			x.executor = s.mcp
		case manifest.Service:
			var err error
			if x.executor, err = s.service(t); err != nil {
				return nil, err
			}
			if x.executor == nil && s.mode() == Live {
				missing = append(missing, id+" ("+impl.Name+")")
			}
		default:
			return nil, protocol.Errorf(protocol.KindInternal, "the tool %s: nothing carries out the type %s; give it a case in ForTries of scenes/tooling", id, impl.Type)
		}
		s.tools[id] = x
	}
	if s.inherit(opt.before); opt.before == nil {
		if err := s.hooked(); err != nil {
			return nil, err
		}
	}
	switch {
	case len(s.tools) == 0:
		return s, nil
	case len(missing) > 0:
		return nil, protocol.Errorf(protocol.KindNotFound, "no program registered the services of these tools: %s; run with --tools mock, or in the program that has them (runner.Options.Services)", strings.Join(missing, ", "))
	case s.unknown():
		return nil, protocol.Errorf(protocol.KindInvalid, "tools %q: want live, mock, replay or off", opt.Mode)
	case s.mode() == Replay && opt.Recorded == nil:
		return nil, protocol.Errorf(protocol.KindInvalid, "tools replay: there are no recorded answers (Options.Recorded)")
	case s.mode() == Mock && s.mock == nil:
		return nil, protocol.Errorf(protocol.KindNotFound, "the project has no %s, which says what its tools answer; write one, or run with --tools off", project.ToolMock)
	}
	return s, nil
}

func (s *Set) mode() Mode {
	if s.opt.Mode == "" {
		return Live
	}
	return s.opt.Mode
}

func (s *Set) unknown() bool {
	m := s.mode()
	return m != Live && m != Mock && m != Replay && m != Off
}

// Entries are the executors for the table of a scene: of tools, and of hooks that turns ask;
// none for no set.
func (s *Set) Entries() []outside.Entry {
	if s == nil {
		return nil
	}
	e := outside.Entry{Kind: setup.KindTool, AtOnce: atOnce}
	if e.Executor = (*live)(s); s.mode() != Live {
		e.Executor = (*still)(s)
	}
	list := []outside.Entry{e}
	if s.hooks.Turns() {
		list = append(list, s.places())
	}
	return list
}

// atOnce bounds the calls of all tools of a scene that do not answer although their time
// is over.
const atOnce = 64

// Close ends what is open between calls.
func (s *Set) Close() error {
	if s == nil {
		return nil
	}
	var errs []error
	s.now().shell.close()
	for x := s.now(); x != nil; x = x.opt.before {
		errs = append(errs, x.end())
	}
	return errors.Join(errs...)
}

// end ends the programs of one edition, once.
func (s *Set) end() (err error) {
	s.ended.Do(func() { err = s.endAll() })
	return err
}

func (s *Set) endAll() error {
	s.children.Close(s.opt.Project.ShutdownGrace(s.opt.Scene))
	if s.script != nil {
		_ = s.script.Close() // it ends what runs, and has nothing to say
	}
	if s.http != nil {
		return s.http.Close()
	}
	return nil
}

// newMCP makes the executor of all servers that are pinned. It starts none.
func (s *Set) newMCP() *mcp.Executor {
	var list []mcp.Server
	for _, id := range protocol.SortedKeys(s.opt.Project.Servers()) {
		if x := s.opt.Project.Servers()[id]; x.Pin != nil {
			list = append(list, mcp.Server{Definition: x.Definition, Pin: x.Pin})
		}
	}
	return mcp.New(list, mcp.Options{Env: s.variables, Mask: s.maskSaid, Sandbox: s.opt.Sandbox, Failed: s.serviceFailed, Asked: s.opt.Watch.mcpAsked, Group: &s.children, Secrets: func(server string, names []string) (map[string]string, error) {
		return s.secretsFor(context.Background(), "", server, names) // all callers share the server; the request has a bound of its own
	}})
}

// Call makes a call as a scene would; the result is whole.
func (s *Set) Call(ctx context.Context, q *effect.Ask) tools.Result {
	t := s.tools[q.Call.Tool]
	if t == nil {
		return tools.Fail(protocol.KindNotFound, "there is no tool "+q.Call.Tool)
	}
	if s.mode() == Replay {
		return s.again(q)
	}
	c := &tools.Call{Tool: t.Definition, Params: q.Call.Params, Config: s.config[t.Plugin]}
	o := tools.Options{Timeout: q.Timeout, Retries: q.Call.Retry, Draw: q.Model.Draw, Check: t.CheckOutput, Keep: s.keeper(q)}
	switch s.mode() {
	case Off:
		return tools.Fail(protocol.KindUnknown, "tools are off in this run (--tools off)")
	case Mock:
		return s.mock.Simulate(c, toolmock.Asked{Agent: q.Model.Agent, Turn: q.Model.Turn, Draw: q.Model.Draw}, o)
	}
	c.Key = tools.Key(tools.Place{Run: s.opt.Run, Scene: q.Model.Scene, Agent: q.Model.Agent, Turn: q.Model.Turn, Number: q.First}, c.Tool.ID, c.Params)
	return s.watched(t, c, o, func(o tools.Options) (tools.Result, string) { return s.live(ctx, t, c, o, q) })
}

// live carries a call out, with the secrets that it was granted, and takes all secrets out
// of what it answers. refused is why it was not.
func (s *Set) live(ctx context.Context, t *toolOf, c *tools.Call, o tools.Options, q *effect.Ask) (r tools.Result, refused string) {
	if err := t.leaks.Refused(); err != nil {
		return s.denied(c.Tool.ID, err), metrics.DeniedBySecret
	}
	err := s.refusal(t)
	if err != nil {
		return s.denied(c.Tool.ID, err), metrics.DeniedByGrant
	}
	q, did, err := s.beforeCall(ctx, t, c, q)
	defer func() { r.Hooks = did.Raw() }()
	if err != nil {
		return s.denied(c.Tool.ID, err), metrics.DeniedByHook
	}
	if c.Secrets, err = s.secretsFor(ctx, q.Model.Agent, c.Tool.ID, c.Tool.Secrets()); err != nil {
		return s.denied(c.Tool.ID, err), metrics.DeniedBySecret
	}
	x, err := s.owned(ctx, t, c, q)
	if err != nil {
		return s.denied(c.Tool.ID, err), metrics.DeniedBySecret
	}
	if s.opt.before != nil && len(q.Call.URIs) == 0 && t.Check != nil { // fetch checks others
		if err := t.Check(c.Params); err != nil {
			r := tools.Fail(protocol.KindInvalid, fmt.Sprintf("the tool %s was read again: parameters of %s: %v", c.Tool.ID, c.Tool.ID, err))
			return r, ""
		}
	}
	if len(q.Call.Contents) > 0 {
		if err := s.source(q).Same(); err != nil {
			return s.denied(c.Tool.ID, err), metrics.DeniedByAsk
		}
	}
	release, err := s.fetch(t, c, q)
	defer release()
	if err != nil {
		return s.denied(c.Tool.ID, err), ""
	}
	if c.Tool.Implementation.Type == manifest.Files {
		c.Files, c.Keep = s.source(q), s.keeperOfTexts(q)
	}
	defer s.reporting(ctx, c, q)()
	s.asking(ctx, c, &o, q)
	if o.Mask = s.mask; t.Definition.Implementation.Type == manifest.Shell {
		o.Mask = s.maskError
	}
	s.conceal(c, &o)
	r = tools.Run(ctx, x, c, o)
	if r.Meta.LeftOut > 0 && s.opt.Warn != nil {
		t.leftOut.Do(func() {
			s.opt.Warn(fmt.Sprintf("a call of the tool %s left more files than are kept: %d of them are gone; the same of later calls is not told", c.Tool.ID, r.Meta.LeftOut))
		})
	}
	return s.afterCall(ctx, c, q, o, r, &did), ""
}

func answered(r *tools.Result, latency time.Duration) effect.Answered {
	err := r.Err()
	return effect.Answered{Output: r.Output, Artifacts: r.Artifacts, Latency: latency, Err: err, Carried: err != nil && r.Carried && !tooltask.Costs(protocol.KindOf(err)), Hooks: r.Hooks}
}

// live carries calls out.
type live Set

// Name implements outside.Executor.
func (*live) Name() string { return "tools" }

// MayRepeat implements outside.Executor.
func (x *live) MayRepeat(q *effect.Ask) bool {
	t := (*Set)(x).now().tools[q.Call.Tool]
	return t != nil && t.Definition.Execution.Repeat != manifest.Never
}

// Gate implements outside.Tools.
func (x *live) Gate(q *effect.Ask) *gate.Gate {
	if t := (*Set)(x).now().tools[q.Call.Tool]; t != nil {
		return t.gate
	}
	return nil
}

// Do implements outside.Executor.
func (x *live) Do(ctx context.Context, q *effect.Ask) effect.Answered {
	s, done := (*Set)(x).begin()
	defer done()
	r := s.Call(ctx, q)
	latency, measured := time.Duration(0), false
	if t := s.tools[q.Call.Tool]; t != nil {
		latency, measured = t.Definition.Latency()
	}
	if measured || s.opt.Realtime {
		latency = r.Meta.Latency.Std()
	}
	return answered(&r, latency)
}

// still answers without leaving the process.
type still Set

// Name implements outside.Executor.
func (x *still) Name() string { return "tools " + string((*Set)(x).mode()) }

// MayRepeat implements outside.Executor.
func (*still) MayRepeat(*effect.Ask) bool { return true }

// Answer implements outside.Instant.
func (x *still) Answer(q *effect.Ask) effect.Answered {
	s, done := (*Set)(x).begin()
	defer done()
	if s.mode() == Replay && s.tools[q.Call.Tool] != nil {
		return s.recorded(q)
	}
	r := s.Call(context.Background(), q)
	return answered(&r, r.Meta.Latency.Std())
}

// Do implements outside.Executor: on the realtime clock the latency passes.
func (x *still) Do(ctx context.Context, q *effect.Ask) effect.Answered {
	a := x.Answer(q)
	if err := llm.Wait(ctx, x.Name(), a.Latency); err != nil {
		return effect.Answered{Err: err}
	}
	return a
}
