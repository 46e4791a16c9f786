package prompt

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"tavernsim/protocol"
)

// Budget is the room of a prompt, in tokens.
type Budget struct {
	Context int // of the model
	Output  int // kept free for its answer
	Fixed   int // of the request beyond the sections: tools, the conversation, the messages' marks
	Most    int // of the prompt, if it is less than what the rest gives; 0 = nothing more
}

// Room is what the prompt may have: the context without the answer and a twentieth,
// because tokenizers differ from the table.
func (b Budget) Room() int {
	room := b.Context - b.Output - b.Context/20
	if b.Most > 0 {
		room = min(room, b.Most)
	}
	return room
}

// Reasons for which units are dropped.
const (
	ReasonUnits  = "units"  // the section has its most units
	ReasonMax    = "max"    // the section has its most tokens
	ReasonBudget = "budget" // the prompt has
)

// Kept is the fate of a unit.
type Kept struct {
	Section string
	Unit    string
	Tokens  int
	Dropped string // the reason; "" = it is in the prompt
}

// Prompt is an assembled prompt.
type Prompt struct {
	System string // stable
	User   string
	Tokens int // of the whole request
	Room   int
	Trace  []Kept
	Left   int // units dropped
}

// leftOut is kept free for the line that says what was left out.
const leftOut = 64

// Assemble makes a prompt of sections, which are in the order of [Sections].
func Assemble(sections []Section, b Budget) (*Prompt, error) {
	a := &assembly{room: b.Room(), total: b.Fixed}
	for i := range sections {
		a.add(&sections[i])
	}
	for i := range a.parts {
		if err := a.bound(&a.parts[i]); err != nil {
			return nil, err
		}
	}
	if a.total > a.room {
		a.reserve()
		a.fit()
	}
	if a.total > a.room {
		return nil, a.tooLong(b)
	}
	return a.prompt(), nil
}

// assembly is a prompt on its way.
type assembly struct {
	parts    []part
	total    int
	room     int
	reserved bool // total has the line that says what was left out
}

// part is a section with the sizes of its units.
type part struct {
	*Section
	rule   Rule
	head   int // tokens of its line
	tokens int // of what is kept, with the head
	kept   int
	units  []unit
}

type unit struct {
	tokens  int
	dropped string
}

func (a *assembly) add(s *Section) {
	if len(s.Units) == 0 {
		return
	}
	p := part{Section: s, rule: s.Rule, kept: len(s.Units), units: make([]unit, len(s.Units))}
	if s.Fixed || p.rule.Drop == "" {
		p.rule.Drop = DropNever
	}
	if s.Head != "" {
		p.head = Tokens("\n\n## " + s.Head + "\n")
	} else {
		p.head = 1
	}
	p.tokens = p.head
	for i := range s.Units {
		n := Tokens(s.Units[i].Text) + 1 // its line end
		p.units[i].tokens = n
		p.tokens += n
	}
	a.total += p.tokens
	a.parts = append(a.parts, p)
}

// bound drops what is beyond the section's own bounds. A history that is full loses half,
// not what is too much of it: the next entry would push out another.
func (a *assembly) bound(p *part) error {
	most := p.rule.Units
	if p.rule.Drop == DropHalf {
		most = max(most-1, 1)
	}
	for p.rule.Units > 0 && p.kept > most && a.drop(p, ReasonUnits) { //nolint:revive // the call does the work
	}
	for p.rule.Max > 0 && p.tokens > p.rule.Max {
		if !a.drop(p, ReasonMax) {
			return protocol.Errorf(protocol.KindLimit, "the prompt's section %s has %d tokens, at most %d (sections.%s.max), and nothing more of it may be dropped", p.Name, p.tokens, p.rule.Max, p.Name)
		}
	}
	return nil
}

// fit drops units until the prompt fits.
func (a *assembly) fit() {
	for _, name := range dropOrder() {
		i := slices.IndexFunc(a.parts, func(p part) bool { return p.Name == name })
		if i < 0 {
			continue
		}
		for p := &a.parts[i]; a.total > a.room && a.drop(p, ReasonBudget); {
		}
	}
}

