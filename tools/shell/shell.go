package shell

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"tavernsim/engine/agent/tool"
	"tavernsim/engine/template"
	"tavernsim/protocol"
	"tavernsim/tools"
	"tavernsim/tools/manifest"
	"tavernsim/tools/sandbox"
	"tavernsim/tools/shell/folders"
	"tavernsim/tools/shell/quoting"
)

// Options of an Executor.
type Options struct {
	Sandbox *sandbox.Box // nil = nothing runs
	// Mask takes secrets out of what was written after before, which was masked already; an
	// error withholds it. nil = there are no secrets.
	Mask func(before, text string) (string, error)
	// Has reports whether a text has a secret; nil = none has.
	Has func(text string) bool
	// Withheld reports whether nothing is told of what programs write that may have one of these
	// secrets; nil = all is told.
	Withheld func(names ...string) bool
	// Before reports whether an agent had a session in an earlier process, and notes that it
	// has one; nil = nobody knows.
	Before func(owner string) bool
	// Unclean notes, before a program gets a secret, what a kill would leave behind; a mark
	// without a moment takes that back. nil = nobody does.
	Unclean func(owner string, m folders.Mark) error
	// Named is what marks call a secret of an agent; nil = by its name.
	Named func(owner, name string) string
	Most  int           // sessions at once; 0 = 64
	Idle  time.Duration // a session ends that is not called for so long; 0 = 10 min
	Time  time.Duration // a command that takes longer goes on after the answer; 0 = 30 s
}

// Defaults of Options.
const (
	maxSessions = 64
	maxIdle     = 10 * time.Minute
	maxTime     = 30 * time.Second
)

// Missing lists what sessions need and is not installed.
func Missing() []string {
	if slices.ContainsFunc(strings.Split(sandbox.Path, ":"), func(dir string) bool {
		info, err := os.Stat(dir + "/bash")
		return err == nil && info.Mode()&0o111 != 0
	}) {
		return nil
	}
	return []string{"bash, for sessions (command)"}
}

// Executor holds the sessions of a scene.
type Executor struct {
	opt    Options
	trust  *trust
	left   sync.Once      // what killed processes left is removed
	ending sync.WaitGroup // sessions that were dropped

	mu     sync.Mutex          // guards the following fields
	open   map[string]*session // by owner
	idle   map[string]*time.Timer
	had    map[string]bool          // owners that had a session
	ends   map[string]chan struct{} // by owner: cleaned of the newest session
	closed bool
}

// New makes an executor. It starts nothing.
func New(opt Options) *Executor {
	orElse(&opt.Most, maxSessions)
	orElse(&opt.Idle, maxIdle)
	orElse(&opt.Time, maxTime)
	x := &Executor{opt: opt, open: map[string]*session{}, idle: map[string]*time.Timer{}, had: map[string]bool{}, ends: map[string]chan struct{}{}}
	x.trust = newTrust(&x.opt)
	return x
}

func orElse[T int | time.Duration](v *T, other T) {
	if *v <= 0 {
		*v = other
	}
}

// Close implements tools.Executor. It returns when no process is left.
func (x *Executor) Close() error {
	x.mu.Lock()
	x.closed = true
	var all sync.WaitGroup
	var list []*session
	for owner, s := range x.open {
		x.idle[owner].Stop()
		list = append(list, s)
		all.Go(func() { s.halt("the scene ends") })
	}
	clear(x.open)
	x.mu.Unlock()
	all.Wait()
	finish(list...)
	x.ending.Wait()
	return nil
}

