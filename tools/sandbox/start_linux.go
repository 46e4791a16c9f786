//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"tavernsim/protocol"
	"tavernsim/tools/sandbox/door"
	"tavernsim/tools/sandbox/probe"
	"tavernsim/tools/sandbox/remains"
)

// Descriptors of the worker beside its outputs.
const (
	controlFD = 3 // reads: the job, then single bytes; its end is the end of the engine
	statusFD  = 4 // writes: what it writes before it starts the program (begins), then one status
	filesFD   = 5 // writes: the files that are left, if any are kept
	doorFD    = 6 // a socket: the listener of the proxy goes there, in the profile net
)

// grace is the time between TERM and KILL.
const grace = 2 * time.Second

// job is what the worker does; it comes as JSON after its length in four bytes.
type job struct {
	View   bool     `json:"view"` // the worker builds the view
	Net    bool     `json:"net,omitempty"`
	Switch bool     `json:"switch"` // the worker is root of the host, and leaves that user
	Binds  []bind   `json:"binds"`
	Files  []File   `json:"files,omitempty"`
	Argv   []string `json:"argv"`
	Env    []string `json:"env"`
	Dir    string   `json:"dir"`
	Limits Limits   `json:"limits"`
	// Terminal says that the outputs are the program's controlling terminal.
	Terminal bool         `json:"terminal,omitempty"`
	Keep     remains.Keep `json:"keep,omitzero"`
}

type bind struct {
	Source string `json:"source"`
	Target string `json:"target"`
	Write  bool   `json:"write,omitempty"`
	System bool   `json:"system,omitempty"` // left out if absent; a symbolic link stays one
}

// status is what the worker says at the end.
type status struct {
	Exit   int             `json:"exit"`
	Signal string          `json:"signal,omitempty"`
	End    End             `json:"end,omitempty"`
	Failed probe.Guarantee `json:"failed,omitempty"` // what could not be set up
	Start  bool            `json:"start,omitempty"`  // the program could not be started
	Error  string          `json:"error,omitempty"`
	Left   int             `json:"left,omitempty"` // files that were not sent
}

// failure is a sandbox that could not be set up.
type failure struct {
	missing probe.Missing
}

func (f *failure) Error() string {
	return "the sandbox lost " + string(f.missing.Guarantee) + ": " + f.missing.Reason
}

func (b *Box) run(ctx context.Context, o outer, c Command) (Result, error) {
	r, err := b.start(ctx, o, c, nil)
	if f, ok := errors.AsType[*failure](err); ok {
		return Result{}, lacks(ctx, &c, f.missing)
	}
	return r, err
}

func (b *Box) start(ctx context.Context, o outer, c Command, more []bind) (Result, error) {
	began := time.Now()
	j := b.job(c, more)
	j.View = o.plain()
	j.Switch = j.View && switches()
	j.Net = c.profile() == Net
	if c.profile() == Wasm {
		j.module()
	}
	p := b.takeSpare(o, &c)
	if p == nil {
		var err error
		if p, err = newProcess(o, &j, &c); err != nil {
			return Result{}, &failure{probe.Missing{Guarantee: probe.Processes, Reason: whyNot(err)}}
		}
	}
	if err := p.give(&j, c.Stdin); err != nil {
		return Result{}, err
	}
	if b.atOnce(began) {
		b.keepSpare(ctx, o, &c)
	}
	if c.Started != nil {
		c.Started(p.cmd.Process.Pid)
	}
	end := p.wait(ctx, j.Limits.Time, c.Hard)
	r := Result{End: end, Stdout: p.out.output(), Stderr: p.err.output(), Took: time.Since(began)}
	err := p.conclude(&r, &c)
	b.keepSpare(ctx, o, &c)
	if c.More != nil {
		b.moreEnded()
	}
	return r, err
}

// module lets this program run the module that a command names, which it finds below the folder
// of the command.
func (j *job) module() {
	file := path.Join(j.Dir, j.Argv[0])
	if path.IsAbs(j.Argv[0]) {
		file = j.Argv[0]
	}
	j.Argv = append([]string{selfPath, reexecName, moduleName, file}, j.Argv[1:]...)
	if self, err := os.Executable(); err == nil {
		j.Binds = append(j.Binds, bind{Source: self, Target: selfPath})
	}
}

