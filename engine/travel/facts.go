package travel

import "tavernsim/protocol"

// Kinds of facts.
const (
	FactDeparted   = "agent.departed"
	FactReached    = "agent.reached"
	FactReturned   = "agent.returned"
	FactArrived    = "agent.arrived"
	FactTurnedAway = "agent.turned_away"
	FactPosted     = "parcel.posted"
	FactReceived   = "parcel.received"
	FactDelivered  = "parcel.delivered"
)

// Departed records that an agent left for another scene. Its ticket is To and Number.
type Departed struct {
	To      string // scene id
	Number  uint64
	Agent   uint32 // ordinal here
	Arrives protocol.Time
	Answer  protocol.Time // when this scene hears what became of it
	Closed  uint64        // tickets to the same scene that had an answer: all up to this number
	State   protocol.Raw  // as in a snapshot (engine/agent), without what was for it here
	Turns   uint64        // that it had, wherever
	Unread  int64         // events that had reached it since its last turn; the dead letter behind this fact counts them
	Tasks   int64         // open tasks, of it and for it: they stay behind
	ID      string        // of the request of a director, of the order or of the script's wave
	By      string        // the director, $order or $script
	Reason  string
}

// Reached records that an agent arrived where it went.
type Reached struct {
	To     string
	Number uint64
	Agent  uint32
}

// Returned records that an agent came back, because the other scene did not take it.
type Returned struct {
	To     string
	Number uint64
	Agent  uint32
	Error  string
	// Turns that its instance id had, wherever: its own are numbered on. Elsewhere are those
	// of them that it had in other scenes.
	Turns, Elsewhere uint64
	State            protocol.Raw
}

// Arrived records that an agent came from another scene.
type Arrived struct {
	From   string
	Number uint64
	Closed uint64 // as in Departed
	Agent  uint32 // ordinal here
	// Turns and Elsewhere are as in Returned.
	Turns, Elsewhere uint64
	State            protocol.Raw
}

// TurnedAway records that an agent from another scene was not taken.
type TurnedAway struct {
	From   string
	Number uint64
	Closed uint64
	Agent  string // instance id
	Error  string
}

// Posted records that the scene tells another one something. Its ticket is To and Number, as that of
// an agent.
type Posted struct {
	To      string // scene id
	Number  uint64
	Arrives protocol.Time
	Answer  protocol.Time
	Closed  uint64 // as in Departed
	Parcel  []Item
}

// Item is a fact that one scene tells another.
type Item struct {
	Kind string
	Data protocol.Raw
}

// Received records that the scene has what another one tells it.
type Received struct {
	From   string
	Number uint64
	Closed uint64
}

// Delivered records that the other scene has it, or why it does not.
type Delivered struct {
	To     string
	Number uint64
	Error  string // "" = it has it
}

// Times says when what left the scene arrives, and when the scene hears of it. sent = the fact opens a ticket.
func Times(f Fact) (arrives, answer protocol.Time, sent bool) {
	switch x := f.(type) {
	case *Departed:
		return x.Arrives, x.Answer, true
	case *Posted:
		return x.Arrives, x.Answer, true
	default:
		return 0, 0, false
	}
}

// Fact is one of this package.
//
//sumtype:decl
type Fact interface {
	protocol.Fact
	trip()
}

// LastAgent implements protocol.Naming.
func (f *Departed) LastAgent() uint32 { return f.Agent }

func (f *Reached) LastAgent() uint32 { return f.Agent }

func (f *Returned) LastAgent() uint32 { return f.Agent }

func (f *Arrived) LastAgent() uint32 { return f.Agent }

// FactKind implements protocol.Fact.
func (*Departed) FactKind() string { return FactDeparted }

func (*Reached) FactKind() string { return FactReached }

func (*Returned) FactKind() string { return FactReturned }

func (*Arrived) FactKind() string { return FactArrived }

func (*TurnedAway) FactKind() string { return FactTurnedAway }

func (*Posted) FactKind() string { return FactPosted }

func (*Received) FactKind() string { return FactReceived }

func (*Delivered) FactKind() string { return FactDelivered }

func (*Departed) trip()   {}
func (*Reached) trip()    {}
func (*Returned) trip()   {}
func (*Arrived) trip()    {}
func (*TurnedAway) trip() {}
func (*Posted) trip()     {}
func (*Received) trip()   {}
func (*Delivered) trip()  {}

// Facts are the kinds of this package.
func Facts() []protocol.FactType {
	return []protocol.FactType{
		protocol.ByCodec[Departed](), protocol.ByCodec[Reached](), protocol.ByCodec[Returned](), protocol.ByCodec[Arrived](), protocol.ByCodec[TurnedAway](),
		protocol.ByCodec[Posted](), protocol.ByCodec[Received](), protocol.ByCodec[Delivered](),
	}
}
