package served

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/run/rundir"
	"tavernsim/tools"
	"tavernsim/tools/mcp/serve"
)

// run is one that the desk started.
type run struct {
	id, dir string
	stop    context.CancelFunc
	ended   chan struct{} // closed at the end, after the following fields are set
	code    int
	said    string
}

// running reports whether the run goes on.
func (r *run) running() bool {
	select {
	case <-r.ended:
		return false
	default:
		return true
	}
}

// commands are the tools of simd. A call whose parameters do not fit what clients are told of them is refused.
func (d *Desk) commands() []serve.Tool {
	list := []serve.Tool{
		{
			Name: "simd_validate", ReadOnly: true, Parameters: object(nil, nil), Output: validated(),
			Description: "Checks the project: every fault and warning with file, line and a suggestion.",
			Call: func(ctx context.Context, _ map[string]any) tools.Result {
				return d.command(ctx, false, "validate", d.opt.Folder, "--json")
			},
		},
		{
			Name: "simd_run", Parameters: object(d.runParameters(), nil), Output: promise(map[string]any{"run": of("string")}, "run"),
			Description: "Starts a run of the project and answers its id. What is left open is as the scene says. Look at it with simd_run_status and simd_inspect.",
			Call:        d.start,
		},
		{
			Name: "simd_run_status", ReadOnly: true,
			Parameters: object(map[string]any{
				"run":          text("id of the run"),
				"wait_seconds": map[string]any{"type": "integer", "minimum": 0, "maximum": maxWait, "description": "answer when the run has ended, at the latest after so many seconds; default 0"},
			}, []string{"run"}),
			Output:      statusSchema(),
			Description: "Tells whether a run is running, ended, resumable or damaged, and the summary of one that has ended.",
			Call:        d.status,
		},
		{
			Name: "simd_run_stop", Parameters: object(map[string]any{"run": text("id of the run")}, []string{"run"}), Output: statusSchema(),
			Description: "Stops a run of this server after its current moment, and answers as simd_run_status does. 'simd run --resume' goes on with it. A run that does not go on stays as it is.",
			Call:        d.stop,
		},
		{
			Name: "simd_inspect", ReadOnly: true, Parameters: object(viewParameters(), []string{"run"}),
			Description: "Shows what happened in a run, and why: one of the views of 'simd inspect', as JSON.",
			Call:        d.inspect,
		},
	}
	for i := range list {
		list[i].Call = fitting(list[i].Parameters, list[i].Call)
	}
	return list
}

// fitting is a call that is made only with parameters that fit a schema. In them every number that is whole is an int64.
func fitting(schema any, call func(context.Context, map[string]any) tools.Result) func(context.Context, map[string]any) tools.Result {
	compiled := sync.OnceValues(func() (func(any) error, error) { return project.CompileSchema(schema) })
	return func(ctx context.Context, params map[string]any) tools.Result {
		fits, err := compiled()
		if err != nil {
			return tools.Fail(protocol.KindInternal, err.Error())
		}
		if err := fits(params); err != nil {
			return tools.Fail(protocol.KindInvalid, err.Error())
		}
		params = maps.Clone(params)
		for name, v := range params {
			if f, ok := v.(float64); ok && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
				params[name] = int64(f) // 7.0 is a whole number
			}
		}
		return call(ctx, params)
	}
}

// runParameters are the parameters of simd_run: flags of 'simd run' that name no file, but
// for those that the operator has set.
func (d *Desk) runParameters() map[string]any {
	params := map[string]any{
		"scene":  text("id of the scene; default: the project's default scene"),
		"agents": whole("total number of agents of all entries with a count"),
		"ticks":  whole("ticks of virtual time to run"),
		"for":    text("scene time to run, for example 90m"),
		"until":  text("stop when this expression over world and scene holds, for example world.day >= 3"),
		"seed":   map[string]any{"type": "integer", "minimum": 0, "description": "seed of all random choices"},
		"model":  map[string]any{"type": "string", "maxLength": maxText, "pattern": `^[^:/\\]*$`, "description": "model for requests without a name: the name of a file of models/, or scripted"},
		"tools":  map[string]any{"enum": []any{"live", "mock", "off"}, "description": "live = tools are carried out, mock = tools/mock.yaml answers, off = every call fails"},
		"budget": text("most that models may take, for example tokens=100000,dollars=0.5"),
	}
	for _, flag := range d.opt.RunFlags {
		name, _, _ := strings.Cut(strings.TrimPrefix(flag, "--"), "=")
		delete(params, name)
	}
	return params
}

