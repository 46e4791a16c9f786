package export

import (
	"cmp"
	"context"
	"io"
	"slices"
	"strings"

	"tavernsim/engine/bus"
	"tavernsim/engine/secret"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/view/factjson"
	"tavernsim/scenes/view/inspect"
)

// Options choose rows; empty fields choose all.
type Options struct {
	inspect.Span
	Kinds  []string // of facts, or types of events; a name may end in *
	Agents []string // whose facts, events or private states
	Paths  []string // of series; a pattern of a path; none = what lies at the top
	RunDir string   // of artifacts
}

// Written is what an export gave.
type Written struct {
	Table string
	Rows  int64
}

// Write writes the rows of a table that o chooses. It ends early when ctx does. Of
// a journal that is damaged anywhere it writes none.
func Write(ctx context.Context, s *inspect.Scene, table string, format Format, o Options, w io.Writer) (Written, error) {
	done := Written{Table: table}
	t, err := Find(table)
	if err != nil {
		return done, err
	}
	for _, id := range o.Agents {
		if err := s.Known(id); err != nil {
			return done, err
		}
	}
	if err := s.Check(ctx); err != nil {
		return done, err
	}
	out, err := format.rows(t, w)
	if err != nil {
		return done, err
	}
	e := &exporter{ctx: ctx, scene: s, options: o, rows: out}
	if err = e.table(table); err == nil && e.written == 0 {
		err = e.nothing(table)
	}
	if err == nil {
		err = out.close()
	}
	done.Rows = e.written
	return done, err
}

// exporter is one table on its way.
type exporter struct {
	ctx     context.Context
	scene   *inspect.Scene
	options Options
	rows    rows
	wave    persistence.Wave // of the last fact
	written int64
	tops    []string // of a series: what lay at the top, where nothing was found
}

func (e *exporter) table(name string) error {
	switch name {
	case "facts":
		return e.facts()
	case "events":
		return e.events()
	case "artifacts":
		return e.artifacts()
	case "world":
		return e.series(e.newWorldSeries)
	}
	return e.series(e.newAgentSeries)
}

// nothing says what there is instead of names that the run does not have.
func (e *exporter) nothing(table string) error {
	switch table {
	case "facts":
		return e.scene.KnownKinds(e.options.Kinds)
	case "events":
		return e.scene.KnownTypes(e.options.Kinds)
	case "artifacts":
		return nil
	}
	if len(e.options.Paths) == 0 {
		return nil
	}
	return protocol.Errorf(protocol.KindNotFound, "export: %s has nothing at %s; at its top it has %s", table, strings.Join(e.options.Paths, ", "), cmp.Or(strings.Join(e.tops, ", "), "nothing"))
}

func (e *exporter) row(cells ...Cell) error {
	e.written++
	return e.rows.write(cells)
}

// scan hands over facts with their waves.
func (e *exporter) scan(q persistence.Query, yield func(protocol.Record) error) error {
	return e.scene.Scan(q, func(r protocol.Record) error {
		if err := e.toWave(r.Seq); err != nil {
			return err
		}
		return yield(r)
	})
}

// toWave finds the wave of a fact; walks go forward.
func (e *exporter) toWave(seq uint64) error {
	if e.wave.Number > 0 && seq <= e.wave.Last {
		return nil
	}
	if err := e.ctx.Err(); err != nil {
		return protocol.Errorf(protocol.KindCancelled, "export: stopped after %d rows: %w", e.written, err)
	}
	w, err := e.scene.WaveOf(seq, e.wave.Number+1)
	e.wave = w
	return err
}

func (e *exporter) facts() error {
	q, err := e.scene.Query(e.options.Span, persistence.Query{Actor: only(e.options.Agents), Kinds: inspect.Exact(e.options.Kinds)})
	if err != nil {
		return err
	}
	return e.scan(q, func(r protocol.Record) error {
		if !inspect.MatchesAny(e.options.Kinds, r.Kind) || !among(e.options.Agents, r.Actor) {
			return nil
		}
		f, err := e.scene.Fact(r)
		if err != nil {
			return err
		}
		return e.row(int64(r.Seq), int64(e.wave.Number), r.Time, int64(r.Time), r.Actor, r.Kind, toJSON(factjson.Of(f)))
	})
}

func (e *exporter) events() error {
	q, err := e.scene.Query(e.options.Span, persistence.Query{Kinds: []string{bus.FactRouted, bus.FactRefused}})
	if err != nil {
		return err
	}
	joined := e.scene.JoinEvents()
	return e.scan(q, func(r protocol.Record) error {
		f, err := e.scene.Fact(r)
		if err == nil {
			f, err = joined.Whole(r, f)
		}
		if err != nil {
			return err
		}
		switch x := f.(type) {
		case *bus.Routed:
			return e.routed(r, x)
		case *bus.Refused:
			return e.refused(r, x)
		}
		return nil
	})
}

func (e *exporter) wants(typ, source string) bool {
	return inspect.MatchesAny(e.options.Kinds, typ) && among(e.options.Agents, source)
}

func (e *exporter) routed(r protocol.Record, x *bus.Routed) error {
	if !e.wants(x.Type, x.Source) {
		return nil
	}
	var expires Cell
	if x.Expires != 0 {
		expires = x.Expires
	}
	return e.row(int64(r.Seq), int64(e.wave.Number), r.Time, int64(r.Time), x.ID, x.Type, x.Source, part(x.Targets), x.Priority.String(),
		x.TraceID, int64(len(x.Chain)), part(x.Chain), expires, int64(x.Receivers.Len()), nil, nil, part(x.Marks), int64(x.FilterErrors), payload(x.Body), int64(x.Waiting()))
}

func (e *exporter) refused(r protocol.Record, x *bus.Refused) error {
	if !e.wants(x.Type, x.Source) {
		return nil
	}
	return e.row(int64(r.Seq), int64(e.wave.Number), r.Time, int64(r.Time), x.ID, x.Type, x.Source, part(x.Targets), x.Priority.String(),
		x.TraceID, int64(len(x.Chain)), part(x.Chain), nil, int64(0), string(x.Reason), secret.Text(x.Detail), json("[]"), int64(0), payload(x.Body), int64(0))
}

// only is the one name that the index can look for; "" when there are none or
// several.
func only(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return ""
}

func among(names []string, name string) bool { return len(names) == 0 || slices.Contains(names, name) }