// Call implements tools.Executor.
func (x *Executor) Call(ctx context.Context, c *tools.Call) tools.Result {
	if x.opt.Sandbox == nil {
		return refuse(protocol.KindUnknown, "there is no sandbox here, so there are no sessions")
	}
	content, _ := c.Params["content"].(string)
	if c.Tool.ID == manifest.Command && strings.ContainsRune(content, 0) {
		return refuse(protocol.KindInvalid, "the script has a NUL byte")
	}
	secrets := map[string]string(nil)
	keys := []byte(nil)
	var err error
	if c.Tool.ID == manifest.Command {
		content, secrets, err = quoting.Script(content, c.Secrets)
	} else {
		keys, err = keysOf(c, content)
	}
	if err != nil {
		return refuse(protocol.KindOf(err), "%v", err)
	}
	s, failed := x.session(c)
	if failed != nil {
		return *failed
	}
	select {
	case s.calls <- struct{}{}:
		defer func() { <-s.calls }()
	default:
		return refuse(protocol.KindConflict, "busy: another call of this session is under way")
	}
	if (len(c.Secrets) > 0 || c.Loan != nil) && !s.follows(ctx) {
		return refuse(protocol.KindConflict, "busy: the session before has not ended yet")
	}
	if err := s.trusted(c.Secrets); err != nil {
		return refuse(unnoted(err), "nobody could note that programs get a secret: %v", err)
	}
	x.rest(c.Owner, false)
	defer x.rest(c.Owner, true)
	if c.Tool.ID == manifest.Command {
		return x.command(ctx, s, content, secrets, c.Loan)
	}
	return x.keys(ctx, s, keys)
}

func refuse(kind protocol.ErrorKind, format string, args ...any) tools.Result {
	r := tools.Fail(kind, fmt.Sprintf(format, args...))
	r.Unsent = true
	return r
}

// session gives that of an agent. Only a command starts one.
func (x *Executor) session(c *tools.Call) (*session, *tools.Result) {
	x.mu.Lock()
	defer x.mu.Unlock()
	no := func(kind protocol.ErrorKind, format string, args ...any) (*session, *tools.Result) {
		r := refuse(kind, format, args...)
		return nil, &r
	}
	s, before := x.open[c.Owner], ""
	switch {
	case x.closed:
		return no(protocol.KindCancelled, "the scene ends")
	case s != nil && !s.isOver():
		return s, nil
	case s == nil && c.Tool.ID != manifest.Command:
		return no(protocol.KindNotFound, "no_session: no command runs that could get it; start one with command")
	case s != nil && c.Tool.ID != manifest.Command:
		return no(protocol.KindNotFound, "no_session: the session has ended, and no command runs; the next command starts a new one")
	case s != nil:
		before = s.whyFull()
		x.drop(c.Owner, s)
	case len(x.open) >= x.opt.Most:
		return no(protocol.KindLimit, "%d sessions are open in this scene, which is the limit", len(x.open))
	}
	x.left.Do(func() {
		uid, _ := sandbox.HostIDs()
		folders.RemoveLeft(os.Geteuid(), uid)
	})
	s, err := start(&x.opt, x.trust, c)
	if err != nil {
		kind := protocol.KindOf(err)
		if kind != protocol.KindLimit {
			kind = protocol.KindTransient
		}
		return no(kind, "no session could be started: %v", err)
	}
	s.lost = before
	s.after, x.ends[c.Owner] = x.ends[c.Owner], s.cleaned
	x.trust.enter(s)
	x.open[c.Owner] = s
	x.idle[c.Owner] = time.AfterFunc(x.opt.Idle, func() { x.expire(c.Owner, s) })
	return s, nil
}

// hadOne reports whether an agent had a session before, and notes that it has one.
func (x *Executor) hadOne(owner string) (had bool) {
	if x.opt.Before != nil {
		had = x.opt.Before(owner)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	had = had || x.had[owner]
	x.had[owner] = true
	return had
}

// restarted reports whether the agent had another session before this one.
func (s *session) restarted(x *Executor) bool {
	s.once.Do(func() { s.again = x.hadOne(s.owner) })
	return s.again
}

// drop forgets a session that is over. The lock is held.
func (x *Executor) drop(owner string, s *session) {
	if x.open[owner] != s {
		return // who took it out ends it
	}
	x.idle[owner].Stop()
	delete(x.open, owner)
	delete(x.idle, owner)
	x.ending.Go(func() { s.end("") }) // it is over: this looks at its files, beside the call, and removes its folder
}

// expire ends a session that nobody called for long.
func (x *Executor) expire(owner string, s *session) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.open[owner] != s {
		return
	}
	delete(x.open, owner)
	delete(x.idle, owner)
	x.ending.Go(func() { s.end("it was not called for " + x.opt.Idle.String()) }) // Close comes after it
}

// rest lets the time of a session run, or stops it.
func (x *Executor) rest(owner string, is bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	t := x.idle[owner]
	switch {
	case t == nil:
	case is:
		t.Reset(x.opt.Idle)
	default:
		t.Stop()
	}
}

