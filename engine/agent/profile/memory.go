package profile

import (
	"time"

	"tavernsim/protocol"
)

// Memory says what agents remember of their own turns (§2.1.5). What is nil they do not.
type Memory struct {
	Episodes *Episodes `json:"episodes,omitempty"`
	Summary  *Summary  `json:"summary,omitempty"`
	History  *History  `json:"history,omitempty"` // nil = RuntimeConfig.MaxHistory bounds it
}

// History is what was said lately, by partners.
type History struct {
	Tokens   int `json:"tokens,omitempty"`   // most with each partner; default 2,000
	Partners int `json:"partners,omitempty"` // with whom the agent spoke last; default 8
}

// Summary is what remains of what the history has lost.
type Summary struct {
	Tokens   int               `json:"tokens,omitempty"`    // most; default 500
	HalfLife protocol.Duration `json:"half_life,omitempty"` // of recency; 0 = 24 hours
	By       string            `json:"by,omitempty"`        // extract, model: what makes it; "" = extract
	Model    string            `json:"model,omitempty"`     // with ByModel; "" = the default of the profile
}

// Episodes are the turns that an agent remembers.
type Episodes struct {
	Keep     int               `json:"keep,omitempty"`      // most; default 1,000
	Recall   *int              `json:"recall,omitempty"`    // most that a turn is shown; nil = 5
	HalfLife protocol.Duration `json:"half_life,omitempty"` // of recency; 0 = 24 hours

	// Consolidate like episodes get one note before the agent sleeps; 0 = none do.
	Consolidate int `json:"consolidate,omitempty"`
}

// Reflection says when agents reflect without being asked (§2.1.5).
type Reflection struct {
	GoalEnded   *bool              `json:"goal_ended,omitempty"`   // nil = true
	Failures    *int               `json:"failures,omitempty"`     // in a row; nil = 3, 0 = never
	Importance  *int               `json:"importance,omitempty"`   // since the last one; nil = 30, 0 = never
	Every       int                `json:"every,omitempty"`        // turns; 0 = never
	BeforeSleep bool               `json:"before_sleep,omitempty"` // whenever the agent sleeps
	MinInterval *protocol.Duration `json:"min_interval,omitempty"` // between two; nil = 10 minutes
	MaxPerDay   int                `json:"max_per_day,omitempty"`  // of the scene; default 24
	Writes      map[string]string  `json:"writes,omitempty"`       // by entry type, or AnyType: alias or id of the base of entries that name none
}

// AnyType stands for every entry type that has no line of its own.
const AnyType = "*"

// What makes a summary.
const (
	ByExtract = "extract"
	ByModel   = "model"
)

// Bounds and defaults of memory and reflection.
const (
	MaxEpisodes        = 1_000
	MaxEpisodesShown   = 100
	DefaultRecall      = 5
	DefaultSummary     = 500   // tokens
	MaxSummary         = 2_000 // tokens
	DefaultTalk        = 2_000 // tokens
	MaxTalk            = 100_000
	DefaultPartners    = 8
	MaxPartners        = 64
	DefaultHalfLife    = 24 * time.Hour
	DefaultFailures    = 3
	DefaultImportance  = 30
	DefaultMinInterval = 10 * time.Minute
	DefaultMaxPerDay   = 24
)
