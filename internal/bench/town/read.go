package town

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"

	"tavernsim/engine/schedule"
	"tavernsim/protocol"
)

// Bounds of a trace.
const (
	MaxAgents  = 10_000
	maxSteps   = 10_000
	maxTurns   = 50_000_000 // agents times steps
	maxCalls   = 20_000_000
	maxOfTurn  = 1000
	maxTokens  = 65_535
	maxSide    = 4096
	maxLine    = 1 << 20
	traceTitle = "simd-town 1"
)

type header struct {
	Format   string  `json:"format"`
	Agents   int     `json:"agents"`
	Steps    int     `json:"steps"`
	Width    int32   `json:"width"`
	Height   int32   `json:"height"`
	Radius   int32   `json:"radius"`
	Speed    int32   `json:"speed"`
	Base     float64 `json:"base_seconds"`
	PerToken float64 `json:"token_seconds"`
}

type line struct {
	Step  int       `json:"step"`
	Agent int       `json:"agent"`
	Place *[2]int32 `json:"place"`
	To    *[2]int32 `json:"to"`
	Calls []int     `json:"calls"`
}

// Read reads a trace, one JSON object a line: docs/formats/town.md.
func Read(r io.Reader, name string) (*Trace, error) {
	in := reader{name: name, lines: bufio.NewScanner(r)}
	in.lines.Buffer(make([]byte, 64<<10), maxLine)
	var h header
	switch ok, err := in.next(&h); {
	case err != nil:
		return nil, err
	case !ok:
		return nil, in.fault("there is no first line: want {\"format\": %q, …}", traceTitle)
	}
	if err := in.check(h); err != nil {
		return nil, err
	}
	t := newTrace(h.Agents, h.Steps)
	t.Name, t.Width, t.Height, t.Radius, t.Speed, t.Base, t.PerToken = name, h.Width, h.Height, h.Radius, h.Speed, h.Base, h.PerToken
	if err := in.places(t); err != nil {
		return nil, err
	}
	return t, in.turns(t)
}

type reader struct {
	name  string
	lines *bufio.Scanner
	n     int
}

func (r *reader) fault(format string, args ...any) error {
	return protocol.Errorf(protocol.KindInvalid, "%s:%d: "+format, append([]any{r.name, r.n}, args...)...)
}

// next reads a line into a value; empty lines do not count.
func (r *reader) next(v any) (bool, error) {
	for r.lines.Scan() {
		r.n++
		text := bytes.TrimSpace(r.lines.Bytes())
		if len(text) == 0 {
			continue
		}
		var wrong *json.UnmarshalTypeError
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		switch err := d.Decode(v); {
		case err == nil:
		case errors.As(err, &wrong):
			return false, r.fault("%s cannot be a %s", cmp.Or(wrong.Field, "the line"), wrong.Value)
		default:
			return false, r.fault("%w", err)
		}
		if d.More() {
			return false, r.fault("more than one object in a line")
		}
		return true, nil
	}
	if err := r.lines.Err(); err != nil {
		r.n++
		return false, r.fault("%w (a line has at most %d bytes)", err, maxLine)
	}
	return false, nil
}

func (r *reader) check(h header) error {
	switch {
	case h.Format != traceTitle:
		return r.fault("format is %q: want %q", h.Format, traceTitle)
	case h.Agents < 1 || h.Agents > MaxAgents || h.Steps < 1 || h.Steps > maxSteps || h.Agents*h.Steps > maxTurns:
		return r.fault("%d agents and %d steps: want 1 to %d and 1 to %d, and at most %d turns", h.Agents, h.Steps, MaxAgents, maxSteps, maxTurns)
	case h.Width < 1 || h.Height < 1 || max(h.Width, h.Height) > maxSide:
		return r.fault("a map of %d × %d cells: want 1 to %d each", h.Width, h.Height, maxSide)
	case h.Radius < 0 || h.Speed < 0 || max(h.Radius, h.Speed) > maxSide:
		return r.fault("radius %d and speed %d: want 0 to %d cells", h.Radius, h.Speed, maxSide)
	case !(h.Base >= 0 && h.Base <= 3600 && h.PerToken >= 0 && h.PerToken <= 3600):
		return r.fault("base_seconds %v and token_seconds %v: want 0 to 3600", h.Base, h.PerToken)
	}
	return nil
}

// places reads where the agents begin: the first lines, one for each.
func (r *reader) places(t *Trace) error {
	for a := range t.Agents {
		var l line
		ok, err := r.next(&l)
		if err != nil {
			return err
		}
		if !ok || l.Place == nil || l.Agent != a || l.To != nil || l.Calls != nil || l.Step != 0 {
			return r.fault("want the place where agent %d begins: {\"agent\": %d, \"place\": [x, y]}", a, a)
		}
		if err := r.onMap(t, *l.Place); err != nil {
			return err
		}
		t.places[a] = schedule.Cell{X: l.Place[0], Y: l.Place[1]}
	}
	return nil
}

func (r *reader) onMap(t *Trace, p [2]int32) error {
	if min(p[0], p[1]) < 0 || p[0] >= t.Width || p[1] >= t.Height {
		return r.fault("the cell %v is outside of the map of %d × %d", p, t.Width, t.Height)
	}
	return nil
}

// turns reads what agents do, in the order of steps and agents. Who has no line in a
// step rests.
func (r *reader) turns(t *Trace) error {
	copy(t.places[t.Agents:2*t.Agents], t.places[:t.Agents])
	step, agent := 0, -1
	for {
		var l line
		ok, err := r.next(&l)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		if l.Place != nil || l.Agent < 0 || l.Agent >= t.Agents || l.Step < 0 || l.Step >= t.Steps || l.Step < step || l.Step == step && l.Agent <= agent {
			return r.fault("agent %d at step %d: want turns in the order of steps, then agents, each once, below %d and %d", l.Agent, l.Step, t.Agents, t.Steps)
		}
		for ; step < l.Step; step++ {
			copy(t.places[(step+2)*t.Agents:(step+3)*t.Agents], t.places[(step+1)*t.Agents:])
		}
		agent = l.Agent
		if err := r.turn(t, l); err != nil {
			return err
		}
	}
	for ; step < t.Steps-1; step++ {
		copy(t.places[(step+2)*t.Agents:(step+3)*t.Agents], t.places[(step+1)*t.Agents:])
	}
	return nil
}

func (r *reader) turn(t *Trace, l line) error {
	if l.To != nil {
		to := schedule.Cell{X: l.To[0], Y: l.To[1]}
		if err := r.onMap(t, *l.To); err != nil {
			return err
		}
		if d := apart(t.Place(l.Step, l.Agent), to); d > t.Speed {
			return r.fault("agent %d moves %d cells in step %d: its speed is %d", l.Agent, d, l.Step, t.Speed)
		}
		t.places[(l.Step+1)*t.Agents+l.Agent] = to
	}
	if len(l.Calls) > maxOfTurn || len(t.tokens)+len(l.Calls) > maxCalls {
		return r.fault("agent %d makes %d calls in step %d: want at most %d, and %d in all", l.Agent, len(l.Calls), l.Step, maxOfTurn, maxCalls)
	}
	tokens := make([]uint16, len(l.Calls))
	for i, n := range l.Calls {
		if n < 0 || n > maxTokens {
			return r.fault("an answer of %d tokens: want 0 to %d", n, maxTokens)
		}
		tokens[i] = uint16(n)
	}
	t.put(l.Step, l.Agent, tokens)
	return nil
}
