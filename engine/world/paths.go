package world

import "strings"

// Bounds of what Paths remembers.
const (
	maxPaths     = 64
	maxKnownPath = 128 // bytes; longer ones are parsed each time
)

// Paths remembers paths by their text, since models write the same ones again and again. It has one
// owner at a time; the zero value remembers none yet.
type Paths struct{ known map[string]Path }

// Parse is [ParsePath]. Others have the same path: it must not be changed.
func (p *Paths) Parse(text string) (Path, error) {
	if path, ok := p.known[text]; ok {
		return path, nil
	}
	if len(text) > maxKnownPath {
		return ParsePath(text)
	}
	text = strings.Clone(text) // it may be a part of a long answer
	path, err := ParsePath(text)
	if err != nil {
		return nil, err
	}
	if p.known == nil || len(p.known) >= maxPaths {
		p.known = make(map[string]Path, maxPaths)
	}
	p.known[text] = path
	return path, nil
}
