package knowledge

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tavernsim/engine/goal"
	"tavernsim/protocol"
)

// Status of a goal; "" for any other entry.
func (e *Entry) Status() GoalStatus {
	switch {
	case e.Goal != nil && e.Goal.Status != "":
		return e.Goal.Status
	case e.EntryType == TypeGoal || e.EntryType == TypeRefinedGoal:
		return GoalPending
	}
	return ""
}

// Description of a goal: its own, else the content when that is text, else the
// description of a structured content, else the title.
func (e *Entry) Description() string {
	if e.Goal != nil && e.Goal.Description != "" {
		return e.Goal.Description
	}
	switch c := e.Content.(type) {
	case string:
		return c
	case map[string]any:
		if s, ok := c["description"].(string); ok {
			return s
		}
	}
	return e.Title
}

// Value is the entry as an object with the field names of the files; empty
// optional fields are left out.
func (e *Entry) Value() map[string]any {
	m := map[string]any{"id": e.ID, "entry_type": e.EntryType, "priority": e.Priority}
	putText(m, "title", e.Title)
	putText(m, "reference_key", e.ReferenceKey)
	putText(m, "source", e.Source)
	putText(m, "author", e.Author)
	putText(m, "updated_by", e.UpdatedBy)
	putText(m, "follows", e.Follows)
	putNumber(m, "importance", e.Importance)
	putCount(m, "used", e.Used)
	putCount(m, "helped", e.Helped)
	putCount(m, "version", e.Version)
	putTime(m, "valid_from", e.ValidFrom)
	putTime(m, "valid_until", e.ValidUntil)
	putFlag(m, "disabled", e.Disabled)
	putNumber(m, "confidence", e.Confidence)
	putList(m, "evidence", e.Evidence)
	putCount(m, "confirmed", e.Confirmed)
	putList(m, "supersedes", e.Supersedes)
	putText(m, "superseded_by", e.SupersededBy)
	putList(m, "conflicts_with", e.ConflictsWith)
	putTime(m, "created_at", e.CreatedAt)
	putTime(m, "updated_at", e.UpdatedAt)
	putList(m, "tags", e.Tags)
	if e.Content != nil {
		m["content"] = e.Content
	}
	if len(e.CustomMetadata) > 0 {
		m["custom_metadata"] = e.CustomMetadata
	}
	if e.ActivationCriteria != nil {
		m["activation_criteria"] = e.ActivationCriteria.value()
	}
	if e.Goal != nil {
		m["goal"] = e.Goal.value()
	}
	return m
}

// Encode is the canonical form of Value. What is no value (a definition that
// was not checked) is left out.
func (e *Entry) Encode() protocol.Raw {
	v, err := protocol.Normalize(e.Value())
	if err != nil {
		return protocol.Encode(map[string]any{"id": e.ID})
	}
	return protocol.Encode(v)
}

func (a *Activation) value() map[string]any {
	m := map[string]any{}
	putFlag(m, "always", a.Always)
	putFlag(m, "case_sensitive", a.CaseSensitive)
	putText(m, "condition", a.Condition)
	putList(m, "keywords", a.Keywords)
	putList(m, "all_keywords", a.AllKeywords)
	putList(m, "exclude_keywords", a.ExcludeKeywords)
	putList(m, "also_keywords", a.AlsoKeywords)
	putList(m, "not_all_keywords", a.NotAllKeywords)
	putList(m, "patterns", a.Patterns)
	if a.WholeWords != nil {
		m["whole_words"] = *a.WholeWords
	}
	putList(m, "tags", a.Tags)
	putList(m, "event_types", a.EventTypes)
	return m
}

func (g *Goal) value() map[string]any {
	m := map[string]any{}
	putText(m, "description", g.Description)
	putText(m, "status", string(g.Status))
	putText(m, "parent_goal_id", g.ParentGoalID)
	putConditions(m, "preconditions", g.Preconditions)
	putConditions(m, "completion_criteria", g.CompletionCriteria)
	putConditions(m, "failure_criteria", g.FailureCriteria)
	putText(m, "completes_by", g.CompletesBy)
	putList(m, "exclusive", g.Exclusive)
	for key, d := range map[string]protocol.Duration{"deadline": g.Deadline, "recurs": g.Recurs} {
		if d != 0 {
			m[key] = d.Std().String()
		}
	}
	if g.Rewards != nil {
		m["rewards"] = g.Rewards
	}
	if g.Penalties != nil {
		m["penalties"] = g.Penalties
	}
	return m
}

func putConditions(m map[string]any, key string, list []goal.Condition) {
	if len(list) == 0 {
		return
	}
	out := make([]any, len(list))
	for i := range list {
		if out[i] = list[i].Text; list[i].Expr != "" {
			out[i] = map[string]any{"expr": list[i].Expr}
		}
	}
	m[key] = out
}

