package inspect

import (
	"strconv"
	"strings"
	"time"

	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/history"
)

// Span bounds what is looked at, both ends included. An end is a scene time in
// RFC 3339, an offset from the start (90s, 1h), wave:N or seq:N; "" = open.
type Span struct {
	Since, Until string
	Waves        string // A..B, or one wave
	From         uint64 // first seq, for who looks again at a run that grows: to find nothing is no fault then
}

// Query puts a span of the run into a query.
func (s *Scene) Query(span Span, q persistence.Query) (persistence.Query, error) {
	if span.Waves != "" {
		from, to, err := waveRange(span.Waves)
		if err != nil {
			return q, err
		}
		span.Since, span.Until = from, to
	}
	if err := s.bound(span.Since, &q, false); err != nil {
		return q, err
	}
	if err := s.bound(span.Until, &q, true); err != nil {
		return q, err
	}
	q.From = max(q.From, span.From)
	if q.Until != 0 && q.Since >= q.Until || q.To != 0 && q.From > q.To {
		return q, protocol.Errorf(protocol.KindInvalid, "the stretch from %s to %s ends before it begins", span.Since, span.Until)
	}
	return q, nil
}

// waveRange reads A..B, A.., ..B or A.
func waveRange(text string) (since, until string, err error) {
	from, to, ranged := strings.Cut(text, "..")
	if !ranged {
		to = from
	}
	for _, part := range []string{from, to} {
		if _, bad := strconv.ParseUint(part, 10, 64); bad != nil && (part != "" || !ranged) {
			return "", "", protocol.Errorf(protocol.KindInvalid, "waves %q: want two numbers A..B, one of which may be missing, or one number", text)
		}
	}
	if from != "" {
		since = "wave:" + from
	}
	if to != "" {
		until = "wave:" + to
	}
	return since, until, nil
}

// moments says how an end of a span is written.
const moments = "want a time of the scene (2026-01-01T08:00:00Z), an offset from its start (90s), wave:N or seq:N"

// bound puts one end of a span into a query. What lies before or behind the
// journal is no fault of an end: it bounds nothing, or lets nothing through.
func (s *Scene) bound(text string, q *persistence.Query, end bool) error {
	if text == "" {
		return nil
	}
	if name, number, ok := strings.Cut(text, ":"); ok && (name == "wave" || name == "seq") {
		n, err := strconv.ParseUint(number, 10, 64)
		if err != nil {
			return protocol.Errorf(protocol.KindInvalid, "%q: %q is not a whole number; %s", text, number, moments)
		}
		return s.boundNumber(name, n, q, end)
	}
	at, err := s.time(text)
	switch {
	case err != nil:
		return err
	case end:
		q.Until = at + 1
	default:
		q.Since = at
	}
	return nil
}

func (s *Scene) boundNumber(name string, n uint64, q *persistence.Query, end bool) error {
	if name == "wave" {
		last := s.journal.Durable()
		if n > last.Number {
			return protocol.Errorf(protocol.KindNotFound, "wave:%d: the last wave of scene %s is %d", n, s.ID, last.Number)
		}
		w, err := s.journal.Wave(n)
		if err != nil {
			return err
		}
		n = w.First
		if end {
			n = w.Last
		}
	}
	switch {
	case !end:
		q.From = n
	case n == 0: // no fact comes so early: To would bound nothing
		q.To, q.Until = 1, 1
	default:
		q.To = n
	}
	return nil
}

// time reads a scene time or an offset.
func (s *Scene) time(text string) (protocol.Time, error) {
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return protocol.TimeOf(t), nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, protocol.Errorf(protocol.KindInvalid, "%q is not a moment: %s", text, moments)
	}
	begun, err := s.begun()
	return begun.Add(d), err
}

// Cut is the last wave at or before a moment (see [Span]); "" = the end.
func (s *Scene) Cut(text string) (persistence.Wave, error) {
	if text == "" {
		return s.journal.Durable(), nil
	}
	return history.Find(s.journal, text)
}

// Begun is when the scene began; tables show times as offsets from it.
func (s *Scene) Begun() (time.Time, error) {
	t, err := s.begun()
	return t.Std(), err
}
