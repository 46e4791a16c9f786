package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// yaml reads one YAML document. The library's own decoding into values is not
// used: it turns dates into times, keys into numbers and 012 into ten.
func (p *parser) yaml(data []byte) (root *Node) {
	if at, many := crowded(data, p.lim.MaxNodes); many {
		p.fault(newCursor(data).at(at), nil, fmt.Sprintf("the file has more than %d places where a value may begin: , [ { : and -", p.lim.MaxNodes), "split it")
		return nil
	}
	doc, err := readYAML(data)
	switch {
	case errors.Is(err, io.EOF):
		p.fault(Pos{1, 1}, nil, "the file is empty", "")
		return nil
	case err != nil:
		p.yamlSyntax(err)
		return nil
	case len(doc.Content) != 1:
		p.fault(Pos{1, 1}, nil, "the file is empty", "")
		return nil
	}
	root = p.yamlNode(doc.Content[0], 0, nil)
	if p.failed {
		return nil
	}
	return root
}

// crowded finds the first place beyond a limit where a value may begin, so that a
// file of far too many is refused before the library has built a tree of them. In
// text such places count too; no text of a readable size has as many.
func crowded(data []byte, limit int) (at int, many bool) {
	places := 1
	for i, c := range data {
		switch c {
		case '[', '{', ',', ':':
			places++
		case '-':
			if i+1 < len(data) && data[i+1] > ' ' {
				continue
			}
			places++
		default:
			continue
		}
		if places > limit {
			return i, true
		}
	}
	return 0, false
}

// readYAML guards the library: it is no longer maintained, and a panic in it
// must be a fault of the file and not the end of the program.
func readYAML(data []byte) (doc *yaml.Node, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("yaml: the parser gave up: %v", r)
		}
	}()
	dec := yaml.NewDecoder(bytes.NewReader(data))
	doc = &yaml.Node{}
	if err := dec.Decode(doc); err != nil {
		return nil, err
	}
	var second yaml.Node
	if err := dec.Decode(&second); err == nil {
		return nil, fmt.Errorf("yaml: line %d: a second document begins; want one per file", second.Line)
	} else if !errors.Is(err, io.EOF) {
		return nil, err
	}
	return doc, nil
}

func (p *parser) yamlSyntax(err error) {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	pos := Pos{1, 1}
	if m := regexp.MustCompile(`^line (\d+): `).FindStringSubmatch(message); m != nil {
		pos.Line, _ = strconv.Atoi(m[1])
		message = message[len(m[0]):]
	}
	suggestion := ""
	if strings.Contains(message, "found character that cannot start any token") {
		suggestion = "indent with spaces, not tabs; quote text that begins with @, ` or %"
	}
	if strings.Contains(message, "mapping values are not allowed") {
		suggestion = "quote text that holds a colon and a space"
	}
	p.fault(pos, nil, p.lim.quote("not YAML: "+message, "not YAML"), suggestion)
}

func (p *parser) yamlNode(y *yaml.Node, depth int, path *trail) *Node {
	n := &Node{Pos: Pos{max(y.Line, 1), max(y.Column, 1)}}
	if !p.count(n.Pos, depth, path) {
		return n
	}
	switch y.Kind {
	case yaml.AliasNode:
		// The position is the alias's use, not the anchor: that is what the
		// writer of the path looks at.
		m := p.yamlNode(y.Alias, depth+1, path)
		m.Pos = n.Pos
		return m
	case yaml.SequenceNode:
		p.yamlTag(y, path, "!!seq")
		n.Kind = List
		n.elems = make([]*Node, len(y.Content))
		for i, e := range y.Content {
			n.elems[i] = p.yamlNode(e, depth+1, path.item(i))
		}
	case yaml.MappingNode:
		p.yamlTag(y, path, "!!map")
		p.yamlMap(n, y, depth, path)
	default:
		p.yamlScalar(n, y, path)
	}
	return n
}

// yamlTag refuses every tag. Older programs let those pass that say what a value would be without them, or
// ought to be, and all tags of keys.
func (p *parser) yamlTag(y *yaml.Node, path *trail, older ...string) {
	if y.Style&yaml.TaggedStyle == 0 {
		return
	}
	tag, fault := y.ShortTag(), p.fault
	if slices.Contains(older, tag) {
		fault = p.older
	}
	fault(Pos{y.Line, y.Column}, path, p.lim.quote("the tag "+clip(tag), "a tag")+" is not supported", "remove it")
}

