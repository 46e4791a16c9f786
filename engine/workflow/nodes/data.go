package nodes

import (
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"tavernsim/engine/workflow"
	"tavernsim/internal/lenient"
	"tavernsim/protocol"
)

func parseJSON(s *workflow.Setup) workflow.Body {
	in := s.In(workflow.In{Name: "text", Type: workflow.String, Required: true})
	expect := s.OneOf("expect", "any", "object", "array")
	want := map[string]workflow.Type{"any": workflow.Wildcard, "object": workflow.Object, "array": workflow.Array}[expect]
	value := s.Out("value", want)
	warnings := s.Out("warnings", workflow.Array)
	return workflow.BodyFunc(func(x *workflow.Exec) error {
		r, err := readJSON(x.Text(in))
		if err != nil {
			return err
		}
		if want != workflow.Wildcard && workflow.TypeOf(r.Value) != want {
			return protocol.Errorf(protocol.KindInvalid, "the text holds %s; want %s", workflow.TypeOf(r.Value), want)
		}
		x.Set(value, r.Value)
		x.Set(warnings, protocol.ListOf(r.Warnings()))
		return nil
	})
}

// maxJSON bounds the text of a model in which JSON is looked for.
const maxJSON = 1 << 20

func readJSON(text string) (lenient.Text, error) {
	return lenient.Read(text, lenient.Options{Plain: true, Bytes: maxJSON})
}

// step is one part of a path: a name, or a number that also fits lists.
type step struct {
	name  string
	index int
	num   bool
}

// readPath reads "a.b[0].c", "a.0.c", ["x.y"] and "" for the whole.
func readPath(s string) ([]step, error) {
	var steps []step
	rest := s
	for rest != "" {
		var part string
		switch {
		case strings.HasPrefix(rest, `["`):
			end := strings.Index(rest, `"]`)
			if end < 0 {
				return nil, protocol.Errorf(protocol.KindInvalid, `path %q: [" without "]`, s)
			}
			steps = append(steps, step{name: rest[2:end]})
			rest = strings.TrimPrefix(rest[end+2:], ".")
			continue
		case rest[0] == '[':
			end := strings.IndexByte(rest, ']')
			if end < 0 {
				return nil, protocol.Errorf(protocol.KindInvalid, "path %q: [ without ]", s)
			}
			part, rest = rest[1:end], strings.TrimPrefix(rest[end+1:], ".")
		default:
			end := strings.IndexAny(rest, ".[")
			if end < 0 {
				end = len(rest)
			}
			part, rest = rest[:end], rest[end:]
			if dot, ok := strings.CutPrefix(rest, "."); ok {
				if rest = dot; rest == "" {
					return nil, protocol.Errorf(protocol.KindInvalid, "path %q: ends in a dot", s)
				}
			}
		}
		if part == "" {
			return nil, protocol.Errorf(protocol.KindInvalid, "path %q: an empty part", s)
		}
		n, err := strconv.Atoi(part)
		steps = append(steps, step{name: part, index: n, num: err == nil})
	}
	return steps, nil
}

// follow walks a path; negative numbers count from the end of a list.
func follow(v any, path []step) (any, bool) {
	for _, p := range path {
		switch c := v.(type) {
		case map[string]any:
			e, ok := c[p.name]
			if !ok {
				return nil, false
			}
			v = e
		case []any:
			i := p.index
			if i < 0 {
				i += len(c)
			}
			if !p.num || i < 0 || i >= len(c) {
				return nil, false
			}
			v = c[i]
		default:
			return nil, false
		}
	}
	return v, true
}

