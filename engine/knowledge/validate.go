package knowledge

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"

	"tavernsim/engine/goal"
	"tavernsim/engine/knowledge/criteria"
	"tavernsim/engine/statecmd/command"
	"tavernsim/protocol"
)

// Limits of entries and bases.
const (
	MaxEntries     = 1_000_000 // of one base
	MaxEntryBytes  = 256 << 10 // of one entry, encoded
	MaxIDBytes     = 256
	MaxTags        = criteria.MaxList // and of every other list of an entry
	MaxSuggestions = 10_000
	MaxImportance  = 10
	MaxUsed        = 1_000_000
	MaxHalfLife    = 1_000_000 // hours
)

// Fault is a fault of a definition. Path is a JSON pointer from its top.
type Fault struct {
	Path    string
	Message string
}

// Faults in the order of the file.
type Faults []Fault

func (f Faults) err(base string) error {
	lines := make([]string, len(f))
	for i, x := range f {
		lines[i] = x.Path + ": " + x.Message
	}
	return protocol.Errorf(protocol.KindInvalid, "knowledge base %s: %s", base, strings.Join(lines, "; "))
}

// checker collects faults under a path.
type checker struct {
	path   string
	faults Faults
}

func (c *checker) at(path string, format string, args ...any) {
	c.faults = append(c.faults, Fault{Path: c.path + path, Message: fmt.Sprintf(format, args...)})
}

// Validate finds every fault of a definition; nil when it is sound.
func Validate(def *KnowledgeBase) Faults {
	c := &checker{}
	if fault := checkID(def.ID); fault != "" {
		c.at("/id", "%s", fault)
	}
	if def.SchemaVersion != "" && def.SchemaVersion != "1.0" {
		c.at("/schema_version", "%q is not known; want \"1.0\"", def.SchemaVersion)
	}
	if !(def.HalfLifeHours >= 0 && def.HalfLifeHours <= MaxHalfLife) {
		c.at("/half_life_hours", "%v; want 0 to %d", def.HalfLifeHours, MaxHalfLife)
	}
	c.sharing(def)
	def.Activation.Check(c.below("/activation"))
	c.learning(def.Learning)
	c.embedding(def.Embedding)
	if len(def.Entries) > MaxEntries {
		c.at("/entries", "%d entries; the limit is %d", len(def.Entries), MaxEntries)
		return c.faults
	}
	names := make(map[string]int, len(def.Entries)) // ids and reference keys
	for i := range def.Entries {
		c.path = "/entries/" + strconv.Itoa(i)
		c.entry(&def.Entries[i])
		c.unique(names, "/id", def.Entries[i].ID, i)
	}
	for i := range def.Entries {
		if key := def.Entries[i].ReferenceKey; key != "" {
			c.path = "/entries/" + strconv.Itoa(i)
			c.unique(names, "/reference_key", key, i)
		}
	}
	if len(c.faults) == 0 {
		c.sequences(def)
	}
	return c.faults
}

// sequences checks what entries follow: each one of the base, none twice.
func (c *checker) sequences(def *KnowledgeBase) {
	ids := make(map[string]bool, len(def.Entries))
	for i := range def.Entries {
		ids[def.Entries[i].ID] = true
	}
	next := map[string]*doc{}
	for i := range def.Entries {
		e := &def.Entries[i]
		if e.Follows == "" {
			continue
		}
		c.path = "/entries/" + strconv.Itoa(i)
		c.follows(ids[e.Follows], next[e.Follows], e)
		next[e.Follows] = &doc{entry: e}
	}
}

func (c *checker) follows(known bool, next *doc, e *Entry) {
	switch {
	case !known:
		c.at("/follows", "no entry %q", e.Follows)
	case next != nil && next.entry.ID != e.ID:
		c.at("/follows", "entry %q is already followed by %q", e.Follows, next.entry.ID)
	}
}

func (c *checker) unique(names map[string]int, path, name string, i int) {
	if first, ok := names[name]; ok {
		c.at(path, "%q is already the name of entry %d", name, first)
		return
	}
	names[name] = i
}

// checkID finds the fault of an id or a reference key.
func checkID(id string) string {
	switch {
	case strings.TrimSpace(id) == "":
		return "is missing"
	case len(id) > MaxIDBytes:
		return fmt.Sprintf("has %d bytes; the limit is %d", len(id), MaxIDBytes)
	case strings.TrimSpace(id) != id:
		return fmt.Sprintf("%q begins or ends with a space", id)
	case strings.ContainsAny(id, "{}") || strings.ContainsFunc(id, unicode.IsControl):
		return fmt.Sprintf("%q holds a brace or a control character", id)
	}
	return ""
}

func (c *checker) entry(e *Entry) {
	if fault := checkID(e.ID); fault != "" {
		c.at("/id", "%s", fault)
	}
	if strings.TrimSpace(e.EntryType) == "" {
		c.at("/entry_type", "is missing; want goal, best_practice, lore or any other name")
	}
	if fault := checkID(e.ReferenceKey); e.ReferenceKey != "" && fault != "" {
		c.at("/reference_key", "%s", fault)
	}
	switch e.Content.(type) {
	case nil:
		if e.Title == "" && (e.Goal == nil || e.Goal.Description == "") {
			c.at("/content", "is missing; want text or an object")
		}
	case string, map[string]any:
	default:
		c.at("/content", "want text or an object")
	}
	if math.IsNaN(e.Priority) || math.IsInf(e.Priority, 0) {
		c.at("/priority", "want a finite number")
	}
	c.rank(e)
	c.learnt(e)
	c.list("/tags", e.Tags)
	if e.ActivationCriteria != nil {
		e.ActivationCriteria.Check(c.below("/activation_criteria"))
	}
	c.goal(e)
	c.values(e)
}

