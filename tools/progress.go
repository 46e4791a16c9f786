package tools

import (
	"context"
	"math"
	"strconv"
	"strings"

	"tavernsim/protocol"
	"tavernsim/tam/answer"
)

// Progress is how far a call is, in the words of what carries it out. It is for people who
// look on: it is in no fact, and nothing is decided by it.
type Progress struct {
	Done    float64 // so far; never less than before
	Total   float64 // in the end; 0 = nobody knows
	Message string  // "" = none
}

// maxProgress bounds the message of a progress, in bytes.
const maxProgress = 200

// Tame makes a progress one that can be shown; false = it says nothing.
func (p *Progress) Tame() bool {
	if math.IsNaN(p.Done) || math.IsInf(p.Done, 0) || p.Done < 0 {
		return false
	}
	if math.IsNaN(p.Total) || math.IsInf(p.Total, 0) || p.Total < 0 {
		p.Total = 0
	}
	p.Message = answer.Clean(strings.Join(strings.Fields(protocol.Short(p.Message, maxProgress)), " "))
	return true
}

// String is a progress for people: "40 % compiling", "12 compiling".
func (p Progress) String() string {
	text := strconv.FormatFloat(p.Done, 'g', 6, 64)
	if p.Total > 0 {
		text = strconv.Itoa(int(100*min(1, p.Done/p.Total))) + " %"
	}
	if p.Message != "" {
		text += " " + p.Message
	}
	return text
}

type progressKey struct{}

// WithProgress gives a context whose calls tell how far they are. tell is called on other
// goroutines, and returns soon.
func WithProgress(ctx context.Context, tell func(tool string, p Progress)) context.Context {
	return context.WithValue(ctx, progressKey{}, tell)
}

// ToProgress is who is told how far the calls of a context are; nil = nobody.
func ToProgress(ctx context.Context) func(tool string, p Progress) {
	tell, _ := ctx.Value(progressKey{}).(func(string, Progress))
	return tell
}