func putText(m map[string]any, key, s string) {
	if s != "" {
		m[key] = s
	}
}

func putFlag(m map[string]any, key string, on bool) {
	if on {
		m[key] = true
	}
}

func putNumber(m map[string]any, key string, n float64) {
	if n != 0 {
		m[key] = n
	}
}

func putCount(m map[string]any, key string, n int64) {
	if n != 0 {
		m[key] = n
	}
}

func putTime(m map[string]any, key string, t time.Time) {
	if !t.IsZero() {
		m[key] = t.UTC().Format(time.RFC3339Nano)
	}
}

func putList(m map[string]any, key string, words []string) {
	if len(words) == 0 {
		return
	}
	list := make([]any, len(words))
	for i, w := range words {
		list[i] = w
	}
	m[key] = list
}

// EntryOf reads an object with the field names of the files. It is strict: the
// error names every field that is unknown or of a wrong type. It does not judge
// the content; [Validate] and [Decide] do.
func EntryOf(v map[string]any) (*Entry, error) {
	r := &reader{}
	e := &Entry{
		ID: r.text(v, "id"), EntryType: CanonicalType(r.text(v, "entry_type")), Title: r.text(v, "title"), Content: v["content"],
		Tags: r.list(v, "tags"), Priority: r.number(v, "priority"), ReferenceKey: r.text(v, "reference_key"),
		Source: r.text(v, "source"), Author: r.text(v, "author"), UpdatedBy: r.text(v, "updated_by"),
		CreatedAt: r.time(v, "created_at"), UpdatedAt: r.time(v, "updated_at"), CustomMetadata: r.object(v, "custom_metadata"),
		Importance: r.number(v, "importance"), Used: r.count(v, "used"), Helped: r.count(v, "helped"), Follows: r.text(v, "follows"),
		Version: r.count(v, "version"), ValidFrom: r.time(v, "valid_from"), ValidUntil: r.time(v, "valid_until"), Disabled: r.flag(v, "disabled"),
		Confidence: r.number(v, "confidence"), Evidence: r.list(v, "evidence"), Confirmed: r.count(v, "confirmed"),
		Supersedes: r.list(v, "supersedes"), SupersededBy: r.text(v, "superseded_by"), ConflictsWith: r.list(v, "conflicts_with"),
	}
	if a := r.object(v, "activation_criteria"); a != nil {
		e.ActivationCriteria = r.activation(a)
	}
	if g := r.object(v, "goal"); g != nil {
		e.Goal = r.goal(g)
	}
	r.only(v, "id", "entry_type", "title", "content", "tags", "priority", "reference_key", "source", "author", "updated_by",
		"created_at", "updated_at", "custom_metadata", "activation_criteria", "goal",
		"importance", "used", "helped", "follows", "version", "valid_from", "valid_until", "disabled", "confidence", "evidence", "confirmed",
		"supersedes", "superseded_by", "conflicts_with")
	if len(r.faults) > 0 {
		return nil, protocol.Errorf(protocol.KindInvalid, "knowledge entry: %s", strings.Join(r.faults, "; "))
	}
	return e, nil
}

// reader takes typed fields out of objects and collects what is wrong.
type reader struct {
	path   string
	faults []string
}

func (r *reader) fault(key, format string, args ...any) {
	r.faults = append(r.faults, r.path+key+": "+fmt.Sprintf(format, args...))
}

func (r *reader) activation(v map[string]any) *Activation {
	r.path = "activation_criteria."
	defer func() { r.path = "" }()
	r.only(v, "always", "keywords", "all_keywords", "exclude_keywords", "tags", "event_types", "condition", "case_sensitive",
		"also_keywords", "not_all_keywords", "patterns", "whole_words")
	var wholeWords *bool
	if v["whole_words"] != nil {
		on := r.flag(v, "whole_words")
		wholeWords = &on
	}
	return &Activation{
		AlsoKeywords: r.list(v, "also_keywords"), NotAllKeywords: r.list(v, "not_all_keywords"), Patterns: r.list(v, "patterns"), WholeWords: wholeWords,
		Always: r.flag(v, "always"), Keywords: r.list(v, "keywords"), AllKeywords: r.list(v, "all_keywords"),
		ExcludeKeywords: r.list(v, "exclude_keywords"), Tags: r.list(v, "tags"), EventTypes: r.list(v, "event_types"),
		Condition: r.text(v, "condition"), CaseSensitive: r.flag(v, "case_sensitive"),
	}
}

