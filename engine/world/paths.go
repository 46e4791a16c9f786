package world

import (
	"strings"

	"github.com/tinylib/msgp/msgp"

	"tavernsim/protocol"
)

// Bounds of what Paths remembers.
const (
	maxPaths     = 64
	maxKnownPath = 128 // bytes; longer ones are parsed each time
)

// Paths remembers paths by their text and by their encoded form, since models write the same ones
// again and again. It has one owner at a time; the zero value remembers none yet.
type Paths struct{ known, encoded map[string]Path }

// Parse is [ParsePath]; nil remembers nothing. Others have the same path: it must not be changed.
func (p *Paths) Parse(text string) (Path, error) {
	if p == nil || len(text) > maxKnownPath {
		return ParsePath(text)
	}
	if path, ok := p.known[text]; ok {
		return path, nil
	}
	text = strings.Clone(text) // it may be a part of a long answer
	path, err := ParsePath(text)
	if err != nil {
		return nil, err
	}
	remember(&p.known, text, path)
	return path, nil
}

// read is r.path; nil remembers nothing.
func (p *Paths) read(r *reader) Path {
	if p == nil || r.err != nil {
		return r.path()
	}
	rest, err := msgp.Skip(r.b)
	n := len(r.b) - len(rest)
	if err != nil || n > maxKnownPath {
		return r.path()
	}
	if path, ok := p.encoded[string(r.b[:n])]; ok {
		r.b = rest
		return path
	}
	text := string(r.b[:n])
	own := reader{b: protocol.Raw(text), texts: protocol.Texts(text)} // the path outlives the request
	path := own.path()
	if own.done("path") != nil {
		return r.path()
	}
	remember(&p.encoded, text, path)
	r.b = rest
	return path
}

func remember(known *map[string]Path, text string, path Path) {
	if len(*known) >= maxPaths || *known == nil {
		*known = map[string]Path{} // without room for all: each agent has one, and most know a few paths
	}
	(*known)[text] = path
}