func get(s *workflow.Setup) workflow.Body {
	from := s.In(workflow.In{Name: "from", Required: true})
	dynamic := -1
	if s.Takes("path") {
		dynamic = s.In(workflow.In{Name: "path", Type: workflow.String, Required: true})
	}
	typ := outType(s, workflow.ConvertibleAny)
	value, found := s.Out("value", typ), s.Out("found", workflow.Boolean)
	onMissing := s.OneOf("onMissing", "fail", "skip", "null")
	fallback := s.Value("default")
	text := s.Text("path", "")
	path, err := readPath(text)
	if err != nil {
		s.Faultf("path", "", "%v", err)
	}
	return workflow.BodyFunc(func(x *workflow.Exec) error {
		text, path := text, path
		if dynamic >= 0 {
			var err error
			text = x.Text(dynamic)
			if path, err = readPath(text); err != nil {
				return err
			}
		}
		v, ok := follow(x.In(from), path)
		x.Set(found, ok)
		switch {
		case ok:
		case fallback != nil:
			v = fallback
		case onMissing == "skip":
			return nil
		case onMissing == "fail":
			return protocol.Errorf(protocol.KindNotFound, "there is nothing at %q", text)
		}
		return setTyped(x, typ, value, v, false)
	})
}

func random(s *workflow.Setup) workflow.Body {
	mode := s.OneOf("mode", "integer", "float", "chance", "pick", "shuffle")
	switch mode {
	case "pick", "shuffle":
		return randomOfList(s, mode)
	case "chance":
		return randomChance(s)
	}
	low := s.In(workflow.In{Name: "min", Type: workflow.Float, Default: 0.0})
	high := s.In(workflow.In{Name: "max", Type: workflow.Float, Default: 1.0})
	typ := workflow.Integer
	if mode == "float" {
		typ = workflow.Float
	}
	out := s.Out("value", typ)
	return workflow.BodyFunc(func(x *workflow.Exec) error {
		a, _ := protocol.Number(x.In(low))
		b, _ := protocol.Number(x.In(high))
		if b < a {
			return protocol.Errorf(protocol.KindInvalid, "max %v is below min %v", b, a)
		}
		if math.IsInf(b-a, 0) {
			return protocol.Errorf(protocol.KindInvalid, "max %v is too far from min %v", b, a)
		}
		d := x.Draw()
		if mode == "float" {
			x.Set(out, a+(b-a)*d.Float64())
			return nil
		}
		const far = 1 << 53
		if a < -far || b > far {
			return protocol.Errorf(protocol.KindInvalid, "bounds beyond 2^53")
		}
		from, to := ceil(a), floor(b)
		if to < from {
			return protocol.Errorf(protocol.KindInvalid, "no whole number from %v to %v", a, b)
		}
		x.Set(out, from+int64(scale(d.Uint64(), uint64(to-from)+1)))
		return nil
	})
}

// scale maps a number of 64 bits to one below n.
func scale(u, n uint64) uint64 {
	hi, _ := bits.Mul64(u, n)
	return hi
}

func floor(f float64) int64 {
	i := int64(f)
	if float64(i) > f {
		i--
	}
	return i
}

func ceil(f float64) int64 { return -floor(-f) }

func randomChance(s *workflow.Setup) workflow.Body {
	p := s.In(workflow.In{Name: "probability", Type: workflow.Float, Default: 0.5})
	out := s.Out("value", workflow.Boolean)
	return workflow.BodyFunc(func(x *workflow.Exec) error {
		chance, _ := protocol.Number(x.In(p))
		d := x.Draw()
		x.Set(out, d.Float64() < chance)
		return nil
	})
}

func randomOfList(s *workflow.Setup, mode string) workflow.Body {
	in := s.In(workflow.In{Name: "list", Type: workflow.Array, Required: true})
	typ := workflow.Wildcard
	if mode == "shuffle" {
		typ = workflow.Array
	}
	out := s.Out("value", typ)
	return workflow.BodyFunc(func(x *workflow.Exec) error {
		list, d := x.List(in), x.Draw()
		if mode == "pick" {
			if len(list) == 0 {
				return protocol.Errorf(protocol.KindInvalid, "nothing to pick from: the list is empty")
			}
			x.Share(out, list[d.IntN(len(list))])
			return nil
		}
		mixed := slices.Clone(list)
		for i := len(mixed) - 1; i > 0; i-- {
			j := d.IntN(i + 1)
			mixed[i], mixed[j] = mixed[j], mixed[i]
		}
		x.SetOf(out, mixed, protocol.ValueBytes*len(mixed), x.Size(in))
		return nil
	})
}
