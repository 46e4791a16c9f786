package source

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/tailscale/hujson"
)

// json reads JSON with comments and trailing commas. The parser behind it
// recurses without a bound, builds its whole tree before a limit is seen, and
// wants a line break after a last comment: nesting and values are counted
// before, and the line break added.
func (p *parser) json(data []byte) *Node {
	data = append(bytes.Clone(data), '\n')
	if at, problem, suggestion := p.scanJSON(data); problem != "" {
		p.fault(newCursor(data).at(at), nil, problem, suggestion)
		return nil
	}
	if len(bytes.TrimSpace(data)) == 0 {
		p.fault(Pos{1, 1}, nil, "the file is empty", "")
		return nil
	}
	v, err := hujson.Parse(data)
	if err != nil {
		p.jsonSyntax(data, err)
		return nil
	}
	j := &jsonTree{parser: p, cursor: newCursor(data)}
	root := j.node(v, 0, nil)
	if p.failed {
		return nil
	}
	return root
}

// jsonSyntax takes the position out of the parser's text, where it counts bytes.
func (p *parser) jsonSyntax(data []byte, err error) {
	pos, message := Pos{1, 1}, err.Error()
	var line, column int
	if n, _ := fmt.Sscanf(message, "hujson: line %d, column %d:", &line, &column); n == 2 {
		pos = newCursor(data).at(lineStart(data, line) + column - 1)
		message = errors.Unwrap(err).Error()
	}
	suggestion := ""
	switch {
	case strings.Contains(message, "unexpected EOF"):
		message = "the file ends too early: " + strings.TrimSuffix(message, ": unexpected EOF")
		suggestion = "a closing bracket or quote is missing"
	case strings.Contains(message, "after object value"), strings.Contains(message, "after array value"):
		suggestion = "a comma is missing before this"
	case strings.Contains(message, "at start of object name"):
		suggestion = "keys are written in double quotes"
	case strings.Contains(message, `'\''`):
		suggestion = "text is written in double quotes"
	}
	p.fault(pos, nil, p.lim.quote("not JSON: "+message, "not JSON"), suggestion)
}

func lineStart(data []byte, line int) int {
	at := 0
	for ; line > 1; line-- {
		i := bytes.IndexByte(data[at:], '\n')
		if i < 0 {
			break
		}
		at += i + 1
	}
	return at
}

// scanJSON finds the first bracket or value beyond the limits, skipping comments.
// A key is no value, but counts until its colon: hence the one more.
func (p *parser) scanJSON(data []byte) (at int, problem, suggestion string) {
	depth, values := 0, 0
	for i := 0; i < len(data); i++ {
		switch c := data[i]; c {
		case '"':
			values++
			i = skipText(data, i)
		case '/':
			i = skipComment(data, i)
		case '{', '[':
			values++
			depth++
		case '}', ']':
			depth--
		case ':':
			values--
		case ',', ' ', '\t', '\r', '\n':
		default: // a number, true, false or null
			values++
			for i+1 < len(data) && strings.IndexByte("{}[]:,/\" \t\r\n", data[i+1]) < 0 {
				i++
			}
		}
		switch {
		case depth > p.lim.MaxDepth:
			return i, fmt.Sprintf("nested deeper than %d", p.lim.MaxDepth), ""
		case values > p.lim.MaxNodes+1:
			return i, fmt.Sprintf("the file has more than %d values", p.lim.MaxNodes), "split it"
		}
	}
	return 0, "", ""
}

func skipText(data []byte, i int) int {
	for i++; i < len(data) && data[i] != '"'; i++ {
		if data[i] == '\\' {
			i++
		}
	}
	return i
}

func skipComment(data []byte, i int) int {
	end := ""
	switch {
	case bytes.HasPrefix(data[i:], []byte("//")):
		end = "\n"
	case bytes.HasPrefix(data[i:], []byte("/*")):
		end = "*/"
	default:
		return i
	}
	n := bytes.Index(data[i+2:], []byte(end))
	if n < 0 {
		return len(data)
	}
	return i + 2 + n + len(end) - 1
}

type jsonTree struct {
	*parser
	cursor *cursor
}

func (j *jsonTree) node(v hujson.Value, depth int, path *trail) *Node {
	n := &Node{Pos: j.cursor.at(v.StartOffset)}
	if !j.count(n.Pos, depth, path) {
		return n
	}
	switch x := v.Value.(type) {
	case *hujson.Object:
		j.object(n, x, depth, path)
	case *hujson.Array:
		n.Kind = List
		n.elems = make([]*Node, len(x.Elements))
		for i, e := range x.Elements {
			n.elems[i] = j.node(e, depth+1, path.item(i))
		}
	case hujson.Literal:
		j.literal(n, x, path)
	}
	return n
}

func (j *jsonTree) object(n *Node, x *hujson.Object, depth int, path *trail) {
	n.Kind = Object
	n.keys = make([]Key, 0, len(x.Members))
	n.elems = make([]*Node, 0, len(x.Members))
	keys := keySet{j.parser, path, make(map[string]Pos, len(x.Members))}
	for _, m := range x.Members {
		k := Key{Name: m.Name.Value.(hujson.Literal).String(), Pos: j.cursor.at(m.Name.StartOffset)}
		e := j.node(m.Value, depth+1, path.key(k.Name))
		if keys.first(k) {
			n.keys, n.elems = append(n.keys, k), append(n.elems, e)
		}
	}
}

func (j *jsonTree) literal(n *Node, x hujson.Literal, path *trail) {
	n.Literal = x.String()
	switch x.Kind() {
	case 'n':
		n.Kind = Null
	case 't', 'f':
		n.Kind, n.scalar = Bool, x.Bool()
	case '"':
		n.Kind, n.scalar = Text, n.Literal
	case '0':
		if strings.ContainsAny(n.Literal, ".eE") {
			j.float(n, n.Literal, path)
		} else {
			j.integer(n, n.Literal, 10, path)
		}
	}
}
