package knowledge

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tavernsim/engine/knowledge/fields"
	"tavernsim/protocol"
)

// Service is the addressee of requests to the knowledge bases.
const Service = "knowledge"

// Op is the operation of a request.
type Op string

const (
	OpCreate Op = "create" // the default; an id that exists is refused
	OpUpdate Op = "update" // the fields that are given replace those of the entry; null removes one
	OpReview Op = "review" // of a suggestion

	OpSupersede Op = "supersede" // create an entry, with evidence, in the place of those that it supersedes
	OpArchive   Op = "archive"   // take an entry out of the base but for its id; its facts stay
	OpUsed      Op = "used"      // lessons were shown, and helped or not: {ids, helped}

	OpEmbed Op = "embed" // vectors of entries came, or a failure: {model, entries, asked, vectors, reason, error}; of the scene alone

	OpTold Op = "told" // by another scene about a base that both have: {from, kind, fact, error}; of the scene alone

	// Of facts only.
	OpConfirm Op = "confirm" // what was to be created is in the base: it gained evidence
	OpLink    Op = "link"    // another entry supersedes this one, or says otherwise
)

// Mode is how a change takes effect.
type Mode string

const (
	ModeWrite   Mode = "write"   // the default: at once
	ModeSuggest Mode = "suggest" // into the review queue
)

// Permission names (agent architecture §2.2). Reading is not decided here.
const (
	PermitWrite        = "write_caiu"
	PermitSuggest      = "suggest_edits"
	PermitSuggestAlias = "write_suggestions"
	PermitCriteria     = "write_criteria" // decide about what stands in the prompts of others
)

// Request asks for one change of one base.
type Request struct {
	ID   string // of the request; the facts carry it
	KB   string // id of the base
	By   string // instance id of the agent; "" = the scene itself, which has every permission
	Op   Op     // "" = create
	Mode Mode   // "" = write

	// Permissions of By on the base. write_caiu allows both modes,
	// suggest_edits the suggestion only.
	Permissions []string
	Types       []string // of entries that By may write; nil = any

	// Entry holds the fields of the entry by their names in files: all of them
	// to create, id and what changes to update. A value.
	Entry map[string]any

	Suggestion uint64 // of a review: which
	Accept     bool   // of a review: apply it, or drop it

	told        Fact   // OpTold: what it is told of
	from        string // the other scene
	undelivered string // why a fact of this scene has not reached it
}

// AppendMsg appends the request as it travels.
func (q *Request) AppendMsg(b []byte) []byte { return protocol.AppendValue(b, q.Value()) }

// Value is the request as it travels.
func (q *Request) Value() map[string]any {
	v := map[string]any{"id": q.ID, "kb": q.KB, "by": q.By, "op": string(q.Op), "mode": string(q.Mode), "permissions": protocol.ListOf(q.Permissions), "entry": q.Entry}
	fields.PutList(v, "types", q.Types)
	if q.Op == OpReview {
		v["suggestion"], v["accept"] = int64(q.Suggestion), q.Accept
	}
	return v
}

// RequestOf reads what [Request.Value] made.
func RequestOf(raw protocol.Raw) (Request, error) {
	v, err := raw.Value()
	if err != nil {
		return Request{}, err
	}
	m, _ := v.(map[string]any)
	text := func(name string) string { s, _ := m[name].(string); return s }
	q := Request{ID: text("id"), KB: text("kb"), By: text("by"), Op: Op(text("op")), Mode: Mode(text("mode"))}
	q.Entry, _ = m["entry"].(map[string]any)
	suggestion, _ := m["suggestion"].(int64)
	q.Suggestion = uint64(suggestion)
	q.Accept, _ = m["accept"].(bool)
	q.Permissions = protocol.TextsIn(m["permissions"])
	q.Types = protocol.TextsIn(m["types"])
	if q.Op == OpTold {
		err = q.readTold()
	}
	return q, err
}

