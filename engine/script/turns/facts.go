package turns

import (
	"slices"
	"time"

	"tavernsim/protocol"
)

// Kinds of the facts.
const (
	FactBegan     = "round.began"
	FactGranted   = "turn.granted"
	FactForfeited = "turn.forfeited"
	FactEnded     = "round.ended"
	FactStalled   = "turn.stalled"
)

// Began opens a round.
type Began struct {
	Round  int64 // from 1
	Policy string
	Order  []uint32 // of the participants that have a turn in it
	By     string   // who gave the turns of it, "" = the order of the scene
}

// Granted gives agents turns. They are woken at Due.
type Granted struct {
	Round  int64
	Turn   int64 // of the round, from 1
	Agents []uint32
	Turns  int64 // of each
	Due    protocol.Time
	Until  protocol.Time // then what is left of it is forfeited; 0 = never
	By     string        // who gave it, "" = the order of the scene
}

// Forfeited takes turns away.
type Forfeited struct {
	Round  int64
	Agents []uint32
	Reason string // time_limit, gone, rests
	Out    bool   // they have no turn in later rounds either
}

// Why turns are forfeited.
const (
	ReasonTime  = "time_limit"
	ReasonGone  = "gone"  // the agent was given up
	ReasonRests = "rests" // somebody lets the agent rest
)

// Ended closes a round.
type Ended struct {
	Round     int64
	Turns     int64 // that were taken
	Forfeited int64 // turns of agents that did not take all of theirs
	Over      bool  // no round follows by itself
}

// Stalled: no director gave a turn in time.
type Stalled struct {
	Round    int64         // the last one
	Since    protocol.Time // when the wait began
	Fallback string        // what comes now
}

// LastAgent implements protocol.Naming.
func (f *Began) LastAgent() uint32 { return last(f.Order) }

func (f *Granted) LastAgent() uint32 { return last(f.Agents) }

func (f *Forfeited) LastAgent() uint32 { return last(f.Agents) }

func last(list []uint32) uint32 {
	if len(list) == 0 {
		return 0
	}
	return slices.Max(list)
}

// Fact is one of this package's facts.
//
//sumtype:decl
type Fact interface {
	protocol.Fact
	fact()
}

func (*Began) FactKind() string     { return FactBegan }
func (*Granted) FactKind() string   { return FactGranted }
func (*Forfeited) FactKind() string { return FactForfeited }
func (*Ended) FactKind() string     { return FactEnded }
func (*Stalled) FactKind() string   { return FactStalled }

func (*Began) fact()     {}
func (*Granted) fact()   {}
func (*Forfeited) fact() {}
func (*Ended) fact()     {}
func (*Stalled) fact()   {}

// Facts are the kinds of this package.
func Facts() []protocol.FactType {
	return []protocol.FactType{
		protocol.ByCodec[Began](), protocol.ByCodec[Granted](), protocol.ByCodec[Forfeited](), protocol.ByCodec[Ended](), protocol.ByCodec[Stalled](),
	}
}

// until is the end of a time limit that begins at a time; 0 = there is none.
func until(from protocol.Time, limit time.Duration) protocol.Time {
	if limit == 0 {
		return 0
	}
	return from.Add(limit)
}
