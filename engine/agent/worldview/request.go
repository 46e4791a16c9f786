package worldview

import (
	"slices"
	"strconv"

	"tavernsim/engine/agent/outbox"
	"tavernsim/engine/agent/private"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/statecmd/command"
	"tavernsim/engine/world"
	"tavernsim/engine/world/lease"
	"tavernsim/engine/worldstate"
	"tavernsim/protocol"
)

// Tools about the world.
const (
	ReadTool    = "ReadWorldStateTool"
	RequestTool = "RequestWorldStateUpdateTool"
)

// ReadSpec describes the tool that reads the world.
func ReadSpec() protocol.ToolSpec {
	return tool.Spec(ReadTool, "Reads the world as it was when this deliberation began.",
		tool.Optional("path", "string", "what to read; everything when empty; * stands for any one name"))
}

// RequestSpec describes the tool that asks for a change of the world.
func RequestSpec() protocol.ToolSpec {
	return tool.Spec(RequestTool, "Asks for a change of the world. It is decided after all agents of this moment have deliberated; a refusal is an observation of your next deliberation.",
		tool.Optional("path", "string", "what to change; or commands, lock or unlock"),
		tool.OneOf("op", "how; set when it is missing", private.Ops()...),
		tool.Optional("value", "", "the new value, number to add, element or fields"),
		tool.Optional("expected_version", "integer", "refuse when the path was changed after this version"),
		tool.Optional("reason", "string", "for the audit"),
		tool.Optional("commands", "", "instead of path: state commands with keys world.…").Raw(),
		tool.Optional("transaction", "string", "calls that follow each other with the same name are done all or not at all"),
		tool.Optional("check_reads", "boolean", "refuse when anything that you read in this deliberation was changed meanwhile"),
		tool.Optional("reads", "array", "refuse when one of these paths was changed meanwhile"),
		tool.OneOf("answer", "refusals when it is missing; always tells you of success, too", "refusals", "always"),
		tool.Optional("lock", "object", "instead of path: {paths, seconds, id} keeps others from writing there for so long").Fields(
			tool.Optional("paths", "array", "where"), tool.Optional("seconds", "number", "how long"), tool.Optional("id", "string", "to unlock by")),
		tool.Optional("unlock", "string", "instead of path: id of a lock of yours to give back"))
}

// call is a call of RequestWorldStateUpdateTool: a plain change, commands, a
// lock or an unlock, with its options.
type call struct {
	op, path, reason string
	params           tool.Params // with the value, if there is one
	expected         int64
	hasExpected      bool

	commands   any
	lock       tool.Params
	unlock     string
	group      string // transaction
	answer     string
	checkReads bool
	reads      []string
}

// Request fills in what a call asks of the world service. A faulty call asks nothing.
func (v *View) Request(q *worldstate.Request, p tool.Params, out *outbox.Box, paths *world.Paths) error {
	c := call{
		op: p.Text("op"), path: p.Text("path"), reason: p.Text("reason"), params: p, commands: p["commands"], lock: p.Object("lock"),
		unlock: p.Text("unlock"), group: p.Text("transaction"), answer: p.Text("answer"), checkReads: p.Flag("check_reads"),
	}
	c.expected, c.hasExpected = p.Integer("expected_version")
	var err error
	if c.reads, err = p.Texts("reads"); err != nil {
		return err
	}
	if c.path == "" && c.commands == nil && c.lock == nil && c.unlock == "" {
		return protocol.Errorf(protocol.KindInvalid, "path: it is required, or commands, lock or unlock in its place")
	}
	q.Change.Reason = c.reason
	if err := v.fill(q, &c, out, paths); err != nil {
		return err
	}
	v.group = q.Change.Group
	return nil
}

func (v *View) fill(q *worldstate.Request, c *call, out *outbox.Box, paths *world.Paths) (err error) {
	if q.Always, err = wantsAnswer(c.answer); err != nil {
		return err
	}
	if err := c.one(); err != nil {
		return err
	}
	if err := v.declare(q, c); err != nil {
		return err
	}
	switch {
	case c.commands != nil:
		return fillCommands(q, c.commands, out.Turn)
	case c.lock != nil:
		return fillLock(q, c.lock)
	case c.unlock != "":
		q.Kind, q.Lease = worldstate.Unlock, c.unlock
		return nil
	}
	if err := fillChange(q, c, out, paths); err != nil || c.group == "" {
		return err
	}
	return v.join(&q.Change, out.Name("/", c.group), c.group)
}

