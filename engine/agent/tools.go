package agent

import (
	"math"
	"strings"
	"time"

	"tavernsim/engine/agent/private"
	"tavernsim/engine/agent/profile"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/world"
	"tavernsim/protocol"
)

// tool runs an atomic tool (§2.1.4). What it may change is the turn alone;
// everything beyond the agent becomes a request to the scene.
func (t *Turn) tool(c *protocol.Call) (any, error) {
	given, err := tool.Bind(c, t.m.Def.specs[c.Tool])
	if err != nil {
		return nil, err
	}
	p := &t.params
	p.Reset(given)
	out, err := t.runTool(c.Tool, p)
	if err == nil {
		err = p.Err(c.Tool)
	}
	if err != nil {
		return nil, err
	}
	return out()
}

// runTool reads the parameters and returns what is to be done with them, so
// that nothing is done when a parameter is wrong.
func (t *Turn) runTool(name string, p *tool.Params) (func() (any, error), error) {
	switch name {
	case tool.ReadPrivateState:
		path := p.Text("path")
		return func() (any, error) { return t.readPrivate(path) }, nil
	case tool.UpdatePrivateState:
		return t.changePrivate(p), nil
	case tool.ReadWorldState:
		path := p.Text("path")
		return func() (any, error) { return t.readWorld(path) }, nil
	case tool.RequestWorldUpdate:
		return t.requestWorld(p), nil
	case tool.PublishEvent:
		return t.publish(p), nil
	case tool.Subscribe:
		return t.subscribe(p), nil
	case tool.Unsubscribe:
		return t.unsubscribe(p), nil
	case tool.Throttle:
		return t.throttle(p), nil
	case tool.QueryKnowledge:
		kb, query := p.Text("kb"), p.Rest("kb")
		return func() (any, error) { return t.queryKnowledge(kb, query) }, nil
	case tool.WriteKnowledge:
		kb, op, entry := p.Text("kb"), p.Text("op"), p.Object("entry")
		return func() (any, error) { return t.writeKnowledge(kb, op, entry) }, nil
	case tool.RandomNumber:
		return t.random(p), nil
	case tool.UpdateGoal:
		goal := p.Rest()
		return func() (any, error) { return t.updateGoal(goal) }, nil
	case tool.Reflect:
		reason := p.Text("reason")
		return func() (any, error) { return nil, t.wantReflection(reason) }, nil
	case tool.Sleep:
		return t.sleep(p), nil
	case tool.Say:
		text := p.Text("text")
		return func() (any, error) { t.say(text); return nil, nil }, nil
	case tool.PanelInteraction:
		return nil, protocol.Errorf(protocol.KindUnknown, "no application panel is connected to this run")
	}
	return nil, protocol.Errorf(protocol.KindNotFound, "no such tool")
}

func (t *Turn) readPrivate(text string) (any, error) {
	if text == "" {
		return t.private, nil
	}
	path, err := world.ParsePath(text)
	if err != nil {
		return nil, err
	}
	v, ok := private.Lookup(t.private, path)
	if !ok {
		return nil, protocol.Errorf(protocol.KindNotFound, "nothing at %s", text)
	}
	return v, nil
}

// changePrivate is one change, or commands.
func (t *Turn) changePrivate(p *tool.Params) func() (any, error) {
	path, op, value := p.Text("path"), p.Text("op"), p.Any("value")
	var commands any
	if p.Unread() {
		commands = p.Any("commands")
	}
	return func() (any, error) {
		switch {
		case commands == nil:
			return nil, t.updatePrivate(path, op, value)
		case path != "" || op != "" || value != nil:
			return nil, protocol.Errorf(protocol.KindInvalid, "one call is either path, op and value, or commands; make two calls")
		}
		return t.updateByCommands(commands)
	}
}

func (t *Turn) updatePrivate(text, op string, value any) error {
	var path world.Path
	var err error
	if text != "" {
		if path, err = world.ParsePath(text); err != nil {
			return err
		}
		if err = path.CheckWrite(); err != nil {
			return err
		}
	}
	if op == "" {
		op = tool.OpSet
		if text == "" {
			op = tool.OpMerge
		}
	}
	next, err := private.Patch(t.private, path, op, value)
	if err != nil {
		return err
	}
	if t.m.Def.Check != nil {
		if err := t.m.Def.Check(next); err != nil {
			return protocol.Errorf(protocol.KindInvalid, "the state would break initial_private_state_schema: %w", err)
		}
	}
	encoded := t.encode(value)
	grown := t.stateSize.After(next, len(text)+len(encoded), t.m.Def.Limits.MaxStateBytes)
	if limit := t.m.Def.Limits.MaxStateBytes; int(grown) > limit {
		return protocol.Errorf(protocol.KindLimit, "the state would have %d bytes, more than %d (custom_runtime_config.max_state_bytes)", grown, limit)
	}
	t.private, t.end.Changed, t.stateSize = next, true, grown
	t.memory = touch(t.m.Def.commands, t.memory, path, op, encoded)
	t.facts = append(t.facts, &StateUpdated{Path: text, Op: op, Value: encoded})
	return nil
}