func (c *checker) rank(e *Entry) {
	if !(e.Importance >= 0 && e.Importance <= MaxImportance) {
		c.at("/importance", "%v; want 0 to %d", e.Importance, MaxImportance)
	}
	if e.Used < 0 || e.Used > MaxUsed {
		c.at("/used", "%d; want 0 to %d", e.Used, MaxUsed)
	}
	if e.Helped < 0 || e.Helped > e.Used {
		c.at("/helped", "%d; want 0 to used, %d", e.Helped, e.Used)
	}
	if e.Follows != "" && e.Follows == e.ID {
		c.at("/follows", "an entry cannot follow itself")
	}
}

func (c *checker) list(path string, words []string) { c.below(path).List("", words) }

// below takes the faults of a part.
func (c *checker) below(part string) criteria.Checker {
	return func(path, message string) {
		c.faults = append(c.faults, Fault{Path: c.path + part + path, Message: message})
	}
}

func (c *checker) goal(e *Entry) {
	if e.Goal == nil {
		return
	}
	if t := CanonicalType(e.EntryType); t != TypeGoal && t != TypeRefinedGoal {
		c.at("/goal", "entry_type %q has no goal; want goal or refined_goal_definition", e.EntryType)
	}
	if s := e.Goal.Status; s != "" && !s.known() {
		c.at("/goal/status", "%q is not known; want %s", s, statuses)
	}
	c.conditions("/goal/preconditions", e.Goal.Preconditions)
	c.conditions("/goal/completion_criteria", e.Goal.CompletionCriteria)
	c.conditions("/goal/failure_criteria", e.Goal.FailureCriteria)
	c.commands("/goal/rewards/commands", Commands(e.Goal.Rewards))
	c.commands("/goal/penalties/commands", Commands(e.Goal.Penalties))
	if by := e.Goal.CompletesBy; by != "" && by != goal.ByAll && by != goal.ByAny {
		c.at("/goal/completes_by", "%q is not known; want all or any", by)
	}
	c.span("/goal/deadline", e.Goal.Deadline)
	c.span("/goal/recurs", e.Goal.Recurs)
	if n := len(e.Goal.Exclusive); n > goal.MaxExclusive {
		c.at("/goal/exclusive", "%d items; the limit is %d", n, goal.MaxExclusive)
	}
	c.list("/goal/exclusive", e.Goal.Exclusive)
	if e.Goal.ParentGoalID != "" && e.Goal.ParentGoalID == e.ID {
		c.at("/goal/parent_goal_id", "a goal cannot be a part of itself")
	}
}

func (c *checker) span(path string, d protocol.Duration) {
	if d < 0 || d.Std() > goal.MaxSpan {
		c.at(path, "%s; want 0s to %s", d.Std(), goal.MaxSpan)
	}
}

// commands checks commands on the private state of the agent that ends a goal.
func (c *checker) commands(path string, v any) {
	if v == nil {
		return
	}
	v, err := protocol.Normalize(v)
	if err != nil {
		return // said of the whole
	}
	batch, err := command.DecodeValue(v)
	switch {
	case err != nil:
		c.at(path, "%v", err)
	case len(batch.Entries) == 0 || len(batch.Entries) > command.MaxEntries:
		c.at(path, "%d commands; want 1 to %d", len(batch.Entries), command.MaxEntries)
	}
	for i := range batch.Entries {
		if key := batch.Entries[i].Key; strings.HasPrefix(strings.TrimSpace(key), "world.") {
			c.at(path, "key %s is of the world; want keys of the private state, self.…", key)
		}
	}
}

func (c *checker) conditions(path string, list []goal.Condition) {
	if len(list) > goal.MaxConditions {
		c.at(path, "%d conditions; the limit is %d", len(list), goal.MaxConditions)
		return
	}
	for i := range list {
		if err := list[i].Check(); err != nil {
			c.at(path+"/"+strconv.Itoa(i), "%v", err)
		}
	}
}

// values checks that the free parts are values and that the entry is not too large.
func (c *checker) values(e *Entry) {
	parts := map[string]any{"/content": e.Content, "/custom_metadata": e.CustomMetadata}
	if e.Goal != nil {
		parts["/goal/rewards"], parts["/goal/penalties"] = e.Goal.Rewards, e.Goal.Penalties
	}
	for _, path := range protocol.SortedKeys(parts) {
		if m, ok := parts[path].(map[string]any); ok && m == nil {
			continue
		}
		if _, err := protocol.Normalize(parts[path]); err != nil {
			c.at(path, "%v", err)
			return
		}
	}
	if n := len(e.Encode()); n > MaxEntryBytes {
		c.at("", "%d bytes; the limit of an entry is %d", n, MaxEntryBytes)
	}
}
