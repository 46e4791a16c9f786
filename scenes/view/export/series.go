package export

import (
	"bytes"
	"reflect"
	"slices"
	"strconv"

	"tavernsim/engine/world"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/view/factjson"
)

// series follows values over the waves of a scene: it writes those of the first
// wave and then each that is not what it was.
type series interface {
	// look writes what is new at the end of a wave.
	look(st *machines.State, wave uint64, at protocol.Time) error
}

// maxMatches bounds what one pattern may name in one document.
const maxMatches = 100_000

func (e *exporter) series(begin func([]world.Pattern) (series, error)) error {
	paths, err := e.patterns()
	if err != nil {
		return err
	}
	from, to, err := e.cuts()
	if err != nil {
		return err
	}
	s, err := begin(paths)
	if err != nil {
		return err
	}
	state, err := e.scene.Fold(from.Number)
	if err != nil {
		return err
	}
	at := state.Agenda.Now
	if from.Number == 0 {
		begun, err := e.scene.Begun()
		if err != nil {
			return err
		}
		at = protocol.TimeOf(begun)
	}
	if err := s.look(state, from.Number, at); err != nil || from.Number >= to.Number {
		return err
	}
	return e.scan(persistence.Query{From: from.Last + 1, To: to.Last}, func(r protocol.Record) error {
		if err := state.Apply(r); err != nil || r.Seq != e.wave.Last {
			return err
		}
		return s.look(state, e.wave.Number, state.Agenda.Now)
	})
}

// patterns are the paths that are followed.
func (e *exporter) patterns() (list []world.Pattern, err error) {
	texts := e.options.Paths
	if len(texts) == 0 {
		texts = []string{"*"}
	}
	for _, text := range texts {
		p, err := world.ParsePattern(text)
		if err != nil {
			return nil, protocol.Errorf(protocol.KindOf(err), "export: path %q: %w", text, err)
		}
		list = append(list, p)
	}
	return list, nil
}

// cuts are the first and the last wave of a series: those that were over at its
// ends.
func (e *exporter) cuts() (from, to persistence.Wave, err error) {
	span := e.options.Span
	if span.Waves != "" {
		return from, to, protocol.Errorf(protocol.KindInvalid, "export: a series has --since and --until, as wave:N")
	}
	from = e.scene.Journal().Begin()
	if span.Since != "" {
		from, err = e.scene.Cut(span.Since)
	}
	if err == nil {
		to, err = e.scene.Cut(span.Until)
	}
	return from, to, err
}

// values are the last values of the paths of one document.
type values struct {
	*exporter
	paths []world.Pattern
	last  map[string]json
}

// changed hands over every path whose value is another than at the last look,
// in byte order; gone ones with nil.
func (v *values) changed(doc *world.Document, yield func(path string, value json) error) error {
	now := make(map[string]json, len(v.last))
	for _, p := range v.paths {
		found, more := doc.Query(p, maxMatches)
		if more {
			return protocol.Errorf(protocol.KindLimit, "export: path %s names more than %d values: name fewer", p, maxMatches)
		}
		for _, m := range found {
			now[m.Path.String()] = toJSON(factjson.At(m.Path.String(), factjson.JSON(m.Value)))
		}
	}
	var names []string
	for name := range now {
		if before, known := v.last[name]; !known || !bytes.Equal(before, now[name]) {
			names = append(names, name)
		}
	}
	for name := range v.last {
		if _, there := now[name]; !there {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if v.last = now; len(now) == 0 {
		v.top(doc)
	}
	for _, name := range names {
		if err := yield(name, now[name]); err != nil {
			return err
		}
	}
	return nil
}

// maxTops bounds the names that tell what there is.
const maxTops = 20

// top keeps what lies at the top of a document, for nothing.
func (v *values) top(doc *world.Document) {
	p, err := world.ParsePattern("*")
	if err != nil || v.written > 0 || len(v.tops) > 0 {
		return
	}
	found, _ := doc.Query(p, maxTops)
	for _, m := range found {
		v.tops = append(v.tops, m.Path.String())
	}
}

// cells are the columns of a value: exists, value, number.
func cells(value json) (exists, text, number Cell) {
	if value == nil {
		return false, nil, nil
	}
	if n, err := strconv.ParseFloat(string(value), 64); err == nil {
		number = n
	}
	return true, value, number
}

type worldSeries struct {
	*exporter
	values values
	doc    *world.Document // at the last look
}

func (e *exporter) newWorldSeries(paths []world.Pattern) (series, error) {
	return &worldSeries{exporter: e, values: values{exporter: e, paths: paths}}, nil
}

func (s *worldSeries) look(st *machines.State, wave uint64, at protocol.Time) error {
	if st.World() == s.doc {
		return nil
	}
	s.doc = st.World()
	return s.values.changed(st.World(), func(path string, value json) error {
		exists, text, number := cells(value)
		return s.row(int64(wave), at, int64(at), st.World().Version(), path, exists, text, number)
	})
}

type agentSeries struct {
	*exporter
	paths  []world.Pattern
	agents []followed
}

type followed struct {
	ordinal uint32
	values  values
	private map[string]any // at the last look; a change makes another map
}

func (e *exporter) newAgentSeries(paths []world.Pattern) (series, error) {
	return &agentSeries{exporter: e, paths: paths}, nil
}

func (s *agentSeries) look(st *machines.State, wave uint64, at protocol.Time) error {
	if s.agents == nil {
		s.begin(st)
	}
	for i := range s.agents {
		if err := s.lookAt(&s.agents[i], st, wave, at); err != nil {
			return err
		}
	}
	return nil
}

// begin takes the agents that were chosen, in the order of the scene.
func (s *agentSeries) begin(st *machines.State) {
	for o := range uint32(st.Size()) {
		if among(s.options.Agents, st.Name(o)) {
			s.agents = append(s.agents, followed{ordinal: o, values: values{exporter: s.exporter, paths: s.paths}})
		}
	}
}

func (s *agentSeries) lookAt(f *followed, st *machines.State, wave uint64, at protocol.Time) error {
	private := st.Agents[f.ordinal].State.Private
	if f.values.last != nil && same(f.private, private) {
		return nil
	}
	f.private = private
	doc, err := world.FromValue(private, 1)
	if err != nil {
		return err
	}
	return f.values.changed(doc, func(path string, value json) error {
		exists, text, number := cells(value)
		return s.row(int64(wave), at, int64(at), st.Name(f.ordinal), path, exists, text, number)
	})
}

// same reports whether two maps are one.
func same(a, b map[string]any) bool {
	return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
}