func (r *reader) goal(v map[string]any) *Goal {
	r.path = "goal."
	defer func() { r.path = "" }()
	r.only(v, "description", "status", "preconditions", "completion_criteria", "failure_criteria", "rewards", "penalties", "parent_goal_id",
		"completes_by", "deadline", "recurs", "exclusive")
	return &Goal{
		Description: r.text(v, "description"), Status: GoalStatus(r.text(v, "status")), Preconditions: r.conditions(v, "preconditions"),
		CompletionCriteria: r.conditions(v, "completion_criteria"), FailureCriteria: r.conditions(v, "failure_criteria"),
		Rewards: v["rewards"], Penalties: v["penalties"], ParentGoalID: r.text(v, "parent_goal_id"), CompletesBy: r.text(v, "completes_by"),
		Deadline: r.span(v, "deadline"), Recurs: r.span(v, "recurs"), Exclusive: r.list(v, "exclusive"),
	}
}

func (r *reader) conditions(v map[string]any, key string) []goal.Condition {
	if v[key] == nil {
		return nil
	}
	list, err := goal.Conditions(key, v[key])
	if err != nil {
		r.faults = append(r.faults, r.path+err.Error())
	}
	return list
}

func (r *reader) span(v map[string]any, key string) protocol.Duration {
	s := r.text(v, key)
	if s == "" {
		return 0
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		r.fault(key, "want a duration like 90s or 1h30m")
	}
	return protocol.Duration(d)
}

func (r *reader) only(v map[string]any, known ...string) {
	for _, key := range protocol.SortedKeys(v) {
		if !contains(known, key) {
			r.fault(key, "unknown field; there are %s", strings.Join(known, ", "))
		}
	}
}

func contains(list []string, s string) bool {
	return slices.Contains(list, s)
}

func (r *reader) text(v map[string]any, key string) string {
	s, ok := v[key].(string)
	if !ok && v[key] != nil {
		r.fault(key, "want text")
	}
	return s
}

func (r *reader) flag(v map[string]any, key string) bool {
	b, ok := v[key].(bool)
	if !ok && v[key] != nil {
		r.fault(key, "want true or false")
	}
	return b
}

func (r *reader) number(v map[string]any, key string) float64 {
	n, ok := protocol.Number(v[key])
	if !ok && v[key] != nil {
		r.fault(key, "want a number")
	}
	return n
}

func (r *reader) count(v map[string]any, key string) int64 {
	n := r.number(v, key)
	if n != float64(int64(n)) {
		r.fault(key, "want a whole number")
	}
	return int64(n)
}

func (r *reader) object(v map[string]any, key string) map[string]any {
	m, ok := v[key].(map[string]any)
	if !ok && v[key] != nil {
		r.fault(key, "want an object")
	}
	return m
}

func (r *reader) time(v map[string]any, key string) time.Time {
	s := r.text(v, key)
	if s == "" {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		r.fault(key, "want a time like 2025-06-12T08:00:00Z")
	}
	return t.UTC()
}

// list reads a list of texts; one text alone is a list of one.
func (r *reader) list(v map[string]any, key string) []string {
	switch x := v[key].(type) {
	case nil:
		return nil
	case string:
		return []string{x}
	case []any:
		out := make([]string, 0, len(x))
		for i, e := range x {
			s, ok := e.(string)
			if !ok {
				r.fault(key, "item %d: want text", i)
			}
			out = append(out, s)
		}
		return out
	}
	r.fault(key, "want a list of texts")
	return nil
}

// QueryOf reads a query from an object: text (or query), keywords,
// all_keywords, tags, all_tags, exclude_tags, entry_types (or entry_type), ids,
// metadata, status, source, author, min_priority, limit. Unknown fields are
// errors.
func QueryOf(v map[string]any) (Query, error) {
	r := &reader{}
	r.only(v, "text", "query", "keywords", "all_keywords", "tags", "all_tags", "exclude_tags", "entry_types", "entry_type", "ids",
		"metadata", "status", "source", "author", "min_priority", "limit")
	q := Query{
		Text: strings.TrimSpace(r.text(v, "text") + " " + r.text(v, "query")), Keywords: r.list(v, "keywords"), AllKeywords: r.list(v, "all_keywords"),
		Tags: r.list(v, "tags"), AllTags: r.list(v, "all_tags"), ExcludeTags: r.list(v, "exclude_tags"),
		EntryTypes: append(r.list(v, "entry_types"), r.list(v, "entry_type")...), IDs: r.list(v, "ids"), Metadata: r.object(v, "metadata"),
		Status: GoalStatus(r.text(v, "status")), Source: r.text(v, "source"), Author: r.text(v, "author"), Limit: int(r.number(v, "limit")),
	}
	if v["min_priority"] != nil {
		p := r.number(v, "min_priority")
		q.MinPriority = &p
	}
	if q.Limit < 0 {
		r.fault("limit", "want 1 to %d", MaxLimit)
	}
	if len(r.faults) > 0 {
		return Query{}, protocol.Errorf(protocol.KindInvalid, "knowledge query: %s", strings.Join(r.faults, "; "))
	}
	return q, nil
}
