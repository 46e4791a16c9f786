package agent

import (
	"slices"
	"time"

	"tavernsim/engine/agent/tool"
	"tavernsim/engine/statecmd/command"
	"tavernsim/engine/world"
	"tavernsim/engine/worldstate"
	"tavernsim/protocol"
)

// MaxReads bounds the places whose sameness one request may depend on.
const MaxReads = 200

func (t *Turn) readWorld(text string) (any, error) {
	if text == "" {
		t.saw(nil)
		return t.wake.World.Value(), nil
	}
	path, err := world.ParsePath(text)
	if err != nil {
		return t.queryWorld(text)
	}
	t.saw(path)
	v, ok := t.wake.World.Get(path)
	if !ok {
		return nil, protocol.Errorf(protocol.KindNotFound, "the world has nothing at %s", text)
	}
	return v, nil
}

// maxMatches bounds what a query with wildcards returns.
const maxMatches = 1000

func (t *Turn) queryWorld(text string) (any, error) {
	pattern, err := world.ParsePattern(text)
	if err != nil {
		return nil, err
	}
	t.saw(pattern.Stem())
	matches, more := t.wake.World.Query(pattern, maxMatches)
	out := make([]any, len(matches))
	for i, m := range matches {
		out[i] = map[string]any{"path": m.Path.String(), "value": m.Value}
	}
	return map[string]any{"matches": out, "more": more}, nil
}

// saw notes a place that this turn has read, for check_reads. One more than may
// be declared is enough to know that there are too many.
func (t *Turn) saw(path world.Path) {
	if len(t.reads) <= MaxReads {
		t.reads = append(t.reads, path)
	}
}

// worldCall is a call of RequestWorldStateUpdateTool: a plain change, commands, a
// lock or an unlock, and the wishes around it.
type worldCall struct {
	op, path, reason string
	value            any
	expected         int64
	hasExpected      bool

	wishes *worldWishes // nil for most
}

// worldWishes are the parameters that most calls do without.
type worldWishes struct {
	commands   any
	lock       map[string]any
	unlock     string
	group      string // transaction
	answer     string
	checkReads bool
	reads      []string
}

func (t *Turn) requestWorld(p *tool.Params) func() (any, error) {
	c := worldCall{op: p.Text("op"), path: p.Text("path"), reason: p.Text("reason"), value: p.Any("value")}
	c.expected, c.hasExpected = p.Integer("expected_version")
	if p.Unread() {
		c.wishes = &worldWishes{}
		c.wishes.read(p)
	}
	if c.path == "" && !c.wishes.replacePath() {
		p.Lacks("path: it is required, or commands, lock or unlock in its place")
	}
	return func() (any, error) { return t.askWorld(&c) }
}

func (w *worldWishes) read(p *tool.Params) {
	w.commands, w.unlock, w.group, w.answer = p.Any("commands"), p.Text("unlock"), p.Text("transaction"), p.Text("answer")
	w.checkReads, w.reads = p.Flag("check_reads"), p.Texts("reads")
	if _, has := p.Get("lock"); has {
		w.lock = p.Object("lock")
	}
}

// replacePath reports whether the call is about something else than one path.
func (w *worldWishes) replacePath() bool {
	return w != nil && (w.commands != nil || w.lock != nil || w.unlock != "")
}

// askWorld sends one request on its way. Nothing is sent when the call is faulty.
func (t *Turn) askWorld(c *worldCall) (any, error) {
	q := worldstate.Request{Change: world.Request{By: t.m.ID.Instance, Profile: t.m.Def.Profile, Reason: c.reason}}
	q.Change.ID = t.nextRequestID()
	if len(t.events) > 0 {
		q.Change.Cause = world.Cause{Trace: t.events[0].TraceID, Event: t.events[0].ID}
	}
	q.Change.Cause.Turn = t.end.Turn
	if err := t.fillWorld(&q, c); err != nil {
		return nil, err
	}
	t.group = q.Change.Group
	t.request(protocol.ToWorld, q.AppendMsg)
	return map[string]any{"request_id": q.Change.ID}, nil
}

func (t *Turn) fillWorld(q *worldstate.Request, c *worldCall) (err error) {
	w := c.wishes
	if w == nil {
		return t.fillChange(q, c)
	}
	if q.Always, err = wantsAnswer(w.answer); err != nil {
		return err
	}
	if err := c.one(); err != nil {
		return err
	}
	if err := t.declare(q, w); err != nil {
		return err
	}
	switch {
	case w.commands != nil:
		return t.fillCommands(q, w.commands)
	case w.lock != nil:
		return fillLock(q, w.lock)
	case w.unlock != "":
		q.Kind, q.Lease = worldstate.Unlock, w.unlock
		return nil
	}
	if err := t.fillChange(q, c); err != nil || w.group == "" {
		return err
	}
	return t.join(&q.Change, w.group)
}

