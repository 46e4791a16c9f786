package inspect

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"tavernsim/engine/secret"
	"tavernsim/engine/statecmd"
	"tavernsim/engine/world"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/history"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/view/factjson"
)

// Bounds of the view "world".
const (
	lastWriters = 5
	maxMatches  = 1000
)

// WorldView is the view "world": the document, or a part, at a moment.
type WorldView struct {
	Wave    uint64   `json:"wave"` // its state is that of the wave's end
	Time    string   `json:"time"`
	Version int64    `json:"version"`
	Path    string   `json:"path,omitempty"`
	Found   bool     `json:"found"`        // something is at the path
	Value   any      `json:"value"`        // with a pattern: an object of paths
	More    bool     `json:"more"`         // a pattern matched more than are shown
	Writers []Change `json:"last_changes"` // of the path, newest first
}

// WorldDiff is the view "world --diff": what differs between two moments.
type WorldDiff struct {
	From        WorldPoint   `json:"from"`
	To          WorldPoint   `json:"to"`
	Path        string       `json:"path,omitempty"`
	Differences []Difference `json:"differences"`
}

// WorldPoint is a moment of the world.
type WorldPoint struct {
	Wave    uint64 `json:"wave"`
	Time    string `json:"time"`
	Version int64  `json:"version"`
}

// Difference is one place that differs. Of what is not there the value is null
// and Had or Has is false.
type Difference struct {
	Path   string `json:"path"`
	Before any    `json:"before"`
	After  any    `json:"after"`
	Had    bool   `json:"before_exists"`
	Has    bool   `json:"after_exists"`
	// Who made its value another one last; of a world between two moments.
	By     string `json:"by,omitempty"`
	Seq    uint64 `json:"seq,omitempty"`
	Time   string `json:"time,omitempty"`
	Op     string `json:"op,omitempty"`
	Reason string `json:"reason,omitempty"`
	Count  int    `json:"changes,omitempty"` // how often it changed
}

// World shows the document at a moment: a time, offset, wave:N, seq:N or
// version:N; path may be a pattern with * and **. With newest the end is made
// of the newest note, and the last changes are those of the newest facts.
func (s *Scene) World(path, at string, newest bool) (*WorldView, error) {
	p, err := world.ParsePattern(path)
	if path != "" && err != nil {
		return nil, err
	}
	doc, wave, err := s.documentNow(at, newest)
	if err != nil {
		return nil, err
	}
	since := uint64(0)
	if newest && wave.Last > Newest {
		since = wave.Last - Newest + 1
	}
	v := &WorldView{Wave: wave.Number, Time: wave.MaxTime.String(), Version: doc.Version(), Path: path, Value: json.RawMessage("null")}
	s.look(doc, world.Path(p), v)
	if v.Writers, err = s.writers(world.Path(p), since, wave.Last); err != nil {
		return nil, err
	}
	if path != "" && !v.Found {
		return v, s.noPath(doc, path)
	}
	return v, nil
}

// look puts what is at a path, or at the places of a pattern, into the view.
func (s *Scene) look(doc *world.Document, p world.Path, v *WorldView) {
	if wild := slices.ContainsFunc(p, func(seg world.Segment) bool { return seg.Kind == world.AnyOne || seg.Kind == world.AnyDeep }); !wild {
		got, found := doc.Get(p)
		v.Value, v.Found = factjson.At(p.String(), factjson.JSON(got)), found
		return
	}
	matches, more := doc.Query(world.Pattern(p), maxMatches)
	o := factjson.Object{}
	for _, m := range matches {
		o = append(o, factjson.Member{Name: m.Path.String(), Value: factjson.At(m.Path.String(), factjson.JSON(m.Value))})
	}
	v.Value, v.Found, v.More = o, len(matches) > 0, more
}

// noPath names the neighbours of a path that is not there.
func (s *Scene) noPath(doc *world.Document, path string) error {
	above := path
	for {
		i := strings.LastIndexByte(above, '.')
		if i < 0 {
			above = ""
			break
		}
		above = above[:i]
		if p, err := world.ParsePath(above); err == nil {
			if _, found := doc.Get(p); found {
				break
			}
		}
	}
	pattern := "*"
	if above != "" {
		pattern = above + ".*"
	}
	q, err := world.ParsePattern(pattern)
	if err != nil {
		return err
	}
	found, _ := doc.Query(q, maxMatches)
	names := []string{}
	for _, m := range found {
		names = append(names, m.Path.String())
	}
	return unknown("path", path, "near it are", slices.Values(names))
}

// document is the world at a moment, and the wave that it is of. Of a version it
// is the last wave at which the world had it.
func (s *Scene) document(at string) (*world.Document, persistence.Wave, error) {
	if number, ok := strings.CutPrefix(at, "version:"); ok {
		v, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return nil, persistence.Wave{}, protocol.Errorf(protocol.KindInvalid, "%q: %q is not a whole number", at, number)
		}
		return s.documentOf(v)
	}
	wave, err := s.Cut(at)
	if err != nil {
		return nil, wave, err
	}
	state, err := s.fold(wave.Number, machines.ActorWorld)
	if err != nil {
		return nil, wave, err
	}
	return state.World(), wave, nil
}

