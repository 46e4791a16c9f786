package source

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tavernsim/protocol"
)

// Fault is one thing that is wrong with a file, and what to do about it.
type Fault struct {
	File         string
	Line, Column int    // from 1; 0 = the file as a whole
	Path         string // within the file: agent_instances[0].profile_id
	Message      string
	Suggestion   string // "" = none
}

// String reads "file:line:column: path: message (suggestion)".
func (f Fault) String() string {
	var b strings.Builder
	b.WriteString(f.File)
	if f.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", f.Line, f.Column)
	}
	b.WriteString(": ")
	if f.Path != "" {
		b.WriteString(f.Path + ": ")
	}
	b.WriteString(f.Message)
	if f.Suggestion != "" {
		b.WriteString(" (" + f.Suggestion + ")")
	}
	return b.String()
}

func (f Fault) compare(g Fault) int {
	return cmp.Or(
		strings.Compare(f.File, g.File),
		cmp.Compare(f.Line, g.Line),
		cmp.Compare(f.Column, g.Column),
		strings.Compare(f.Path, g.Path),
		strings.Compare(f.Message, g.Message),
	)
}

// Bounds of a report: beyond MaxHeld faults are only counted, and List shows
// the first MaxShown of the held ones.
const (
	MaxShown = 200
	MaxHeld  = 10_000
)

// Report collects faults. The zero Report is empty and ready; the one who made
// it owns it.
type Report struct {
	// Strict gets the faults that older programs let pass, and whoever reads goes on as if
	// there were none; nil = this report gets them.
	Strict *Report

	held  []Fault
	total int
}

// Add notes a fault.
func (r *Report) Add(f Fault) {
	r.total++
	if len(r.held) < MaxHeld {
		r.held = append(r.held, f)
	}
}

// At notes a fault at a node of a document.
func (r *Report) At(doc *Document, pos Pos, path, message, suggestion string) {
	r.Add(Fault{File: doc.File, Line: pos.Line, Column: pos.Column, Path: path, Message: message, Suggestion: suggestion})
}

// Older notes a fault that older programs let pass.
func (r *Report) Older(doc *Document, pos Pos, path, message, suggestion string) {
	cmp.Or(r.Strict, r).At(doc, pos, path, message, suggestion)
}

// Total counts everything that was added, repetitions included.
func (r *Report) Total() int { return r.total }

// Since lists what was added after the total was n, as far as it is held.
func (r *Report) Since(n int) []Fault { return r.held[min(n, len(r.held)):] }

// List gives the faults sorted by file, line and column, without repetitions,
// the first MaxShown of them.
func (r *Report) List() []Fault {
	list := slices.Clone(r.held)
	slices.SortStableFunc(list, Fault.compare)
	list = slices.CompactFunc(list, func(a, b Fault) bool { return a.compare(b) == 0 })
	return list[:min(len(list), MaxShown)]
}

// Err is nil without faults, else an *Error over all of them.
func (r *Report) Err() error {
	if r.total == 0 {
		return nil
	}
	list := r.List()
	total := r.total
	if total <= MaxHeld && len(list) < MaxShown {
		total = len(list) // repetitions were dropped
	}
	return &Error{Faults: list, Total: total}
}

// Error is the error of somebody who was given bad files.
type Error struct {
	Faults   []Fault // sorted, at most MaxShown
	Total    int     // of all faults, shown or not
	Warnings []Fault // legal but probably not meant, sorted
}

func (e *Error) Error() string {
	var b strings.Builder
	for i, f := range e.Faults {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(f.String())
	}
	if more := e.Total - len(e.Faults); more > 0 {
		fmt.Fprintf(&b, "\nand %d more", more)
	}
	return b.String()
}

// Unwrap gives the error its kind.
func (e *Error) Unwrap() error {
	return protocol.Errorf(protocol.KindInvalid, "project: %d faults", e.Total)
}

// Bounds of the work of one suggestion.
const (
	maxCandidates = 10_000
	maxWord       = 1 << 10 // bytes; nothing is near a longer one
)

// Suggest finds the candidate that word was probably meant to be and returns
// `did you mean "x"?`, or "" when nothing is near.
func Suggest(word string, candidates []string) string {
	if best := nearest(word, candidates); best != "" {
		return fmt.Sprintf("did you mean %q?", best)
	}
	return ""
}

func nearest(word string, candidates []string) string {
	if len(word) > maxWord {
		return ""
	}
	squashed := squash(word)
	best, bestDistance := "", max(1, len([]rune(word))/3)+1
	for _, c := range candidates[:min(len(candidates), maxCandidates)] {
		d := 0
		if squash(c) != squashed {
			d = protocol.EditDistance(word, c, bestDistance+1)
		}
		if d < bestDistance || d == bestDistance && best != "" && c < best {
			best, bestDistance = c, d
		}
	}
	return best
}

// squash makes spellings of one name equal: instanceId, instance-id, instance_id.
func squash(s string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "", ".", "").Replace(s))
}