// one holds the call to one of its four forms: what belongs to another form
// would be lost without a word.
func (c *worldCall) one() error {
	w, plain := c.wishes, c.path != "" || c.op != "" || c.value != nil || c.hasExpected
	forms := 0
	for _, given := range []bool{plain, w.commands != nil, w.lock != nil, w.unlock != ""} {
		if given {
			forms++
		}
	}
	switch {
	case forms > 1:
		return protocol.Errorf(protocol.KindInvalid, "one call is one of path (with op, value, expected_version), commands, lock, unlock; make several calls")
	case plain:
		return nil
	case c.reason != "":
		return protocol.Errorf(protocol.KindInvalid, "reason: it goes with path; a command has a reason among its options")
	case w.group != "":
		return protocol.Errorf(protocol.KindInvalid, "transaction: it joins calls with path; commands have the option transaction")
	case w.commands == nil && (w.checkReads || len(w.reads) > 0):
		return protocol.Errorf(protocol.KindInvalid, "check_reads and reads go with path or commands")
	}
	return nil
}

func wantsAnswer(text string) (bool, error) {
	switch text {
	case "", "refusals":
		return false, nil
	case "always":
		return true, nil
	}
	return false, protocol.Errorf(protocol.KindInvalid, "answer %s: want refusals or always", tool.Cut(text))
}

// declare attaches the places that must not have changed since this turn saw
// them.
func (t *Turn) declare(q *worldstate.Request, w *worldWishes) error {
	if !w.checkReads && len(w.reads) == 0 {
		return nil
	}
	var paths []world.Path
	if w.checkReads {
		paths = slices.Clip(t.reads)
	}
	for _, text := range w.reads {
		pattern, err := world.ParsePattern(text)
		if err != nil {
			return err
		}
		paths = append(paths, pattern.Stem())
	}
	if len(paths) > MaxReads {
		return protocol.Errorf(protocol.KindLimit, "the request depends on more than %d places; name fewer in reads", MaxReads)
	}
	for _, p := range paths {
		q.Change.Reads = append(q.Change.Reads, world.Read{Path: p, Version: t.wake.World.Version()})
	}
	return nil
}

func (t *Turn) fillChange(q *worldstate.Request, c *worldCall) (err error) {
	r := &q.Change
	if r.Op = world.Op(c.op); r.Op == "" {
		r.Op = world.OpSet
	}
	if !r.Op.Requestable() {
		return protocol.Errorf(protocol.KindInvalid, "op %q: want set, add, push, delete or merge", r.Op)
	}
	if r.Path, err = world.ParsePath(c.path); err != nil {
		return err
	}
	if r.Op != world.OpDelete {
		r.Value = t.encode(c.value)
	}
	if c.hasExpected {
		r.Expected = &c.expected
	}
	return nil
}

// join makes the request part of a transaction. Only neighbours can be one:
// what was sent in between has been decided before the rest would be.
func (t *Turn) join(r *world.Request, name string) error {
	group := t.m.ID.Instance + "/" + itoa(t.end.Turn) + "/" + name
	if t.group != group && slices.Contains(t.groups, group) {
		return protocol.Errorf(protocol.KindInvalid, "transaction %s ended with the call before; calls of one transaction follow each other, with no other call of this tool in between", tool.Cut(name))
	}
	if t.group != group {
		t.groups = append(t.groups, group)
	}
	r.Group = group
	return nil
}

func (t *Turn) fillCommands(q *worldstate.Request, v any) error {
	batch, err := decodeCommands(v)
	if err != nil {
		return err
	}
	if key, ok := worldstate.Foreign(&batch, ownPrefix); ok {
		return protocol.Errorf(protocol.KindInvalid, "key %s is of your private state: send it with %s; nothing was done, for no transaction spans both", tool.Cut(key), tool.UpdatePrivateState)
	}
	q.Kind, q.Batch, q.Turn = worldstate.Commands, &batch, itoa(t.end.Turn)
	return nil
}

// decodeCommands reads commands in any of their forms.
func decodeCommands(v any) (command.Batch, error) {
	batch, err := command.DecodeValue(v)
	if err != nil {
		return batch, err
	}
	if len(batch.Entries)+len(batch.Inspect) == 0 {
		return batch, protocol.Errorf(protocol.KindInvalid, "commands: there is no command in it")
	}
	if len(batch.Entries) > command.MaxEntries {
		return batch, protocol.Errorf(protocol.KindLimit, "commands: %d in one call; the limit is %d", len(batch.Entries), command.MaxEntries)
	}
	return batch, nil
}

func fillLock(q *worldstate.Request, m map[string]any) error {
	p := tool.Read(m)
	q.Kind, q.Lease = worldstate.Lock, p.Text("id")
	paths, seconds := p.Texts("paths"), p.Number("seconds", 0)
	if err := p.Err("lock"); err != nil {
		return err
	}
	if q.Lease == "" {
		q.Lease = q.Change.ID
	}
	if len(q.Lease) > command.MaxKey {
		return protocol.Errorf(protocol.KindLimit, "lock: the id has %d bytes; the limit is %d", len(q.Lease), command.MaxKey)
	}
	if !(seconds > 0 && seconds <= world.MaxLease.Seconds()) {
		return protocol.Errorf(protocol.KindInvalid, "lock: seconds %v: want more than 0 and at most %v", seconds, world.MaxLease.Seconds())
	}
	q.For = time.Duration(seconds * float64(time.Second))
	for _, text := range paths {
		path, err := world.ParsePath(text)
		if err != nil {
			return err
		}
		q.Paths = append(q.Paths, path)
	}
	if len(q.Paths) == 0 || len(q.Paths) > world.MaxLeasePaths {
		return protocol.Errorf(protocol.KindInvalid, "lock: %d paths: want 1 to %d", len(q.Paths), world.MaxLeasePaths)
	}
	return nil
}