// documentNow is document; with newest the end is made of the newest note that has the world,
// if one has, and the commits after it.
func (s *Scene) documentNow(text string, newest bool) (doc *world.Document, end persistence.Wave, err error) {
	var note *machines.Note
	var after uint64
	if end = s.journal.Durable(); newest && (text == "" || text == "end") {
		if note, after, err = s.noted(end.Last, func(n *machines.Note) bool { return len(n.World) > 0 }); err != nil {
			return nil, end, err
		}
	}
	if note == nil {
		return s.document(text)
	}
	if doc, err = note.Document(); err != nil || after >= end.Last {
		return doc, end, err
	}
	err = s.commits(persistence.Query{From: after + 1}, func(_ protocol.Record, c *world.Committed) (err error) {
		doc, err = world.Apply(doc, c)
		return err
	})
	return doc, end, err
}

// documentOf is the world at a version: the run folded up to there.
func (s *Scene) documentOf(version int64) (*world.Document, persistence.Wave, error) {
	begin := s.journal.Begin()
	state, err := s.fold(begin.Number, machines.ActorWorld)
	if err != nil {
		return nil, begin, err
	}
	doc, seq := state.World(), begin.Last
	if version < doc.Version() {
		return nil, begin, protocol.Errorf(protocol.KindNotFound, "version:%d: the first version of the world that is kept is %d", version, doc.Version())
	}
	made, _ := s.made() // for the fold above, too
	kinds, apply := history.Part(made, state, machines.ActorWorld)
	err = s.Scan(persistence.Query{From: begin.Last + 1, Kinds: kinds}, func(r protocol.Record) error {
		if err := apply(r); err != nil || state.World().Version() > version {
			return orStop(err)
		}
		if state.World() != doc {
			doc, seq = state.World(), r.Seq
		}
		return nil
	})
	if err == nil && doc.Version() < version {
		err = protocol.Errorf(protocol.KindNotFound, "version:%d: the last version of the world is %d", version, doc.Version())
	}
	if err != nil || seq == begin.Last {
		return doc, begin, err
	}
	w := s.waves()
	_, err = w.of(seq)
	return doc, w.at, err
}

func orStop(err error) error {
	if err == nil {
		return ErrStop
	}
	return err
}

// writers lists the last changes at, above or below a path from a fact to another, newest
// first.
func (s *Scene) writers(p world.Path, since, through uint64) ([]Change, error) {
	type written struct {
		record protocol.Record
		change *world.Change
	}
	last := ring[written]{n: lastWriters}
	err := s.commits(persistence.Query{From: since, To: max(through, 1)}, func(r protocol.Record, c *world.Committed) error {
		for i := range c.Changes {
			if Touches(p, c.Changes[i].Path) {
				last.add(written{r, &c.Changes[i]})
			}
		}
		return nil
	})
	list, waves := []Change{}, s.waves()
	for _, x := range slices.Backward(last.all()) {
		wave, lost := waves.of(x.record.Seq)
		err = errors.Join(err, lost)
		list = append(list, worldChange(x.record, wave, x.change))
	}
	return list, err
}

// commits hands over what became of the world, version by version: by requests
// and by state commands.
func (s *Scene) commits(q persistence.Query, yield func(protocol.Record, *world.Committed) error) error {
	q.Kinds = []string{world.FactCommitted, statecmd.FactCommitted}
	return s.facts(q, func(r protocol.Record, fact protocol.Fact) error {
		if r.Actor != machines.ActorWorld {
			return nil // the commands of agents on their own state
		}
		for _, c := range commitsOf(fact) {
			if err := yield(r, c); err != nil {
				return err
			}
		}
		return nil
	})
}

// commitsOf are the versions of the world that a fact of the world made.
func commitsOf(f protocol.Fact) (list []*world.Committed) {
	switch x := f.(type) {
	case *world.Committed:
		return []*world.Committed{x}
	case *statecmd.Committed:
		for _, p := range x.Parts {
			if p.After != p.Before {
				list = append(list, &world.Committed{Time: x.Time, Before: p.Before, After: p.After, Changes: signed(x, p.Changes)})
			}
		}
	}
	return list
}

// signed says whose changes those of a batch are.
func signed(f *statecmd.Committed, changes []world.Change) []world.Change {
	list := slices.Clone(changes)
	for i := range list {
		list[i].By = cmp.Or(list[i].By, f.By)
		list[i].Request = cmp.Or(list[i].Request, f.BatchName())
	}
	return list
}