func (p *parser) yamlMap(n *Node, y *yaml.Node, depth int, path *trail) {
	n.Kind = Object
	keys := keySet{p, path, make(map[string]Pos, len(y.Content)/2)}
	var merged []*Node
	for i := 0; i+1 < len(y.Content); i += 2 {
		ky, vy := y.Content[i], y.Content[i+1]
		if ky.Kind == yaml.AliasNode {
			ky = ky.Alias
		}
		pos := Pos{y.Content[i].Line, y.Content[i].Column}
		if ky.Kind == yaml.ScalarNode {
			p.yamlTag(ky, path, ky.ShortTag())
		}
		if ky.Kind != yaml.ScalarNode {
			p.fault(pos, path, "a key must be text", "")
			continue
		}
		if ky.ShortTag() == "!!merge" {
			merged = append(merged, p.mergeSources(vy, depth, path)...)
			continue
		}
		k := Key{Name: ky.Value, Pos: pos}
		e := p.yamlNode(vy, depth+1, path.key(k.Name))
		if keys.first(k) {
			n.keys, n.elems = append(n.keys, k), append(n.elems, e)
		}
	}
	for _, m := range merged {
		n.addMissing(m)
	}
}

// mergeSources reads the value of a merge key "<<": an object or a list of
// objects, the earlier of which wins.
func (p *parser) mergeSources(y *yaml.Node, depth int, path *trail) []*Node {
	n := p.yamlNode(y, depth+1, path.key("<<"))
	list := []*Node{n}
	if n.Kind == List {
		list = n.elems
	}
	for _, m := range list {
		if m.Kind != Object {
			p.fault(n.Pos, path.key("<<"), "a merge key wants an object or a list of objects, got "+m.Kind.String(), "")
			return nil
		}
	}
	return list
}

func (n *Node) addMissing(from *Node) {
	have := make(map[string]bool, len(n.keys))
	for _, k := range n.keys {
		have[k.Name] = true
	}
	for i, k := range from.keys {
		if !have[k.Name] {
			n.keys, n.elems = append(n.keys, k), append(n.elems, from.elems[i])
		}
	}
}

func (p *parser) yamlScalar(n *Node, y *yaml.Node, path *trail) {
	n.Literal = y.Value
	p.yamlTag(y, path, "!!str", "!!timestamp", "!!null", "!!bool", "!!int", "!!float", "!!merge")
	switch y.ShortTag() {
	case "!!null":
		n.Kind = Null
	case "!!bool":
		n.Kind, n.scalar = Bool, strings.EqualFold(y.Value, "true")
		if !strings.EqualFold(y.Value, "true") && !strings.EqualFold(y.Value, "false") {
			p.fault(n.Pos, path, p.lim.quote(strconv.Quote(clip(y.Value)), "this")+" is no boolean", "write true or false")
		}
	case "!!int", "!!float":
		p.yamlNumber(n, path)
	default: // also a lone <<, and what looks like a time
		n.Kind, n.scalar = Text, y.Value
		if y.Style == 0 && endless(y.Value) {
			p.older(n.Pos, path, "the number"+p.lim.quote(" "+clip(n.Literal), "")+" is too large for 64 bits", "quote it if it is text")
		}
	}
}

// endless tells a number that no float holds, which the library takes for a text.
func endless(text string) bool {
	f, _ := strconv.ParseFloat(text, 64)
	return math.IsInf(f, 0) && strings.Trim(text, "+-.0123456789eE") == ""
}

// yamlNumber reads numbers as JSON does, plus a leading plus sign, a bare
// leading or trailing point, and 0x, 0o, 0b. What other readers of YAML take
// for something else is refused.
func (p *parser) yamlNumber(n *Node, path *trail) {
	text := strings.TrimPrefix(n.Literal, "+")
	digits := strings.TrimPrefix(text, "-")
	sign := text[:len(text)-len(digits)]
	switch {
	case strings.Contains(text, "_"):
		p.fault(n.Pos, path, p.lim.quote(clip(text), "this")+" is a number to some readers of YAML and text to others",
			p.lim.quote("write "+strings.ReplaceAll(text, "_", "")+", or quote it", "quote it"))
	case len(digits) > 2 && digits[0] == '0' && strings.ContainsRune("xXoObB", rune(digits[1])):
		base := map[byte]int{'x': 16, 'o': 8, 'b': 2}[digits[1]|0x20]
		p.integer(n, sign+digits[2:], base, path)
	case len(digits) > 1 && digits[0] == '0' && strings.Trim(digits, "0123456789") == "":
		p.fault(n.Pos, path, p.lim.quote(clip(text), "this")+" is octal to some readers of YAML and decimal to others",
			p.lim.quote("write "+sign+strings.TrimLeft(digits[:len(digits)-1], "0")+digits[len(digits)-1:]+", or quote it", "quote it"))
	case digits != "" && strings.Trim(digits, "0123456789") == "":
		p.integer(n, text, 10, path)
	default:
		p.float(n, text, path)
	}
	if n.scalar == nil { // refused above: go on with something of the right type
		n.Kind, n.scalar = Integer, int64(0)
	}
}
