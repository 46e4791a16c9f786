package knowledge

import (
	"time"

	"tavernsim/engine/goal"
	"tavernsim/engine/knowledge/criteria"
	"tavernsim/protocol"
)

// KnowledgeBase is the static definition of a knowledge base: one file of the
// project's knowledgebases folder (agent architecture §3.4).
type KnowledgeBase struct {
	ID            string  `json:"id"`
	Name          string  `json:"name,omitempty"`
	Description   string  `json:"description,omitempty"`
	Version       string  `json:"version,omitempty"`        // semantic version of the content
	SchemaVersion string  `json:"schema_version,omitempty"` // of the file format; "1.0"
	Entries       []Entry `json:"entries,omitempty"`

	// Shared says among whom writes are shared: [SharedInScene], or "" for the same, or
	// [SharedInProject].
	Shared string   `json:"shared,omitempty"`
	Scenes []string `json:"scenes,omitempty"` // that share the base in the project; the first keeps it

	// HalfLifeHours is the age in hours of scene time at which recency counts half; 0 =
	// age does not count.
	HalfLifeHours float64 `json:"half_life_hours,omitempty"`

	// Activation bounds what the base activates in a situation; nil = the defaults.
	Activation *criteria.Defaults `json:"activation,omitempty"`

	// Learning says what becomes of the lessons that agents write; nil = they are entries
	// like all others.
	Learning *Learning `json:"learning,omitempty"`

	// Embedding gives entries and queries vectors; nil = words alone rank.
	Embedding *Embedding `json:"embedding,omitempty"`

	CustomMetadata map[string]any `json:"custom_metadata,omitempty"` // free; never checked
}

// Values of KnowledgeBase.Shared.
const (
	SharedInScene   = "scene"   // the agents of a scene share the base, and each scene of a run has a copy of its own
	SharedInProject = "project" // so do those of several scenes while they run
)

// Embedding says by what vectors are made (§3.4), and which entries they find.
type Embedding struct {
	Model string   `json:"model"`           // name of a model file of a kind that gives vectors
	Above *float64 `json:"above,omitempty"` // least cosine of an entry that shares no word with the query; nil = 0.5
}

// Learning makes a base keep lessons (§2.1.5): what agents write of some entry types. The
// base merges those that say the same, counts the versions of its entries, shows the
// lessons that fit a situation, and forgets the least of them.
type Learning struct {
	Types  []string `json:"types,omitempty"`  // of lessons; nil = [LessonTypes]
	Merge  Merge    `json:"merge,omitempty"`  // "" = alike
	Recall *int     `json:"recall,omitempty"` // lessons that a situation brings to mind; nil = 5
	Keep   int      `json:"keep,omitempty"`   // lessons; 0 = 1,000
}

// Merge says which lessons of one type are one.
type Merge string

const (
	MergeAlike Merge = "alike" // see words.Print.Alike
	MergeSame  Merge = "same"  // of the same words in the same order
	MergeNone  Merge = "none"
)

// Entry is a CAIU, the unit of knowledge (§2.1.3, §2.1.5, §3.4). An entry is
// never written once it is in a base: a change makes a new one.
type Entry struct {
	ID        string `json:"id"`         // unique in its base
	EntryType string `json:"entry_type"` // a canonical type, an alias of one, or any name of your own
	Title     string `json:"title,omitempty"`

	// Content is text or an object. Text anywhere in it may hold dynamic
	// references: "{{{reference_key}}}".
	Content any `json:"content,omitempty"`

	Tags     []string `json:"tags,omitempty"`
	Priority float64  `json:"priority,omitempty"` // higher first; default 0

	// Importance, 0 to 10, and how often the entry helped of the times that it was used
	// raise its rank in queries with text.
	Importance float64 `json:"importance,omitempty"`
	Used       int64   `json:"used,omitempty"`
	Helped     int64   `json:"helped,omitempty"`

	// Follows is the id of the entry before it: of the line of a dialogue, or of what
	// happened before. Neighbours are found by each other's text, too.
	Follows string `json:"follows,omitempty"`

	Version    int64     `json:"version,omitempty"`    // counted by a base with learning
	ValidFrom  time.Time `json:"valid_from,omitzero"`  // of scene time; before it the entry does not exist
	ValidUntil time.Time `json:"valid_until,omitzero"` // from then on it does not exist
	Disabled   bool      `json:"disabled,omitempty"`   // found by its id only
	Locked     bool      `json:"locked,omitempty"`     // what agents would change waits for review
	Confidence float64   `json:"confidence,omitempty"` // 0 to 1, of its author
	Evidence   []string  `json:"evidence,omitempty"`   // what it was learnt from
	Confirmed  int64     `json:"confirmed,omitempty"`  // how often it was learnt again

	Supersedes    []string `json:"supersedes,omitempty"`     // ids of entries in whose place it is
	SupersededBy  string   `json:"superseded_by,omitempty"`  // found by its id only
	ConflictsWith []string `json:"conflicts_with,omitempty"` // ids of entries that say otherwise

	// ReferenceKey is a second name under which "{{{…}}}" finds the entry.
	ReferenceKey string `json:"reference_key,omitempty"`

	ActivationCriteria *criteria.Activation `json:"activation_criteria,omitempty"`

	Source    string    `json:"source,omitempty"` // "agent_generated" when an agent wrote it
	Author    string    `json:"author,omitempty"` // instance id of that agent, or a person
	CreatedAt time.Time `json:"created_at,omitzero"`
	UpdatedAt time.Time `json:"updated_at,omitzero"`
	UpdatedBy string    `json:"updated_by,omitempty"` // instance id of the agent that changed it last

	// Goal holds what only a goal has. Allowed with entry_type goal and
	// refined_goal_definition, refused with any other.
	Goal *Goal `json:"goal,omitempty"`

	CustomMetadata map[string]any `json:"custom_metadata,omitempty"` // free; queries can ask for equality
}

