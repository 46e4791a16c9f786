package script

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"tavernsim/internal/source"
	"tavernsim/protocol"
	"tavernsim/tools"
	"tavernsim/tools/manifest"
	"tavernsim/tools/proxy"
	"tavernsim/tools/sandbox"
)

// Executor carries out tools of the types script and code.
type Executor struct {
	box    *sandbox.Box // of other executors, too
	closed atomic.Bool
}

// New makes an executor that runs its programs in a box.
func New(box *sandbox.Box) *Executor { return &Executor{box: box} }

// Close implements tools.Executor.
func (x *Executor) Close() error {
	x.closed.Store(true) // a call that has not returned yet leaves no worker
	if x.box != nil {    // else its calls are answered by others
		x.box.Rest()
	}
	return nil
}

// Call implements tools.Executor.
func (x *Executor) Call(ctx context.Context, c *tools.Call) tools.Result {
	if c.Tool.Implementation.Type == manifest.Code {
		return x.code(ctx, c)
	}
	stdin, err := json.Marshal(c.Params)
	if err != nil {
		r := tools.Fail(protocol.KindInvalid, err.Error())
		r.Unsent = true
		return r
	}
	if c.Params == nil {
		stdin = []byte("{}")
	}
	cmd := sandbox.Command{Argv: c.Tool.Words(), Dir: sandbox.Files, Stdin: append(stdin, '\n'), Env: environment(c), Keep: kept()}
	for _, f := range c.Tool.Files() {
		cmd.Files = append(cmd.Files, sandbox.File{Path: f.Path, Data: f.Data, Exec: true})
	}
	if c.Tool.IsModule() {
		cmd.Profile = sandbox.Wasm
	}
	if servers := c.Tool.Servers(); len(servers) > 0 {
		cmd.Profile, cmd.Proxy = sandbox.Net, func(l net.Listener) { proxy.Serve(l, servers) }
	}
	r, failed := x.run(ctx, cmd, c.Binds)
	if failed != nil {
		return *failed
	}
	return resultOf(&r)
}

// environment is what a program is told beside its parameters.
func environment(c *tools.Call) []string {
	env := []string{
		"SIMD_TOOL=" + c.Tool.ID,
		"SIMD_IDEMPOTENCY_KEY=" + c.Key,
		fmt.Sprintf("SIMD_ATTEMPT=%d", c.Attempt),
		"SIMD_WORK=" + sandbox.Work,
	}
	for _, name := range protocol.SortedKeys(c.Config) {
		env = append(env, tools.ConfigVariable(name)+"="+c.Config[name])
	}
	for _, name := range protocol.SortedKeys(c.Secrets) {
		env = append(env, "SIMD_SECRET_"+name+"="+c.Secrets[name])
	}
	return env
}

// run runs a command. The result is nil if the program ended by itself.
func (x *Executor) run(ctx context.Context, cmd sandbox.Command, binds []tools.Bind) (sandbox.Result, *tools.Result) {
	if end, ok := ctx.Deadline(); ok && cmd.Limits.Time <= 0 {
		cmd.Limits.Time = max(time.Until(end), time.Millisecond)
	}
	for _, b := range binds {
		cmd.Mounts = append(cmd.Mounts, sandbox.Mount{Host: b.Host, Inside: b.Inside})
	}
	cmd.More = func() bool { return !x.closed.Load() }
	r, err := x.box.Run(ctx, cmd)
	if err != nil {
		failed := tools.Quote(protocol.KindOf(err), err.Error(), "")
		failed.Unsent = true // nothing of the program ran
		return r, &failed
	}
	kind, text := protocol.ErrorKind(""), ""
	switch r.End {
	case sandbox.TimedOut:
		kind, text = protocol.KindTimeout, fmt.Sprintf("the program was ended after %s", r.Took.Round(time.Millisecond))
	case sandbox.Cancelled:
		kind, text = protocol.KindCancelled, "the program was ended"
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			kind = protocol.KindTimeout
		}
	case sandbox.OutOfMem:
		kind, text = protocol.KindLimit, "the program was ended: all its processes together had too much memory"
	case sandbox.TooManyFiles:
		kind, text = protocol.KindLimit, "the program was ended: it made too many files"
	case sandbox.Exited:
		return r, nil
	}
	failed := tools.Quote(kind, text, said(&r))
	failed.Lost, failed.Size = true, size(&r)
	return r, &failed
}

// resultOf is what a program that ended by itself means.
func resultOf(r *sandbox.Result) tools.Result {
	out := tools.Output(output(r.Stdout))
	switch {
	case r.Signal != "": // somewhere in the middle of its work
		out = tools.Quote(protocol.KindTransient, "the program was ended by "+r.Signal, said(r))
		out.Lost = true
	case r.Exit != 0:
		out = tools.Quote(tools.KindTool, fmt.Sprintf("the program ended with exit code %d", r.Exit), said(r))
	}
	if out.Status == tools.OK {
		attach(&out, r)
		out.LeftOut = r.Left
	}
	out.Size, out.Dropped = size(r), r.Stdout.Dropped
	return out
}

// said is the end of what a program wrote: of the standard error, or, if it is empty, of its output.
func said(r *sandbox.Result) string {
	text := strings.TrimSpace(string(r.Stderr.Bytes))
	if text == "" {
		text = strings.TrimSpace(string(r.Stdout.Bytes))
	}
	if text == "" {
		return ""
	}
	return ": " + text[max(0, len(text)-maxSaid):]
}

const maxSaid = 512 // bytes

func size(r *sandbox.Result) int64 {
	return int64(len(r.Stdout.Bytes)) + r.Stdout.Dropped + int64(len(r.Stderr.Bytes)) + r.Stderr.Dropped
}

// output is JSON as a value, else a text; nothing is null.
func output(o sandbox.Output) any {
	if o.Dropped > 0 {
		return text(o)
	}
	trimmed := bytes.TrimSpace(o.Bytes)
	if len(trimmed) == 0 {
		return nil
	}
	if strings.IndexByte(`{["-0123456789tfn`, trimmed[0]) >= 0 && json.Valid(trimmed) {
		if v, err := source.ParseValue("output.json", trimmed, source.Limits{MaxDepth: protocol.MaxNested, Wide: true}); err == nil {
			return v
		}
	}
	return text(o)
}

// text is an output with what became of its rest.
func text(o sandbox.Output) string {
	s := string(o.Bytes)
	if o.Dropped > 0 {
		s += fmt.Sprintf("\n… %d bytes more were dropped", o.Dropped)
	}
	return s
}