func (t *Turn) nextRequestID() string {
	return t.m.ID.Instance + "/" + itoa(t.end.Turn) + "." + itoa(uint64(len(t.sequenced)+1))
}

// request sends a request to another machine, by way of the scene. write appends
// its encoded form.
func (t *Turn) request(to string, write func([]byte) []byte) {
	t.sequenced = append(t.sequenced, protocol.Sequenced{To: to, Data: t.written(write)})
}

func (t *Turn) publish(p *tool.Params) func() (any, error) {
	draft := protocol.Draft{
		EventHeader: protocol.EventHeader{Type: p.Required("type"), Targets: p.Texts("target_agent_instance_id"), Ephemeral: p.Flag("ephemeral"), RequiresAck: p.Flag("requires_ack"), TaskID: p.Text("task_id"), ExpectsReply: p.Flag("expects_reply")},
	}
	ttl := p.Number("ttl_seconds", 0)
	priority := p.Text("priority")
	payload := p.Any("payload")
	return func() (any, error) {
		var err error
		if draft.Priority, err = protocol.ParsePriority(priority); err != nil {
			return nil, err
		}
		if ttl < 0 || ttl > protocol.MaxTTL.Seconds() {
			return nil, protocol.Errorf(protocol.KindInvalid, "ttl_seconds %v: want 0 to %v", ttl, protocol.MaxTTL.Seconds())
		}
		if draft.Ephemeral && draft.RequiresAck {
			return nil, protocol.Errorf(protocol.KindInvalid, "ephemeral and requires_ack: an ephemeral event is heard once or not at all; want one of them")
		}
		draft.TTL = time.Duration(ttl * float64(time.Second))
		draft.Body = t.encode(payload)
		if !draft.ExpectsReply {
			t.answers(&draft)
			t.event(draft)
			return nil, nil
		}
		if err := t.ask(&draft); err != nil {
			return nil, err
		}
		t.event(draft)
		return map[string]any{"task_id": draft.TaskID}, nil
	}
}

// event sends a draft on its way; its cause is the most urgent event that this
// turn perceived.
func (t *Turn) event(d protocol.Draft) {
	d.Source, d.Turn = t.m.ID.Instance, t.end.Turn
	if len(t.events) > 0 {
		d.CausedBy(t.events[0])
	}
	t.request(protocol.ToEvents, d.AppendMsg)
}

// say utters text: a fact, and an event for whoever listens.
func (t *Turn) say(text string) {
	t.spend(entryBytes + len(text))
	t.facts = append(t.facts, &Said{Text: text})
	t.event(protocol.Draft{EventHeader: protocol.EventHeader{Type: "agent.said"}, Body: protocol.Encode(map[string]any{"text": text})})
}

func (t *Turn) random(p *tool.Params) func() (any, error) {
	low, high, whole := p.Number("min", 0), p.Number("max", 1), p.Flag("integer")
	return func() (any, error) {
		if high < low || math.IsInf(high-low, 0) {
			return nil, protocol.Errorf(protocol.KindInvalid, "max %v is below min %v", high, low)
		}
		draw := t.draw.Sub(toolDraws, uint64(t.end.Calls))
		if whole {
			return int64(low) + int64(draw.Float64()*(math.Floor(high)-math.Floor(low)+1)), nil
		}
		return low + draw.Float64()*(high-low), nil
	}
}

func (t *Turn) sleep(p *tool.Params) func() (any, error) {
	seconds := p.Number("seconds", 0)
	above := p.Text("wake_on")
	return func() (any, error) {
		priority := protocol.High
		if above != "" {
			var err error
			if priority, err = protocol.ParsePriority(above); err != nil {
				return nil, err
			}
		}
		if seconds < 0 || seconds > maxSleep.Seconds() {
			return nil, protocol.Errorf(protocol.KindInvalid, "seconds %v: want 0 to %v", seconds, maxSleep.Seconds())
		}
		t.end.Asleep, t.end.WakeAbove, t.end.SleepUntil = true, priority, 0
		if seconds > 0 {
			t.end.SleepUntil = t.wake.Now.Add(time.Duration(seconds * float64(time.Second)))
		}
		return nil, nil
	}
}

// maxSleep is a century: longer is a mistake, and would overflow the clock.
const maxSleep = 100 * 365 * 24 * time.Hour

