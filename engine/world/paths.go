package world

import (
	"strings"

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

// read is [ReadPath]; nil remembers nothing.
func (p *Paths) read(r *protocol.Reader) Path {
	if p == nil {
		return ReadPath(r)
	}
	raw := r.Raw()
	if path, ok := p.encoded[string(raw)]; ok || raw == nil {
		return path
	}
	own := protocol.NewValues(raw, "path")
	own.Share() // the path outlives the request
	path := ReadPath(own)
	if err := own.End(); err != nil {
		r.Fail(err)
	} else if len(raw) <= maxKnownPath {
		remember(&p.encoded, string(raw), path)
	}
	return path
}

func remember(known *map[string]Path, text string, path Path) {
	if len(*known) >= maxPaths || *known == nil {
		*known = map[string]Path{} // without room for all: each agent has one, and most know a few paths
	}
	(*known)[text] = path
}