func (b *Box) job(c Command, more []bind) job {
	j := job{Argv: c.Argv, Dir: c.Dir, Limits: c.Limits.filled(), Binds: more, Files: c.Files, Terminal: c.Terminal != nil, Keep: c.Keep}
	if j.Dir == "" {
		j.Dir = Work
	}
	j.Env = append([]string{"PATH=" + Path, "HOME=" + Work, "TMPDIR=/tmp", "LANG=C.UTF-8"}, c.Env...)
	if c.profile() == Net {
		j.Env = append(j.Env, door.Variables()...)
	}
	for _, s := range b.system {
		j.Binds = append(j.Binds, bind{Source: s, Target: s, System: true})
	}
	for _, m := range c.Mounts {
		j.Binds = append(j.Binds, bind{Source: m.Host, Target: path.Clean(m.Inside), Write: m.Write})
	}
	return j
}

// whyNot adds to what the kernel says of namespaces where they are allowed.
func whyNot(err error) string {
	for _, no := range []error{syscall.EPERM, syscall.ENOSPC, syscall.EUSERS, syscall.EACCES, syscall.EINVAL} {
		if errors.Is(err, no) {
			return err.Error() + ": this user may make no namespaces, see user.max_user_namespaces and docs/sandbox.md"
		}
	}
	return err.Error()
}

// process is a worker: it waits for its job, or does it.
type process struct {
	cmd      *exec.Cmd
	given    chan struct{} // closed when the worker has its job; what follows is set before
	in       *bytes.Reader
	out, err capture
	control  *os.File
	status   *os.File
	files    *os.File
	left     chan []remains.File // has those that were left
	door     *door.Door          // nil = no proxy
}

// late is the end of a stream of a worker that may have no job yet.
type late struct {
	given <-chan struct{}
	io.Reader
	io.Writer
}

func (l late) Read(b []byte) (int, error) {
	<-l.given
	return l.Reader.Read(b)
}

func (l late) Write(b []byte) (int, error) {
	<-l.given
	return l.Writer.Write(b)
}

// newProcess starts a worker, which waits for its job. It forks on the thread of its caller.
func newProcess(o outer, j *job, c *Command) (*process, error) {
	cmd, err := o.command(j)
	if err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, given: make(chan struct{}), in: bytes.NewReader(nil), left: make(chan []remains.File, 1)}
	theirs, err := p.pipes(c.Proxy)
	defer func() {
		for _, f := range theirs {
			f.Close()
		}
	}()
	if err != nil {
		p.close()
		return nil, err
	}
	cmd.ExtraFiles = theirs
	cmd.Env = []string{} // nil would be the engine's
	cmd.Dir = "/"
	cmd.Stdin, cmd.Stdout, cmd.Stderr = late{p.given, p.in, nil}, late{p.given, nil, &p.out}, late{p.given, nil, &p.err}
	if c.In != nil {
		cmd.Stdin = c.In
	}
	if c.Out != nil {
		cmd.Stdout, p.err.last = c.Out, true
	}
	if c.Terminal != nil {
		cmd.Stdout, cmd.Stderr = c.Terminal, c.Terminal
	}
	cmd.WaitDelay = grace // for an outer stage that dies before its namespace
	if err := cmd.Start(); err != nil {
		p.close()
		return nil, err
	}
	if uid, gid := hostIDs(); uid != os.Geteuid() { // or the program could not open its streams by their names in /dev
		for fd := range 3 {
			_ = os.Chown(fmt.Sprintf("/proc/%d/fd/%d", cmd.Process.Pid, fd), uid, gid)
		}
	}
	return p, nil
}