// Touches reports whether a change at a path can be seen at a pattern: one
// leads to the other.
func Touches(pattern, path world.Path) bool {
	for i := range min(len(pattern), len(path)) {
		switch pattern[i].Kind {
		case world.AnyDeep:
			return true
		case world.AnyOne:
			continue
		}
		if pattern[i].Kind != path[i].Kind || pattern[i].Key != path[i].Key || pattern[i].Kind == world.Index && pattern[i].Pos != path[i].Pos {
			return false
		}
	}
	return true
}

// Diff compares the world at two moments and says who changed what differs.
func (s *Scene) Diff(path, from, to string) (*WorldDiff, error) {
	p, err := world.ParsePattern(path)
	if path != "" && err != nil {
		return nil, err
	}
	a, first, err := s.document(from)
	if err != nil {
		return nil, err
	}
	b, last, err := s.document(to)
	if err != nil {
		return nil, err
	}
	begun, err := s.begun()
	if err != nil {
		return nil, err
	}
	out := &WorldDiff{From: point(a, first, begun), To: point(b, last, begun), Path: path, Differences: []Difference{}}
	var places []world.Path
	for _, d := range world.Diff(a, b) {
		if Touches(world.Path(p), d.Path) {
			out.Differences = append(out.Differences, differenceOf(d))
			places = append(places, d.Path)
		}
	}
	early, after, through := a, first.Last, last.Last
	if after > through {
		early, after, through = b, through, after
	}
	return out, s.blame(early, out.Differences, places, after, through)
}

// point is a moment of the world; the beginning, wave 0, has no time of its own.
func point(doc *world.Document, w persistence.Wave, begun protocol.Time) WorldPoint {
	return WorldPoint{Wave: w.Number, Time: max(w.MaxTime, begun).String(), Version: doc.Version()}
}

// maxDifferences bounds a list of places of the world, or of a private state,
// that differ; what goes beyond is counted.
const maxDifferences = 200

// Differences lists the places at which two documents differ, and counts those
// beyond the bound.
func Differences(a, b *world.Document) ([]Difference, int) {
	list := []Difference{}
	all := world.Diff(a, b)
	for _, d := range all[:min(len(all), maxDifferences)] {
		list = append(list, differenceOf(d))
	}
	return list, len(all) - len(list)
}

func differenceOf(d world.Difference) Difference {
	out := Difference{Path: d.Path.String(), Had: d.BeforePresent, Has: d.AfterPresent}
	if d.BeforePresent {
		out.Before = factjson.At(out.Path, factjson.JSON(d.Before))
	}
	if d.AfterPresent {
		out.After = factjson.At(out.Path, factjson.JSON(d.After))
	}
	return out
}

// blame finds who changed the places last. It carries the commits between the
// two moments out again on doc, and looks at the places that a change leads to:
// only where the value became another, somebody changed it.
func (s *Scene) blame(doc *world.Document, diffs []Difference, places []world.Path, after, through uint64) error {
	if len(diffs) == 0 || through <= after {
		return nil
	}
	tree := &placeNode{}
	for i, p := range places {
		tree.add(p, i)
	}
	return s.commits(persistence.Query{From: after + 1, To: through}, func(r protocol.Record, c *world.Committed) (err error) {
		before := doc
		if doc, err = world.Apply(doc, c); err != nil {
			return err
		}
		seen := map[int]bool{}
		for i := range c.Changes {
			ch := &c.Changes[i]
			tree.touched(ch.Path, func(at int) {
				d := &diffs[at]
				if !seen[at] && sameAt(before, doc, places[at]) {
					return
				}
				if !seen[at] {
					seen[at] = true
					d.Count++
				}
				d.By, d.Seq, d.Time, d.Op, d.Reason = ch.By, r.Seq, r.Time.String(), string(ch.Op), secret.Text(ch.Reason)
			})
		}
		return nil
	})
}

// sameAt reports whether two documents hold the same at a path.
func sameAt(a, b *world.Document, p world.Path) bool {
	x, inA := a.Get(p)
	y, inB := b.Get(p)
	return inA == inB && (!inA || bytes.Equal(world.AppendJSON(nil, x), world.AppendJSON(nil, y)))
}

// placeNode is a tree of paths.
type placeNode struct {
	here []int // of the list: paths that end here
	down map[string]*placeNode
}

func (n *placeNode) add(p world.Path, at int) {
	for i := range p {
		name := p[i : i+1].String()
		if n.down == nil {
			n.down = map[string]*placeNode{}
		}
		if n.down[name] == nil {
			n.down[name] = &placeNode{}
		}
		n = n.down[name]
	}
	n.here = append(n.here, at)
}

// touched yields the places on the way to a path, at it and below it.
func (n *placeNode) touched(p world.Path, yield func(int)) {
	for i := range p {
		n.each(yield)
		if n = n.down[p[i:i+1].String()]; n == nil {
			return
		}
	}
	n.all(yield)
}

func (n *placeNode) each(yield func(int)) {
	for _, at := range n.here {
		yield(at)
	}
}

func (n *placeNode) all(yield func(int)) {
	n.each(yield)
	for _, name := range protocol.SortedKeys(n.down) {
		n.down[name].all(yield)
	}
}