func (t *Turn) updateGoal(m map[string]any) (any, error) {
	p := tool.Read(m)
	id, remove := p.Required("id"), p.Flag("remove")
	goal, found := t.goal(id)
	goal.ID = id
	if s := p.Text("description"); s != "" {
		goal.Description = s
	}
	goal.Priority = p.Number("priority", goal.Priority)
	switch status := p.Text("status"); status {
	case "pending", "active", "completed", "failed":
		goal.Status = status
	case "":
		if !found {
			goal.Status = "active"
		}
	default:
		return nil, protocol.Errorf(protocol.KindInvalid, "status %q: want pending, active, completed or failed", status)
	}
	if v := p.Any("details"); v != nil {
		goal.Details = protocol.Encode(v)
	}
	if err := p.Err(tool.UpdateGoal); err != nil {
		return nil, err
	}
	if !found && !remove && len(t.goals) >= t.m.Def.Limits.MaxGoals {
		return nil, protocol.Errorf(protocol.KindLimit, "more than %d goals (custom_runtime_config.max_goals)", t.m.Def.Limits.MaxGoals)
	}
	t.goals = setGoal(t.goals, goal, remove)
	t.facts = append(t.facts, &GoalsUpdated{Goal: goal, Removed: remove})
	return nil, nil
}

func (t *Turn) goal(id string) (Goal, bool) {
	for _, g := range t.goals {
		if g.ID == id {
			return g, true
		}
	}
	return Goal{Priority: 0.5}, false
}

func (t *Turn) queryKnowledge(kb string, query map[string]any) (any, error) {
	if id, ok := query["id"]; ok { // exactly one entry
		delete(query, "id") // rest made the object for us
		query["ids"] = []any{id}
	}
	q, err := knowledge.QueryOf(query)
	if err != nil {
		return nil, err
	}
	out := []any{}
	for _, access := range t.readable(kb) {
		base, ok := t.wake.Knowledge.Base(access.ID)
		if !ok {
			continue
		}
		for _, hit := range base.Query(q) {
			v := t.entryValue(hit.Entry, base, access)
			v["score"] = hit.Score
			out = append(out, v)
		}
	}
	if kb != "" {
		if _, err := t.m.Def.knowledge(kb, func(k KnowledgeAccess) bool { return k.Read }); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// readable lists the bases of a name, or all that may be read.
func (t *Turn) readable(name string) []KnowledgeAccess {
	var out []KnowledgeAccess
	for _, k := range t.m.Def.Knowledge {
		if k.Read && (name == "" || name == k.Alias || name == k.ID) {
			out = append(out, k)
		}
	}
	return out
}

func (t *Turn) entryValue(e *knowledge.Entry, home *knowledge.Base, access KnowledgeAccess) map[string]any {
	v := e.Value()
	content, _ := knowledge.Resolver{Home: home, Base: t.baseOf, Lookup: t.referenced}.Entry(e)
	v["content"], v["kb"] = content, access.Alias
	return v
}

// baseOf finds a base that the agent may read, for dynamic references.
func (t *Turn) baseOf(alias string) *knowledge.Base {
	for _, k := range t.readable(alias) {
		if base, ok := t.wake.Knowledge.Base(k.ID); ok {
			return base
		}
	}
	return nil
}

// referenced gives dynamic references the world and the private state.
func (t *Turn) referenced(key string) (any, bool) {
	root, rest, _ := strings.Cut(key, ".")
	path, err := world.ParsePath(rest)
	if err != nil {
		return nil, false
	}
	switch root {
	case "world":
		return t.wake.World.Get(path)
	case "self":
		return private.Lookup(t.private, path)
	}
	return nil, false
}

// activatedKnowledge are the entries that apply by themselves to what the agent
// perceives.
func (t *Turn) activatedKnowledge() []any {
	situation := &knowledge.Situation{Events: t.eventsValue(), World: t.wake.World.Value(), Self: t.self()}
	for _, e := range t.events {
		situation.EventTypes = append(situation.EventTypes, e.Type)
		if text, ok := speech(e); ok {
			situation.Text += text + "\n"
		}
	}
	for _, g := range t.goals {
		if g.Open() {
			situation.Text += g.Description + "\n"
		}
	}
	out := []any{}
	for _, access := range t.readable("") {
		base, ok := t.wake.Knowledge.Base(access.ID)
		if !ok {
			continue
		}
		entries, _ := base.Activate(situation)
		for _, e := range entries {
			out = append(out, t.entryValue(e, base, access))
		}
	}
	return out
}

func (t *Turn) writeKnowledge(kb, op string, entry map[string]any) (any, error) {
	access, err := t.m.Def.knowledge(kb, func(k KnowledgeAccess) bool { return k.Write || k.Suggest })
	if err != nil {
		return nil, err
	}
	req := KnowledgeWrite{ID: t.nextRequestID(), KB: access.ID, By: t.m.ID.Instance, Op: op, Mode: string(knowledge.ModeSuggest), Entry: protocol.Encode(entry)}
	req.Permissions = []string{string(profile.PermitSuggest)}
	if access.Write {
		req.Mode, req.Permissions = string(knowledge.ModeWrite), []string{string(profile.PermitWrite)}
	}
	t.request(protocol.ToKnowledge, func(b []byte) []byte { return protocol.AppendValue(b, req.Value()) })
	return map[string]any{"request_id": req.ID}, nil
}