// pipes makes the pipes of a worker and returns its ends, in the order of their descriptors.
func (p *process) pipes(proxy func(net.Listener)) (theirs []*os.File, err error) {
	pipe := func(read, write **os.File) {
		if err == nil {
			*read, *write, err = os.Pipe()
		}
	}
	ends := make([]*os.File, 3)
	pipe(&ends[0], &p.control)
	pipe(&p.status, &ends[1])
	pipe(&p.files, &ends[2])
	if proxy != nil && err == nil {
		var end *os.File
		p.door, end, err = door.Open(proxy)
		ends = append(ends, end)
	}
	return slices.DeleteFunc(ends, func(f *os.File) bool { return f == nil }), err
}

// give gives a worker its job.
func (p *process) give(j *job, stdin []byte) error {
	p.out.max, p.err.max = j.Limits.Output, j.Limits.Output
	p.in.Reset(stdin)
	close(p.given)
	go func() { p.left <- remains.Receive(p.files, j.Keep) }()
	body, err := json.Marshal(j)
	if err != nil {
		p.end()
		return err
	}
	// A worker that is gone shows in its status.
	_, _ = p.control.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...))
	return nil
}

// end ends a worker, and everything in its namespace.
func (p *process) end() {
	select {
	case <-p.given:
	default:
		close(p.given)
	}
	_ = p.cmd.Process.Kill()
	p.close()
	_ = p.cmd.Wait()
}

// wait waits for the end of the worker, or brings it about.
func (p *process) wait(ctx context.Context, most time.Duration, hard bool) End {
	gone := make(chan struct{})
	go func() {
		// Its status says how it ended; an error of a stream is the program's end too.
		_ = p.cmd.Wait()
		close(gone)
	}()
	late := time.NewTimer(most)
	defer late.Stop()
	end := Exited
	select {
	case <-gone:
		return end
	case <-late.C:
		end = TimedOut
	case <-ctx.Done():
		end = Cancelled
	}
	if !hard {
		_, _ = p.control.Write([]byte{'T'})
		late.Reset(grace)
		select {
		case <-gone:
			return end
		case <-late.C:
		}
	}
	_ = p.cmd.Process.Kill() // process 1 of the namespace: everything in it dies before Wait returns
	p.control.Close()        // below another outer stage the worker sees the end of its pipe
	<-gone
	return end
}

// conclude reads what the worker said.
func (p *process) conclude(r *Result, c *Command) error {
	_ = p.status.SetReadDeadline(time.Now().Add(grace)) // below another outer stage that was killed the worker may go on
	text, _ := io.ReadAll(io.LimitReader(p.status, 1<<16))
	p.control.Close()
	// Bubblewrap that was killed before it let its child go leaves it waiting for ever, in the session of both.
	session := time.AfterFunc(2*grace, func() { _ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) })
	files := <-p.left
	p.files.Close()
	_ = p.status.SetReadDeadline(time.Time{}) // its end is the end of the worker
	rest, _ := io.ReadAll(io.LimitReader(p.status, 1<<16))
	session.Stop()
	text = append(text, rest...)
	p.close()
	var s status
	if json.Unmarshal(text, &s) != nil { // it was killed
		if len(text) > 0 || r.End != Exited {
			r.Exit, r.Signal = -1, "SIGKILL" // with its worker
			return nil
		}
		why := strings.TrimSpace(string(r.Stderr.Bytes[:min(len(r.Stderr.Bytes), 400)]))
		return &failure{probe.Missing{Guarantee: probe.Processes, Reason: "the worker ended without a word (" + p.cmd.ProcessState.String() + ") " + why}}
	}
	switch {
	case s.Failed != "":
		return &failure{probe.Missing{Guarantee: s.Failed, Reason: s.Error}}
	case s.Start:
		return protocol.Errorf(protocol.KindNotFound, "the program %q cannot be started in the sandbox: %s; it must be in %s, or below a mount", c.Argv[0], s.Error, Path)
	}
	r.Exit, r.Signal = s.Exit, s.Signal
	if s.End != "" && r.End == Exited {
		r.End = s.End
	}
	if r.End == Exited {
		r.Files, r.Left = files, s.Left
	}
	return nil
}

func (p *process) close() {
	for _, f := range []*os.File{p.control, p.status, p.files} {
		if f != nil {
			f.Close()
		}
	}
	if p.door != nil {
		p.door.Close()
	}
}