// views are those of 'simd inspect' that only read and print JSON.
func views() []string {
	return append(lists(), "summary", "agent", "world", "deliberation", "trace", "critical-path", "script", "space")
}

// lists are the views of many rows.
func lists() []string {
	return []string{"agents", "budgets", "events", "facts", "audit", "trips", "artifacts", "dead-letters"}
}

// viewParameters are the views that only read, and those of their flags that name no file.
func viewParameters() map[string]any {
	params := map[string]any{
		"run": text("id of the run"),
		"view": map[string]any{
			"enum":        views(),
			"description": "default summary. agent wants an id, deliberation AGENT/TURN, trace an event, world may have a path: see argument",
		},
		"argument": text("what the view looks at: an agent, AGENT/TURN, an event, a path of the world"),
		"limit":    map[string]any{"type": "integer", "minimum": 1, "maximum": 1000, "description": "rows of a list; default 50"},
		"failed":   map[string]any{"type": "boolean", "description": "agents with failures (agents)"},
		"refused":  map[string]any{"type": "boolean", "description": "only refused events (events)"},
		"all":      map[string]any{"type": "boolean", "description": "the whole tree (trace); all agents of a map (space); every fact of a run that goes on (summary, agents, agent, world)"},
		"depth":    whole("events below one another; default 8 (trace)"),
		"width":    whole("reactions per event; default 8 (trace)"),
	}
	for name, about := range map[string]string{
		"scene": "id of the scene, if the run has several", "at": "moment to look at (agent, world, space): a scene time, an offset as 90s, wave:N, end",
		"since": "from this moment on (lists)", "until": "up to this moment (lists)", "wave": "waves A..B (facts)",
		"diff": "two moments A..B to compare (world)", "name": "agents whose id contains this (agents)", "priority": "low, normal, high or critical (events)", "trace": "of this trace (events)", "what": "kinds of changes, with commas between them (audit)",
		"profile": "agents of this profile (agents)", "state": "idle, asleep, resting, blocked, given_up or away (agents)", "sort": "order of the agents (agents)",
		"type": "type of event, or prefix.* (events, dead-letters)", "source": "published by this agent (events)", "receiver": "heard by this agent (events)",
		"kind": "kind of fact, or prefix.* (facts)", "actor": "decided by this actor (facts)", "path": "at or below this path (audit)",
		"agent": "of this agent (audit, trips, artifacts, dead-letters)", "tool": "calls of this tool (audit)", "tag": "state commands with one of these tags, with commas between them (audit)", "reason": "refused for this reason (dead-letters)",
		"group": "count by reason, type or source (dead-letters)",
	} {
		params[name] = text(about)
	}
	return params
}

func text(about string) map[string]any {
	return map[string]any{"type": "string", "maxLength": maxText, "description": about}
}

func whole(about string) map[string]any {
	return map[string]any{"type": "integer", "minimum": 1, "description": about}
}

func object(properties map[string]any, required []string) map[string]any {
	o := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if properties == nil {
		o["properties"] = map[string]any{}
	}
	if len(required) > 0 {
		o["required"] = required
	}
	return o
}

// flagsOf makes flags of parameters.
func flagsOf(params map[string]any) (flags []string) {
	for _, name := range slices.Sorted(maps.Keys(params)) {
		flags = append(flags, fmt.Sprintf("--%s=%v", name, params[name]))
	}
	return flags
}

func (d *Desk) start(ctx context.Context, params map[string]any) tools.Result {
	r, err := d.begin(flagsOf(params))
	if err != nil {
		return tools.Fail(protocol.KindOf(err), err.Error())
	}
	// A wrong command line ends at once; a run that has begun has its manifest.
	tick, late := time.NewTicker(lookEvery), time.NewTimer(beginsIn)
	defer tick.Stop()
	defer late.Stop()
	for {
		select {
		case <-r.ended:
			if _, begun := listed(ctx, r.dir); !begun {
				return failed(r.code, r.said)
			}
		case <-ctx.Done():
		case <-late.C:
		case <-tick.C:
			if _, begun := listed(ctx, r.dir); !begun {
				continue
			}
		}
		return tools.Output(map[string]any{"run": r.id})
	}
}

