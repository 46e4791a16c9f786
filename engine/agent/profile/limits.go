package profile

import (
	"math"
	"time"

	"tavernsim/engine/budget"
	"tavernsim/protocol"
)

// Limits of one agent, with every default filled in.
type Limits struct {
	MaxModelCalls   int
	MaxTokens       int64
	MaxToolRounds   int
	MaxCalls        int
	MaxInbox        int
	MaxInboxBytes   int // 0 = no bound
	MaxHistory      int
	MaxObservations int
	MaxStateBytes   int
	MaxTurnBytes    int
	MaxGoals        int
	MaxToolTime     time.Duration
	MaxToolBytes    int64
	MaxToolPrompt   int // 0 = no bound

	MaxRedeliveries int
	MaxTasks        int
	TaskTimeout     time.Duration
	Lanes           *Lanes // nil = only MaxInbox bounds the inbox
	Interrupt       Interrupting
}

// Worst is the most that a turn can take of models and of tools: each of its requests may fail and have cost max_tokens.
// A turn knows no prices.
func (l *Limits) Worst() (models, tools budget.Amount) {
	models = budget.Amount{Tokens: l.MaxTokens, Calls: 1}.Times(int64(l.MaxModelCalls))
	models.Nano = math.MaxInt64
	return models, budget.Amount{Calls: int64(l.MaxCalls), Nano: math.MaxInt64, Micro: math.MaxInt64, Bytes: math.MaxInt64}
}

// Lanes bound parts of the inbox, by priority.
type Lanes [4]Lane

// Lane bounds the events of one priority in the inbox. With Max 0, only MaxInbox
// bounds them.
type Lane struct {
	Max    int
	Policy string
}

// Interrupting says which events interrupt a deliberation.
type Interrupting struct {
	On   bool
	By   protocol.Priority // and above
	Then string
}

// Lane is the bound for events of a priority.
func (l *Limits) Lane(p protocol.Priority) Lane {
	if l.Lanes == nil {
		return Lane{}
	}
	return l.Lanes[min(max(p, protocol.Low), protocol.Critical)-protocol.Low]
}

// Limits fills in the defaults of a runtime configuration; nil is all defaults.
func (c *RuntimeConfig) Limits() Limits {
	if c == nil {
		c = &RuntimeConfig{}
	}
	return Limits{
		MaxModelCalls:   or(c.MaxModelCalls, 8),
		MaxTokens:       int64(or(c.MaxTokens, 100_000)),
		MaxToolRounds:   or(c.MaxToolRounds, 1),
		MaxCalls:        or(c.MaxCalls, 32),
		MaxInbox:        or(c.MaxInbox, 256),
		MaxInboxBytes:   or(c.MaxInboxBytes, DefaultInboxBytes),
		MaxHistory:      or(c.MaxHistory, 16),
		MaxObservations: or(c.MaxObservations, 64),
		MaxStateBytes:   or(c.MaxStateBytes, 64<<10),
		MaxTurnBytes:    or(c.MaxTurnBytes, 64<<20),
		MaxGoals:        or(c.MaxGoals, 32),
		MaxRedeliveries: or(c.MaxRedeliveries, 5),
		MaxTasks:        or(c.MaxTasks, 32),
		TaskTimeout:     seconds(c.TaskTimeoutSeconds, DefaultTaskTimeout),
		MaxToolTime:     seconds(c.MaxToolSeconds, DefaultToolTime),
		MaxToolBytes:    int64(or(c.MaxToolBytes, DefaultToolBytes)),
		MaxToolPrompt:   or(c.MaxToolPromptBytes, DefaultToolPrompt),
		Lanes:           c.Inbox.Lanes(),
		Interrupt:       c.Interrupt.limit(),
	}
}

func seconds(n float64, otherwise time.Duration) time.Duration {
	if n <= 0 {
		return otherwise
	}
	return time.Duration(n * float64(time.Second))
}

// Lanes converts the configuration for the inbox; nil gives nil.
func (c *InboxConfig) Lanes() *Lanes {
	if c == nil {
		return nil
	}
	l := &Lanes{}
	for i, lane := range [...]*LaneConfig{c.Low, c.Normal, c.High, c.Critical} {
		if lane != nil {
			l[i] = Lane{Max: lane.Max, Policy: lane.Policy}
		}
	}
	return l
}

func (c *InterruptConfig) limit() Interrupting {
	if c == nil || c.By == "" || c.By == InterruptNever {
		return Interrupting{}
	}
	by, err := protocol.ParsePriority(c.By)
	if err != nil { // the loader has refused it already
		return Interrupting{}
	}
	then := c.Then
	if then == "" {
		then = ThenRetry
	}
	return Interrupting{On: true, By: by, Then: then}
}

func or(v, otherwise int) int {
	if v > 0 {
		return v
	}
	return otherwise
}