// Commit is the input of this machine: requests of one moment, in their order.
type Commit struct {
	Now      protocol.Time
	Requests []Request
}

// Decide turns each request into its facts: a [Written] with those of the entries that
// follow from it, a [Suggested] or [Refused], or a [Reviewed] before the Written. Later
// requests see the changes of earlier ones.
func Decide(s State, in Commit) []protocol.Fact {
	var facts []protocol.Fact
	for i := range in.Requests {
		d := decider{shelf: s.shelves[in.Requests[i].KB], scene: s.scene, req: &in.Requests[i], now: in.Now}
		made := d.facts()
		for _, f := range made {
			s = Apply(s, f)
		}
		facts = append(facts, made...)
	}
	return facts
}

// decider judges one request.
type decider struct {
	shelf shelf
	scene string
	req   *Request
	now   protocol.Time
}

func (d *decider) facts() []protocol.Fact {
	facts, err := d.decide()
	if err != nil {
		return []protocol.Fact{d.refused(err)}
	}
	return facts
}

func (d *decider) refused(err error) *Refused {
	return &Refused{KB: d.req.KB, Request: d.req.ID, By: d.req.By, Reason: protocol.KindOf(err), Message: err.Error(), At: d.now}
}

func (d *decider) errorf(kind protocol.ErrorKind, format string, args ...any) error {
	return protocol.Errorf(kind, "knowledge base %s: %w", d.req.KB, fmt.Errorf(format, args...))
}

func (d *decider) decide() ([]protocol.Fact, error) {
	if d.shelf.base == nil {
		return nil, d.errorf(protocol.KindNotFound, "no such base")
	}
	op := cmp.Or(d.req.Op, OpCreate)
	switch {
	case op == OpTold:
		return d.told()
	case d.shelf.keeper != "":
		return d.forward(op)
	}
	switch op {
	case OpUsed:
		return d.used(), nil
	case OpEmbed:
		return d.embedded()
	}
	if err := d.permitted(); err != nil {
		return nil, err
	}
	switch op {
	case OpReview:
		return d.review()
	case OpCreate, OpUpdate, OpSupersede, OpArchive:
	default:
		return nil, d.errorf(protocol.KindInvalid, "operation %q; want create, update, supersede, archive or review", op)
	}
	entry, err := d.result(op, d.req.Entry, d.req.By)
	if err != nil {
		return nil, err
	}
	if err := d.typed(entry); err != nil {
		return nil, err
	}
	if d.req.Mode == ModeSuggest || d.locks(op, entry) || d.steers(op, entry) {
		return d.suggest(op)
	}
	return d.keep(op, d.req.By, entry), nil
}

// permitted refuses a request without the permission.
func (d *decider) permitted() error {
	has := func(p ...string) bool {
		return d.req.By == "" || slices.ContainsFunc(p, func(x string) bool { return slices.Contains(d.req.Permissions, x) })
	}
	switch mode := cmp.Or(d.req.Mode, ModeWrite); {
	case mode != ModeWrite && mode != ModeSuggest:
		return d.errorf(protocol.KindInvalid, "mode %q; want write or suggest", mode)
	case has(PermitWrite):
		return nil
	case !has(PermitSuggest, PermitSuggestAlias):
		return d.errorf(protocol.KindDenied, "%s may only read it; access_permissions needs write_caiu or suggest_edits", d.req.By)
	case mode == ModeWrite || d.req.Op == OpReview:
		return d.errorf(protocol.KindDenied, "%s may suggest only; use mode suggest, or access_permissions needs write_caiu", d.req.By)
	}
	return nil
}

// typed refuses an entry of a type that the agent may not write, as it was and as it will be.
func (d *decider) typed(e *Entry) error {
	of := []string{e.EntryType}
	for _, id := range append([]string{e.ID}, e.Supersedes...) {
		if old, ok := d.shelf.base.Get(id); ok {
			of = append(of, old.EntryType)
		}
	}
	for _, t := range of {
		if len(d.req.Types) > 0 && !slices.Contains(d.req.Types, t) {
			return d.errorf(protocol.KindDenied, "%s may write no entry of the type %s; write_types has %s", d.req.By, t, strings.Join(d.req.Types, ", "))
		}
	}
	return nil
}