func (x *Executor) command(ctx context.Context, s *session, script string, secrets map[string]string, loan tools.Loan) tools.Result {
	if s.running() {
		return refuse(protocol.KindConflict, "busy: the command before still runs; answer it with input, end it with <ctrl>c</ctrl>, end its input with <ctrl>d</ctrl>, or wait for it with <ctrl>q</ctrl>")
	}
	note, err := s.lend(loan)
	if err != nil {
		return refuse(unnoted(err), "nobody could note that programs get a secret: %v", err)
	}
	switch err := s.command(script, secrets); {
	case errors.Is(err, errGone) && s.whyFull() == "":
		return x.tookNone(s)
	case err != nil && !s.isOver():
		return tools.Fail(protocol.KindTransient, "the session took no command: "+err.Error())
	}
	return x.follow(ctx, s, note)
}

// keys types into the terminal.
func (x *Executor) keys(ctx context.Context, s *session, b []byte) tools.Result {
	if !s.running() {
		// A key that is a signal would reach the shell alone, and it forgets the line that it reads then: a part of the next command.
		b = slices.DeleteFunc(b, func(key byte) bool { return strings.IndexByte("\x03\x1a\x1c", key) >= 0 }) // ctrl c, z and \
		_ = s.keys(ctx, b)                                                                                   // what nobody reads may be lost
		return x.result(s, done, "no command runs, so nothing reads this now")
	}
	note := ""
	if len(b) > 0 {
		if err := s.keys(ctx, b); err != nil {
			note = "not all of it was taken: the program does not read its input"
		} else if s.term.lines() {
			note = oddLines(b)
		}
	}
	return x.follow(ctx, s, note)
}

// spare is left of a call's time when an answer is made.
const spare = 250 * time.Millisecond

// follow waits for what comes of a command.
func (x *Executor) follow(ctx context.Context, s *session, note string) tools.Result {
	most := x.opt.Time
	if end, ok := ctx.Deadline(); ok {
		most = max(min(most, time.Until(end)-spare), time.Millisecond)
	}
	came := s.wait(ctx, most)
	if came == done && s.tooLarge() != "" {
		came = large
	}
	why := ""
	switch came {
	case left:
		why = "the call was cancelled"
	case large:
		why = s.whyFull()
	case stuck:
		why = "the end of the command was not told"
	case stopped_:
		why = "the shell stopped itself"
	case unread:
		why = "the shell could not read a command"
	case done, over, runs, waits:
		return x.result(s, came, note)
	}
	s.restarted(x) // before another session of the agent can begin
	s.halt(why)
	defer x.lose(s) // behind the answer, which would wait for the look at all its files
	if came != left && came != large {
		return x.result(s, came, note)
	}
	r := tools.Fail(protocol.KindCancelled, "the command was ended")
	if came == large {
		r = tools.Fail(protocol.KindLimit, "the session was ended: "+why)
	}
	r.Lost = true
	return r
}

// result is the answer about a session.
func (x *Executor) result(s *session, came come, note string) tools.Result {
	last := came != runs && came != waits
	text, dropped, exit := s.answer(last)
	quiet := s.quiet()
	if last {
		s.sweeping.Lock()
		removed, _ := s.sweep() // what it could not look at, the next one does
		s.sweeping.Unlock()
		if removed.Any() {
			note = strings.TrimPrefix(note+"; "+x.removed(removed, quiet), "; ")
		}
	}
	size := int64(len(text)) + dropped
	masked, err := text, error(nil)
	if x.opt.Mask != nil && !quiet {
		if masked, err = x.opt.Mask(s.before, text); err != nil {
			s.before = ""
			r := tools.Fail(protocol.KindOf(err), err.Error())
			r.Size, r.Withheld = size, true
			return r
		}
	}
	s.before = tail(s.before + text)
	masked = strings.ToValidUTF8(masked, "\ufffd") // not before: a secret may be in another code
	out := map[string]any{}
	var failed *tools.Result
	switch came {
	case done:
		ended(out, exit)
	case runs:
		out["status"] = "running"
	case waits:
		out["status"], out["awaits"] = "awaiting_input", "line"
		if !s.term.lines() {
			out["awaits"] = "key"
		}
	case over:
		failed = s.howOver(out)
	case stuck:
		out["status"], out["session"] = "error", "ended: nobody knows how the command ended; it kept that from being told"
	case stopped_:
		out["status"], out["session"] = "error", "ended: the shell had stopped itself"
	case unread:
		out["status"], out["session"] = "error", "ended: the command was not run, for the name . means something else in this shell; the next command starts a new one"
		masked = "" // the end that was told twice
	case large, left: // told before
	}
	if failed != nil {
		failed.Size = size
		return *failed
	}
	r := tools.Output(nil)
	r.Size, r.Dropped = size, dropped
	if quiet {
		out["bytes"] = size
	} else {
		show(out, &r, masked)
	}
	if note != "" {
		out["note"] = note
	}
	if !s.began && s.restarted(x) {
		out["session_restarted"] = true
		if s.lost != "" {
			out["session_before"] = "ended: " + s.lost
		}
	}
	s.began = true
	r.Output = out
	return r
}

