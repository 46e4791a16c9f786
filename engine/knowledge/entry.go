package knowledge

import (
	"strings"
	"time"

	"tavernsim/engine/goal"
	"tavernsim/engine/knowledge/criteria"
	"tavernsim/engine/knowledge/fields"
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
	fields.PutText(m, "title", e.Title)
	fields.PutText(m, "reference_key", e.ReferenceKey)
	fields.PutText(m, "source", e.Source)
	fields.PutText(m, "author", e.Author)
	fields.PutText(m, "updated_by", e.UpdatedBy)
	fields.PutText(m, "follows", e.Follows)
	fields.PutNumber(m, "importance", e.Importance)
	fields.PutCount(m, "used", e.Used)
	fields.PutCount(m, "helped", e.Helped)
	fields.PutCount(m, "version", e.Version)
	fields.PutTime(m, "valid_from", e.ValidFrom)
	fields.PutTime(m, "valid_until", e.ValidUntil)
	fields.PutFlag(m, "disabled", e.Disabled)
	fields.PutFlag(m, "locked", e.Locked)
	fields.PutNumber(m, "confidence", e.Confidence)
	fields.PutList(m, "evidence", e.Evidence)
	fields.PutCount(m, "confirmed", e.Confirmed)
	fields.PutList(m, "supersedes", e.Supersedes)
	fields.PutText(m, "superseded_by", e.SupersededBy)
	fields.PutList(m, "conflicts_with", e.ConflictsWith)
	fields.PutTime(m, "created_at", e.CreatedAt)
	fields.PutTime(m, "updated_at", e.UpdatedAt)
	fields.PutList(m, "tags", e.Tags)
	if e.Content != nil {
		m["content"] = e.Content
	}
	if len(e.CustomMetadata) > 0 {
		m["custom_metadata"] = e.CustomMetadata
	}
	if e.ActivationCriteria != nil {
		m["activation_criteria"] = e.ActivationCriteria.Value()
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

func (g *Goal) value() map[string]any {
	m := map[string]any{}
	fields.PutText(m, "description", g.Description)
	fields.PutText(m, "status", string(g.Status))
	fields.PutText(m, "parent_goal_id", g.ParentGoalID)
	putConditions(m, "preconditions", g.Preconditions)
	putConditions(m, "completion_criteria", g.CompletionCriteria)
	putConditions(m, "failure_criteria", g.FailureCriteria)
	fields.PutText(m, "completes_by", g.CompletesBy)
	fields.PutList(m, "exclusive", g.Exclusive)
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

// EntryOf reads an object with the field names of the files. It is strict: the
// error names every field that is unknown or of a wrong type. It does not judge
// the content; [Validate] and [Decide] do.
func EntryOf(v map[string]any) (*Entry, error) {
	r := &fields.Reader{}
	e := &Entry{
		ID: r.Text(v, "id"), EntryType: CanonicalType(r.Text(v, "entry_type")), Title: r.Text(v, "title"), Content: v["content"],
		Tags: r.List(v, "tags"), Priority: r.Number(v, "priority"), ReferenceKey: r.Text(v, "reference_key"),
		Source: r.Text(v, "source"), Author: r.Text(v, "author"), UpdatedBy: r.Text(v, "updated_by"),
		CreatedAt: r.Time(v, "created_at"), UpdatedAt: r.Time(v, "updated_at"), CustomMetadata: r.Object(v, "custom_metadata"),
		Importance: r.Number(v, "importance"), Used: r.Count(v, "used"), Helped: r.Count(v, "helped"), Follows: r.Text(v, "follows"),
		Version: r.Count(v, "version"), ValidFrom: r.Time(v, "valid_from"), ValidUntil: r.Time(v, "valid_until"), Disabled: r.Flag(v, "disabled"), Locked: r.Flag(v, "locked"),
		Confidence: r.Number(v, "confidence"), Evidence: r.List(v, "evidence"), Confirmed: r.Count(v, "confirmed"),
		Supersedes: r.List(v, "supersedes"), SupersededBy: r.Text(v, "superseded_by"), ConflictsWith: r.List(v, "conflicts_with"),
	}
	if a := r.Object(v, "activation_criteria"); a != nil {
		e.ActivationCriteria = criteria.Read(r, a)
	}
	if g := r.Object(v, "goal"); g != nil {
		e.Goal = readGoal(r, g)
	}
	r.Only(v, "id", "entry_type", "title", "content", "tags", "priority", "reference_key", "source", "author", "updated_by",
		"created_at", "updated_at", "custom_metadata", "activation_criteria", "goal",
		"importance", "used", "helped", "follows", "version", "valid_from", "valid_until", "disabled", "locked", "confidence", "evidence", "confirmed",
		"supersedes", "superseded_by", "conflicts_with")
	if len(r.Faults) > 0 {
		return nil, protocol.Errorf(protocol.KindInvalid, "knowledge entry: %s", strings.Join(r.Faults, "; "))
	}
	return e, nil
}

func readGoal(r *fields.Reader, v map[string]any) *Goal {
	r.Path = "goal."
	defer func() { r.Path = "" }()
	r.Only(v, "description", "status", "preconditions", "completion_criteria", "failure_criteria", "rewards", "penalties", "parent_goal_id",
		"completes_by", "deadline", "recurs", "exclusive")
	return &Goal{
		Description: r.Text(v, "description"), Status: GoalStatus(r.Text(v, "status")), Preconditions: readConditions(r, v, "preconditions"),
		CompletionCriteria: readConditions(r, v, "completion_criteria"), FailureCriteria: readConditions(r, v, "failure_criteria"),
		Rewards: v["rewards"], Penalties: v["penalties"], ParentGoalID: r.Text(v, "parent_goal_id"), CompletesBy: r.Text(v, "completes_by"),
		Deadline: readSpan(r, v, "deadline"), Recurs: readSpan(r, v, "recurs"), Exclusive: r.List(v, "exclusive"),
	}
}

func readConditions(r *fields.Reader, v map[string]any, key string) []goal.Condition {
	if v[key] == nil {
		return nil
	}
	list, err := goal.Conditions(key, v[key])
	if err != nil {
		r.Faults = append(r.Faults, r.Path+err.Error())
	}
	return list
}

func readSpan(r *fields.Reader, v map[string]any, key string) protocol.Duration {
	s := r.Text(v, key)
	if s == "" {
		return 0
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		r.Fault(key, "want a duration like 90s or 1h30m")
	}
	return protocol.Duration(d)
}

// QueryOf reads a query from an object: text (or query), keywords,
// all_keywords, tags, all_tags, exclude_tags, entry_types (or entry_type), ids,
// metadata, status, source, author, min_priority, limit. Unknown fields are
// errors.
func QueryOf(v map[string]any) (Query, error) {
	r := &fields.Reader{}
	r.Only(v, "text", "query", "keywords", "all_keywords", "tags", "all_tags", "exclude_tags", "entry_types", "entry_type", "ids",
		"metadata", "status", "source", "author", "min_priority", "limit")
	q := Query{
		Text: strings.TrimSpace(r.Text(v, "text") + " " + r.Text(v, "query")), Keywords: r.List(v, "keywords"), AllKeywords: r.List(v, "all_keywords"),
		Tags: r.List(v, "tags"), AllTags: r.List(v, "all_tags"), ExcludeTags: r.List(v, "exclude_tags"),
		EntryTypes: append(r.List(v, "entry_types"), r.List(v, "entry_type")...), IDs: r.List(v, "ids"), Metadata: r.Object(v, "metadata"),
		Status: GoalStatus(r.Text(v, "status")), Source: r.Text(v, "source"), Author: r.Text(v, "author"), Limit: int(r.Number(v, "limit")),
	}
	if v["min_priority"] != nil {
		p := r.Number(v, "min_priority")
		q.MinPriority = &p
	}
	if q.Limit < 1 && v["limit"] != nil {
		r.Fault("limit", "want 1 to %d", MaxLimit)
	}
	if !q.Status.known() && q.Status != "" {
		r.Fault("status", "%q is not known; want %s", protocol.Short(string(q.Status), 80), statuses)
	}
	if len(r.Faults) > 0 {
		return Query{}, protocol.Errorf(protocol.KindInvalid, "knowledge query: %s", strings.Join(r.Faults, "; "))
	}
	return q, nil
}