func (d *decider) written(op Op, by string, e *Entry) *Written {
	return &Written{KB: d.req.KB, Request: d.req.ID, By: by, Op: op, EntryID: e.ID, Entry: e.Encode(), At: d.now}
}

func (d *decider) suggest(op Op) ([]protocol.Fact, error) {
	if len(d.shelf.queue) >= MaxSuggestions {
		return nil, d.errorf(protocol.KindLimit, "%d suggestions wait for review; no more are taken", MaxSuggestions)
	}
	v, err := protocol.Normalize(d.req.Entry)
	if err != nil {
		return nil, d.errorf(protocol.KindInvalid, "%w", err)
	}
	return []protocol.Fact{&Suggested{
		KB: d.req.KB, Request: d.req.ID, By: d.req.By, Op: op, Suggestion: d.shelf.suggested + 1, Entry: protocol.Encode(v), At: d.now,
	}}, nil
}

// review accepts or drops a suggestion. One that no longer fits is refused and
// stays in the queue.
func (d *decider) review() ([]protocol.Fact, error) {
	sug, err := d.suggestion()
	if err != nil {
		return nil, err
	}
	reviewed := &Reviewed{KB: d.req.KB, Request: d.req.ID, By: d.req.By, Suggestion: d.req.Suggestion, Accepted: d.req.Accept, At: d.now}
	if !d.req.Accept {
		return []protocol.Fact{reviewed}, nil
	}
	v, err := sug.Entry.Value()
	if err != nil {
		return nil, err
	}
	fields, _ := v.(map[string]any)
	entry, err := d.result(sug.Op, fields, sug.By)
	if err != nil {
		return nil, err
	}
	return append([]protocol.Fact{reviewed}, d.keep(sug.Op, sug.By, entry)...), nil
}

// suggestion is the one that a review is about.
func (d *decider) suggestion() (*Suggestion, error) {
	for i := range d.shelf.queue {
		if s := &d.shelf.queue[i]; s.ID == d.req.Suggestion {
			return s, nil
		}
	}
	return nil, d.errorf(protocol.KindNotFound, "no suggestion %d waits for review", d.req.Suggestion)
}

// result is the entry after a change.
func (d *decider) result(op Op, fields map[string]any, by string) (*Entry, error) {
	n, err := protocol.Normalize(fields)
	if err != nil {
		return nil, d.errorf(protocol.KindInvalid, "%w", err)
	}
	fields, _ = n.(map[string]any)
	var e *Entry
	switch op {
	case OpUpdate:
		e, err = d.updated(fields, by)
	case OpArchive:
		return d.archived(fields, by)
	default:
		e, err = d.created(fields, by)
	}
	if err == nil && (op == OpSupersede || len(e.Supersedes) > 0) {
		err = d.supersedes(op, e)
	}
	if err != nil {
		return nil, err
	}
	return e, d.sound(e)
}

func (d *decider) created(fields map[string]any, by string) (*Entry, error) {
	if by != "" {
		fields = without(fields, protected()...)
	}
	e, err := EntryOf(fields)
	if err != nil {
		return nil, d.errorf(protocol.KindInvalid, "%w", err)
	}
	if e.ID == "" {
		e.ID = d.newID(e.EntryType, d.named(by, by))
	}
	switch _, taken := d.shelf.base.Get(e.ID); {
	case taken:
		return nil, d.errorf(protocol.KindConflict, "entry %q exists; use op update, or another id", e.ID)
	case d.shelf.base.Len() >= MaxEntries:
		return nil, d.errorf(protocol.KindLimit, "%d entries; no more are taken", MaxEntries)
	}
	e.CreatedAt, e.UpdatedAt = d.now.Std(), d.now.Std()
	if by != "" {
		e.Source, e.Author = SourceAgent, d.named(by, by)
	}
	if d.learning().lesson(e.EntryType) && len(e.Evidence) == 0 && d.req.ID != "" {
		e.Evidence = []string{d.named(d.req.By, d.req.ID)}
	}
	d.count(e)
	return e, nil
}