// drop drops the next unit or units of a section; false = it may lose no more.
func (a *assembly) drop(p *part, reason string) bool {
	from, to := p.next()
	if from == to {
		return false
	}
	lost := 0
	for i := from; i < to; i++ {
		if p.units[i].dropped == "" {
			lost += p.units[i].tokens
		}
	}
	if reason == ReasonBudget && p.tokens-lost < p.rule.Min {
		return false
	}
	for i := from; i < to; i++ {
		if p.units[i].dropped == "" {
			p.units[i].dropped = reason
			p.kept--
		}
	}
	if p.kept == 0 {
		lost += p.head
	}
	p.tokens -= lost
	a.total -= lost
	a.reserve()
	return true
}

// reserve keeps room for the line that says what was left out.
func (a *assembly) reserve() {
	if !a.reserved {
		a.reserved = true
		a.total += leftOut
	}
}

// next finds the units that go next.
func (p *part) next() (from, to int) {
	first := slices.IndexFunc(p.units, func(u unit) bool { return u.dropped == "" })
	if first < 0 {
		return 0, 0
	}
	switch p.rule.Drop {
	case DropOldest:
		return first, first + 1
	case DropHalf:
		return first, p.half(first)
	case DropLowest:
		low := -1
		for i := range p.units {
			if p.units[i].dropped == "" && p.Units[i].Rank < Protected && (low < 0 || p.Units[i].Rank <= p.Units[low].Rank) {
				low = i
			}
		}
		if low >= 0 {
			return low, low + 1
		}
	case DropNever:
	}
	return 0, 0
}

// half is where the rest of a history begins when about half of it goes. A list that
// loses its oldest entry in every turn would give another place in every turn; so it is
// the entry of the older half before which the clock passed the roundest moment: the
// highest bit in which its second differs from the second of the entry before. This entry
// stays the first until it leaves the older half.
func (p *part) half(first int) int {
	n := len(p.units) - first
	if n == 1 {
		return first + 1
	}
	at, roundest := first+(n+1)/2, -1
	for i := first + 1; i <= first+(n+1)/2; i++ {
		if r := bits.Len64(uint64(p.Units[i].Moment ^ p.Units[i-1].Moment)); r >= roundest {
			at, roundest = i, r
		}
	}
	return at
}

func (a *assembly) tooLong(b Budget) error {
	var sizes []string
	for i := range a.parts {
		if p := &a.parts[i]; p.kept > 0 {
			sizes = append(sizes, fmt.Sprintf("%s %d", p.Name, p.tokens))
		}
	}
	return protocol.Errorf(protocol.KindLimit, "the prompt has %d tokens and %d fit (context %d, output %d); what may not be dropped: %s, tools and conversation %d",
		a.total, a.room, b.Context, b.Output, strings.Join(sizes, ", "), b.Fixed)
}

// prompt writes what is kept.
func (a *assembly) prompt() *Prompt {
	out := &Prompt{Tokens: a.total, Room: a.room}
	var system, user []byte
	for i := range a.parts {
		p := &a.parts[i]
		to := &user
		if p.System {
			to = &system
		}
		if p.Name == "instruction" {
			user = append(user, a.line()...)
		}
		*to = p.write(*to)
		for k := range p.units {
			out.Trace = append(out.Trace, Kept{p.Name, p.Units[k].ID, p.units[k].tokens, p.units[k].dropped})
			if p.units[k].dropped != "" {
				out.Left++
			}
		}
	}
	out.System, out.User = string(system), string(user)
	return out
}

func (p *part) write(b []byte) []byte {
	if p.kept == 0 {
		return b
	}
	if len(b) > 0 {
		b = append(b, "\n\n"...)
	}
	if p.Head != "" {
		b = append(append(append(b, "## "...), p.Head...), '\n')
	}
	for i := range p.units {
		if p.units[i].dropped == "" {
			b = append(append(b, p.Units[i].Text...), '\n')
		}
	}
	return b[:len(b)-1]
}

// line says how much was left out; it stands before the instruction.
func (a *assembly) line() string {
	var list []string
	for i := range a.parts {
		if p := &a.parts[i]; p.kept < len(p.units) {
			list = append(list, fmt.Sprintf("%d of %d %s", len(p.units)-p.kept, len(p.units), p.Name))
		}
	}
	if list == nil {
		return ""
	}
	return "\n\n(Left out for want of room: " + strings.Join(list, ", ") + ".)"
}