// one refuses a call that mixes its four forms; the parameters of the other form
// would be ignored.
func (c *call) one() error {
	plain := c.path != "" || c.op != "" || c.params["value"] != nil || c.hasExpected
	forms := 0
	for _, given := range [...]bool{plain, c.commands != nil, c.lock != nil, c.unlock != ""} {
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
	case c.group != "":
		return protocol.Errorf(protocol.KindInvalid, "transaction: it joins calls with path; commands have the option transaction")
	case c.commands == nil && (c.checkReads || len(c.reads) > 0):
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

// declare adds to the request the places that must not have changed since this turn
// read them.
func (v *View) declare(q *worldstate.Request, c *call) error {
	if !c.checkReads && len(c.reads) == 0 {
		return nil
	}
	var paths []world.Path
	if c.checkReads {
		paths = slices.Clip(v.asked)
	}
	for _, text := range c.reads {
		pattern, err := world.ParsePattern(text)
		if err != nil {
			return err
		}
		paths = append(paths, pattern.Stem())
	}
	if len(paths) > maxReads {
		return protocol.Errorf(protocol.KindLimit, "the request depends on more than %d places; name fewer in reads", maxReads)
	}
	for _, p := range paths {
		q.Change.Reads = append(q.Change.Reads, world.Read{Path: p, Version: v.Version()})
	}
	return nil
}

func fillChange(q *worldstate.Request, c *call, out *outbox.Box, paths *world.Paths) (err error) {
	r := &q.Change
	if r.Op = world.Op(c.op); r.Op == "" {
		r.Op = world.OpSet
	}
	if !r.Op.Requestable() {
		return protocol.Errorf(protocol.KindInvalid, "op %q: want set, add, push, delete or merge", r.Op)
	}
	if r.Path, err = paths.Parse(c.path); err != nil {
		return err
	}
	value, err := private.ValueOf(c.params, string(r.Op))
	if err != nil {
		return err
	}
	if r.Op != world.OpDelete {
		r.Value = out.Encode(value)
	}
	if c.hasExpected {
		expected := c.expected // a copy: the call stays off the heap
		r.Expected = &expected
	}
	return nil
}

// join makes the request part of a transaction. Its calls must be neighbours, because
// the service decides requests in their order.
func (v *View) join(r *world.Request, group, name string) error {
	if v.group != group && slices.Contains(v.groups, group) {
		return protocol.Errorf(protocol.KindInvalid, "transaction %s ended with the call before; calls of one transaction follow each other, with no other call of this tool in between", tool.Cut(name))
	}
	if v.group != group {
		v.groups = append(v.groups, group)
	}
	r.Group = group
	return nil
}

func fillCommands(q *worldstate.Request, v any, turn uint64) error {
	batch, err := command.DecodeCall(v)
	if err != nil {
		return err
	}
	if key, ok := worldstate.Foreign(&batch, private.Prefix); ok {
		return protocol.Errorf(protocol.KindInvalid, "key %s is of your private state: send it with %s; nothing was done, for no transaction spans both", tool.Cut(key), private.Tool)
	}
	q.Kind, q.Batch, q.Turn = worldstate.Commands, &batch, strconv.FormatUint(turn, 10)
	return nil
}

func fillLock(q *worldstate.Request, p tool.Params) error {
	for _, name := range protocol.SortedKeys(p) {
		if !slices.Contains([]string{"paths", "seconds", "id"}, name) {
			return protocol.Errorf(protocol.KindInvalid, "lock: unknown field %s; known are paths, seconds, id", tool.Cut(name))
		}
	}
	q.Kind, q.Lease = worldstate.Lock, p.Text("id")
	seconds := p.Number("seconds", 0)
	paths, err := p.Texts("paths")
	if err != nil {
		return err
	}
	if q.Lease == "" {
		q.Lease = q.Change.ID
	}
	if len(q.Lease) > command.MaxKey {
		return protocol.Errorf(protocol.KindLimit, "lock: the id has %d bytes; the limit is %d", len(q.Lease), command.MaxKey)
	}
	if !(seconds > 0 && seconds <= lease.MaxTime.Seconds()) {
		return protocol.Errorf(protocol.KindInvalid, "lock: seconds %s: want more than 0 and at most %s", protocol.Decimal(seconds), protocol.Decimal(lease.MaxTime.Seconds()))
	}
	q.For = protocol.Seconds(seconds)
	for _, text := range paths {
		path, err := world.ParsePath(text)
		if err != nil {
			return err
		}
		q.Paths = append(q.Paths, path)
	}
	if len(q.Paths) == 0 || len(q.Paths) > lease.MaxPaths {
		return protocol.Errorf(protocol.KindInvalid, "lock: %d paths: want 1 to %d", len(q.Paths), lease.MaxPaths)
	}
	return nil
}