// newID makes an id for an entry without one.
func (d *decider) newID(entryType, by string) string {
	head := cmp.Or(entryType, "entry") + "." + cmp.Or(by, "scene") + "."
	for n := d.shelf.writes + 1; ; n++ {
		id := fmt.Sprintf("%s%d", head, n)
		if _, taken := d.shelf.base.Get(id); !taken {
			return id
		}
	}
}

// updated lays the given fields over the entry: objects of goal,
// activation_criteria and custom_metadata field by field, the rest whole.
func (d *decider) updated(fields map[string]any, by string) (*Entry, error) {
	id, _ := fields["id"].(string)
	old, ok := d.shelf.base.Get(id)
	if id == "" {
		return nil, d.errorf(protocol.KindInvalid, "an update needs the id of the entry")
	}
	if !ok {
		return nil, d.shelf.base.errUnknown(id)
	}
	if old.SupersededBy != "" {
		return nil, d.errorf(protocol.KindConflict, "entry %q was superseded by %q; change that one", id, old.SupersededBy)
	}
	fields = without(fields, append(protected(), "supersedes")...)
	merged := old.Value()
	for _, key := range protocol.SortedKeys(fields) {
		switch key {
		case "goal", "activation_criteria", "custom_metadata":
			merged[key] = overlay(merged[key], fields[key])
		default:
			merged[key] = fields[key]
		}
	}
	e, err := EntryOf(merged)
	if err != nil {
		return nil, d.errorf(protocol.KindInvalid, "%w", err)
	}
	e.UpdatedAt, e.UpdatedBy = d.now.Std(), d.named(by, by)
	d.count(e)
	return e, nil
}

// overlay replaces single fields of an object; null removes a field, and null
// in the place of the object removes it all.
func overlay(old, changes any) any {
	was, ok1 := old.(map[string]any)
	with, ok2 := changes.(map[string]any)
	if !ok1 || !ok2 {
		return changes
	}
	out := maps.Clone(was)
	for _, key := range protocol.SortedKeys(with) {
		if with[key] == nil {
			delete(out, key)
		} else {
			out[key] = with[key]
		}
	}
	return out
}

func without(m map[string]any, names ...string) map[string]any {
	out := maps.Clone(m)
	for _, n := range names {
		delete(out, n)
	}
	return out
}

// sound refuses an entry that breaks the rules of definitions.
func (d *decider) sound(e *Entry) error {
	c := &checker{}
	c.entry(e)
	if key := e.ReferenceKey; key != "" {
		if other, taken := d.shelf.base.Reference(key); taken && other.ID != e.ID {
			c.at("/reference_key", "%q is already the name of entry %q", key, other.ID)
		}
	}
	if other, taken := d.shelf.base.Reference(e.ID); taken && other.ID != e.ID {
		c.at("/id", "%q is already the reference key of entry %q", e.ID, other.ID)
	}
	for i, id := range e.ConflictsWith {
		if d.shelf.base.find(id) == nil {
			c.at("/conflicts_with/"+strconv.Itoa(i), "no entry %q", id)
		}
	}
	if from := e.Follows; from != "" && from != e.ID {
		c.follows(d.shelf.base.find(from) != nil, d.shelf.base.next(from), e)
	}
	if len(c.faults) == 0 {
		return nil
	}
	lines := make([]string, len(c.faults))
	for i, f := range c.faults {
		lines[i] = strings.TrimPrefix(f.Path, "/") + ": " + f.Message
	}
	return d.errorf(protocol.KindInvalid, "entry %s", strings.Join(lines, "; "))
}