// begin starts a run.
func (d *Desk) begin(flags []string) (*run, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, protocol.Errorf(protocol.KindCancelled, "the server ends")
	}
	going := 0
	for _, r := range d.runs {
		if r.running() {
			going++
		}
	}
	if going >= MaxRuns {
		return nil, protocol.Errorf(protocol.KindLimit, "%d runs go on already; stop one (simd_run_stop), or wait", going)
	}
	if len(d.runs) >= maxKept {
		maps.DeleteFunc(d.runs, func(_ string, r *run) bool { return !r.running() })
	}
	ctx, stop := context.WithCancel(context.Background())
	id := time.Now().UTC().Format("20060102-150405-") + strings.ToLower(rand.Text()[:6])
	r := &run{id: id, dir: filepath.Join(d.opt.Runs, id), stop: stop, ended: make(chan struct{})}
	d.runs[id] = r
	args := slices.Concat([]string{"run", d.opt.Folder, "--out", r.dir, "--quiet", "--summary", "none"}, d.opt.RunFlags, flags)
	go func() {
		defer stop()
		said := &bounded{most: maxSaid}
		r.code = d.opt.Command(ctx, io.Discard, said, args...)
		r.said = strings.TrimSpace(said.String())
		close(r.ended)
	}()
	return r, nil
}

// Close interrupts the runs that go on, and waits for them.
func (d *Desk) Close() {
	d.mu.Lock()
	d.closed = true
	runs := slices.Collect(maps.Values(d.runs))
	d.mu.Unlock()
	for _, r := range runs {
		r.stop()
	}
	for _, r := range runs {
		<-r.ended
	}
}

func (d *Desk) started(id string) *run {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.runs[id]
}

func (d *Desk) status(ctx context.Context, params map[string]any) tools.Result {
	id, _ := params["run"].(string)
	seconds, _ := params["wait_seconds"].(int64)
	out := map[string]any{"run": id}
	if r := d.started(id); r != nil {
		late := time.NewTimer(time.Duration(seconds) * time.Second)
		defer late.Stop()
		select {
		case <-r.ended:
		case <-ctx.Done():
		case <-late.C:
		}
		if !r.running() {
			out["exit_code"], out["said"] = r.code, r.said
		}
	}
	found, err := d.find(ctx, id)
	if r := d.started(id); err != nil && r != nil && !r.running() { // its start failed and left nothing
		return failed(r.code, r.said)
	}
	if err != nil {
		return tools.Fail(protocol.KindOf(err), err.Error())
	}
	if found.Problem != "" {
		out["problem"] = found.Problem
	}
	if out["state"] = found.State; found.State != rundir.Running && rundir.Summarized(found.Dir) {
		r := d.summary(ctx, id)
		if r.Error != nil {
			return r
		}
		out["summary"] = r.Output
	}
	return tools.Output(out)
}

func (d *Desk) summary(ctx context.Context, id string) tools.Result {
	b, err := d.read(ctx, uriOf(id))
	var v any
	if err == nil {
		err = json.Unmarshal(b, &v)
	}
	if err != nil {
		return tools.Fail(protocol.KindOf(err), err.Error())
	}
	return tools.Output(v)
}

func (d *Desk) stop(ctx context.Context, params map[string]any) tools.Result {
	id, _ := params["run"].(string)
	r := d.started(id)
	if r == nil {
		return d.stopOther(ctx, id)
	}
	r.stop()
	select {
	case <-r.ended:
	case <-ctx.Done():
	}
	return d.status(ctx, params)
}

// stopOther answers for a run that this process did not start, or no longer knows: one that does not go on
// has nothing to stop.
func (d *Desk) stopOther(ctx context.Context, id string) tools.Result {
	found, err := d.find(ctx, id)
	switch {
	case err != nil:
		return tools.Fail(protocol.KindOf(err), err.Error())
	case found.State == rundir.Running:
		return tools.Fail(protocol.KindConflict, fmt.Sprintf("another process runs %q: only that one stops it", id))
	}
	return d.status(ctx, map[string]any{"run": id})
}

func (d *Desk) inspect(ctx context.Context, params map[string]any) tools.Result {
	id, _ := params["run"].(string)
	argument, _ := params["argument"].(string)
	view, _ := params["view"].(string)
	view = cmp.Or(view, "summary")
	found, err := d.find(ctx, id)
	if err != nil {
		return tools.Fail(protocol.KindOf(err), err.Error())
	}
	params = maps.Clone(params)
	for _, name := range []string{"run", "view", "argument"} { // the others are flags
		delete(params, name)
	}
	list := slices.Contains(lists(), view)
	if params["limit"] == nil && list {
		params["limit"] = rowsOfView
	}
	args := append([]string{"inspect", "--json", "--quiet"}, flagsOf(params)...)
	args = append(args, "--", found.Dir, view)
	if argument != "" {
		args = append(args, argument)
	}
	return d.command(ctx, list, args...)
}
