package space

import (
	"github.com/tinylib/msgp/msgp"

	"tavernsim/protocol"
)

// Kinds of this machine's facts.
const (
	FactSetOut  = "space.set_out"
	FactMoved   = "space.moved"
	FactStopped = "space.stopped"
	FactPut     = "space.put"
	FactRefused = "space.refused"
)

// SetOut records that an agent walks from now on, or another way than before.
type SetOut struct {
	ID    string // of the request
	Agent uint32
	By    string // who asked
	To    string // as it was asked for
	X, Y  int64  // where the path ends; without a grid the number of the place, and 0
	Path  string // a digit for each step: 0 is north, clockwise; without a grid that of the exit
	Due   protocol.Time
}

// Moved records the steps of a moment of the agents From to Through. Of these, who walks,
// whose step was due and who is not among the steps waited.
type Moved struct {
	At            protocol.Time
	From, Through uint32
	Steps         protocol.Raw // a flat list: agent, x, y of each, by agent
	Crossed       []Crossed    // who left a place, or entered one
}

// Crossed is a step over the border of a place.
type Crossed struct {
	Agent    uint32
	Instance string
	Left     string // place; "" = none
	Entered  string
}

// Stopped records the end of a walk.
type Stopped struct {
	Agent    uint32
	Instance string
	To       string // as it was asked for
	Reason   string
	X, Y     int64  // -1 = there is no grid
	Place    string // "" = none
}

// Why walks end.
const (
	ReasonArrived = "arrived"
	ReasonAsked   = "asked"   // somebody ended it
	ReasonBlocked = "blocked" // the next cell was full for too long
	ReasonFull    = "full"    // the place was full for too long
)

// Put records that somebody who directs the scene put an agent somewhere.
type Put struct {
	ID      string
	Agent   uint32
	By      string
	Reason  string
	To      string
	X, Y    int64
	Gone    bool      // it is nowhere from now on
	Crossed []Crossed // at most one
}

// Refused records a request that cannot be.
type Refused struct {
	ID      string
	Agent   uint32
	By      string // who asked
	To      string
	Kind    protocol.ErrorKind
	Message string
}

// Types of the events about places. Their source is the agent.
const (
	TypeEntered = "space.entered"
	TypeLeft    = "space.left"
)

// RefuseAll is what a scene without space says to requests.
func RefuseAll(requests []Request) (facts []protocol.Fact) {
	for i := range requests {
		q := &requests[i]
		facts = append(facts, &Refused{ID: q.ID, By: q.By, To: q.To, Kind: protocol.KindInvalid, Message: "the scene has no space"})
	}
	return facts
}

// Fact is one of this package's facts.
//
//sumtype:decl
type Fact interface {
	protocol.Fact
	fact()
}

func (*SetOut) FactKind() string  { return FactSetOut }
func (*Moved) FactKind() string   { return FactMoved }
func (*Stopped) FactKind() string { return FactStopped }
func (*Put) FactKind() string     { return FactPut }
func (*Refused) FactKind() string { return FactRefused }

func (*SetOut) fact()  {}
func (*Moved) fact()   {}
func (*Stopped) fact() {}
func (*Put) fact()     {}
func (*Refused) fact() {}

// LastAgent implements protocol.Naming.
func (f *SetOut) LastAgent() uint32 { return f.Agent }

func (f *Moved) LastAgent() uint32 { return f.Through }

func (f *Stopped) LastAgent() uint32 { return f.Agent }

func (f *Put) LastAgent() uint32 { return f.Agent }

func (f *Refused) LastAgent() uint32 { return f.Agent }

// Answers implements protocol.Answering: the agent hears how its walk ended.
func (f *Stopped) Answers() (protocol.Answer, bool) {
	return protocol.Answer{To: f.Instance, Kind: "walk_ended", Wakes: true}, f.Reason != ReasonAsked
}

// Told implements protocol.Answering.
func (f *Stopped) Told() map[string]any {
	v := map[string]any{"to": f.To, "reason": f.Reason}
	if f.X >= 0 {
		v["cell"] = []any{f.X, f.Y}
	}
	if f.Place != "" {
		v["place"] = f.Place
	}
	return v
}

// Answers implements protocol.Answering.
func (f *Refused) Answers() (protocol.Answer, bool) {
	return protocol.Answer{To: f.By, Kind: "move_refused", Wakes: true}, true
}

func (f *Refused) Told() map[string]any {
	return map[string]any{"to": f.To, "kind": string(f.Kind), "message": f.Message}
}

// Facts are the kinds of this package.
func Facts() []protocol.FactType {
	return []protocol.FactType{
		protocol.ByCodec[SetOut](), protocol.ByCodec[Moved](), protocol.ByCodec[Stopped](), protocol.ByCodec[Put](), protocol.ByCodec[Refused](),
	}
}

// stepFields is what a step takes in Moved.Steps.
const stepFields = 3

// maxSteps bounds the steps of one fact.
const maxSteps = 1 << 16

// Count is how many steps there are.
func (f *Moved) Count() int {
	n, _, _ := msgp.ReadArrayHeaderBytes(f.Steps) // what cannot be read is not folded either
	return int(n) / stepFields
}

// All yields the steps: who stands where now.
func (f *Moved) All(yield func(o uint32, x, y int) error) error {
	n, b, err := msgp.ReadArrayHeaderBytes(f.Steps)
	if err != nil || n%stepFields != 0 {
		return protocol.Errorf(protocol.KindCorrupt, "%s: steps: %d numbers", FactMoved, n)
	}
	for range n / stepFields {
		var v [stepFields]uint32
		for i := range v {
			if v[i], b, err = msgp.ReadUint32Bytes(b); err != nil {
				return protocol.Errorf(protocol.KindCorrupt, "%s: steps: %w", FactMoved, err)
			}
		}
		if err := yield(v[0], int(v[1]), int(v[2])); err != nil {
			return err
		}
	}
	return nil
}

// steps makes the list of Moved.
type steps struct {
	b []byte
	n uint32
}

func (s *steps) add(o uint32, x, y int) {
	s.b = msgp.AppendUint32(msgp.AppendUint32(msgp.AppendUint32(s.b, o), uint32(x)), uint32(y))
	s.n++
}

func (s *steps) raw() protocol.Raw {
	return append(msgp.AppendArrayHeader(make([]byte, 0, len(s.b)+5), s.n*stepFields), s.b...)
}