// show tells what was written.
func show(out map[string]any, r *tools.Result, text string) {
	out["output"] = text
	if n := len(template.AppendJSON(nil, text)); n > maxShown {
		uri := r.Attach(tool.WholeOutput, "text/plain; charset=utf-8", []byte(text))
		out["output"], out["truncated"] = excerpt(text, uri), true
	}
	if r.Dropped > 0 {
		out["truncated"], out["dropped"] = true, r.Dropped
	}
}

// removed tells which files were removed; programs chose their names.
func (x *Executor) removed(list folders.Swept, quiet bool) string {
	const unnamed = "files were removed, for there was a secret in them, or nobody could read them"
	if quiet {
		return unnamed
	}
	text := toldOf(list)
	if x.opt.Mask == nil {
		return text
	}
	text, err := x.opt.Mask("", text)
	if err != nil {
		return unnamed
	}
	return text
}

func ended(out map[string]any, exit int) {
	out["exit_code"] = int64(exit)
	if out["status"] = "ok"; exit != 0 {
		out["status"] = "error"
	}
}

// howOver tells how a session ended with its command. The result is one of a session that
// never began.
func (s *session) howOver(out map[string]any) *tools.Result {
	s.mu.Lock()
	e := *s.ended
	s.mu.Unlock()
	if e.err != nil {
		kind, text := protocol.KindOf(e.err), e.err.Error()
		if kind == protocol.KindNotFound {
			kind, text = protocol.KindUnknown, "bash is not installed here, so there are no sessions"
		}
		r := tools.Fail(kind, text)
		_, unsent := errors.AsType[*sandbox.Unavailable](e.err)
		r.Unsent = unsent || kind == protocol.KindUnknown
		return &r
	}
	switch r := e.result; {
	case e.why != "":
		out["status"], out["session"] = "error", "ended: "+e.why
	case r.End == sandbox.OutOfMem:
		out["status"], out["session"] = "error", "ended: all its processes together had too much memory"
	case r.End == sandbox.TooManyFiles:
		out["status"], out["session"] = "error", "ended: it made too many files"
	case r.Signal != "":
		out["status"], out["session"] = "error", "ended: its shell was ended by "+r.Signal
	default:
		ended(out, r.Exit)
		out["session"] = "ended: its shell has left; the next command starts a new one"
	}
	return nil
}

// maxShown bounds an output as it is shown, with what stands around it.
const maxShown = tool.MaxView - 1<<10

// excerpt is an output without its middle, short enough as JSON.
func excerpt(text, uri string) (short string) {
	for size := maxShown - 200; ; size = size * 3 / 4 {
		a, b := strings.ToValidUTF8(text[:min(size*3/4, len(text)/2)], ""), strings.ToValidUTF8(text[max(len(text)-size/4, len(text)/2):], "")
		short = fmt.Sprintf("%s\n… %d bytes are left out; all %d bytes are %s …\n%s", a, len(text)-len(a)-len(b), len(text), uri, b)
		if len(template.AppendJSON(nil, short)) <= maxShown {
			return short
		}
	}
}

// maxBefore is how much of an earlier answer a secret may begin in, in bytes.
const maxBefore = 4 << 10

func tail(s string) string { return s[max(0, len(s)-maxBefore):] }