// Goal is the structured part of a goal (§2.1.3). Its priority is the entry's.
type Goal struct {
	Description        string            `json:"description,omitempty"` // "" = the entry's content or title
	Status             GoalStatus        `json:"status,omitempty"`      // default pending
	Preconditions      []goal.Condition  `json:"preconditions,omitempty"`
	CompletionCriteria []goal.Condition  `json:"completion_criteria,omitempty"`
	FailureCriteria    []goal.Condition  `json:"failure_criteria,omitempty"`
	Rewards            any               `json:"rewards,omitempty"`        // with commands: on the private state of who reaches it
	Penalties          any               `json:"penalties,omitempty"`      // the same for who fails
	ParentGoalID       string            `json:"parent_goal_id,omitempty"` // of a sub-goal
	CompletesBy        string            `json:"completes_by,omitempty"`   // all, any: of its sub-goals
	Deadline           protocol.Duration `json:"deadline,omitempty"`       // after an agent took it on
	Recurs             protocol.Duration `json:"recurs,omitempty"`         // it begins again so long after its end
	Exclusive          []string          `json:"exclusive,omitempty"`      // resources
}

// Motivated reports whether the goal says something that rules for goals decide: an
// expression, a deadline, a resource and so on.
func (g *Goal) Motivated() bool {
	if g.CompletesBy != "" || g.Deadline != 0 || g.Recurs != 0 || len(g.Exclusive) > 0 || Commands(g.Rewards) != nil || Commands(g.Penalties) != nil {
		return true
	}
	m := goal.More{Preconditions: g.Preconditions, Completion: g.CompletionCriteria, Failure: g.FailureCriteria}
	return m.Expressions() > 0
}

// Commands are those in a reward or penalty; nil = there are none.
func Commands(reward any) any {
	m, _ := reward.(map[string]any)
	return m["commands"]
}

// GoalStatus is where a goal stands.
type GoalStatus string

const (
	GoalPending   GoalStatus = "pending"
	GoalActive    GoalStatus = "active"
	GoalCompleted GoalStatus = "completed"
	GoalFailed    GoalStatus = "failed"
)

const statuses = "pending, active, completed or failed"

func (s GoalStatus) known() bool {
	return s == GoalPending || s == GoalActive || s == GoalCompleted || s == GoalFailed
}

// The canonical entry types. Other names (lore, character, location, ...) are
// as good; these have a meaning to the engine.
const (
	TypeGoal               = "goal"
	TypeBestPractice       = "best_practice"
	TypeFailedLesson       = "failed_lesson"
	TypeObservationSummary = "observation_summary"
	TypeRefinedGoal        = "refined_goal_definition"
)

// SourceAgent marks what an agent wrote (§3.4).
const SourceAgent = "agent_generated"

// CanonicalType maps the older names of the entry types to the canonical ones
// and leaves every other name as it is.
func CanonicalType(name string) string {
	switch name {
	case "goal_definition":
		return TypeGoal
	case "best_practice_summary":
		return TypeBestPractice
	case "failed_lesson_analysis":
		return TypeFailedLesson
	case "observation_log":
		return TypeObservationSummary
	}
	return name
}
