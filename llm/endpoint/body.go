package endpoint

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// Body writes the fields of a request, then others by name. A field of extra wins over
// one that is there.
func Body(fields any, more, extra map[string]any) ([]byte, error) {
	body, err := marshal(fields)
	if err != nil {
		return nil, err
	}
	if len(more) > 0 {
		rest, err := marshal(more)
		if err != nil {
			return nil, err
		}
		body[len(body)-1] = ','
		body = append(body, rest[1:]...)
	}
	if len(extra) == 0 {
		return body, nil
	}
	all := map[string]any{}
	raw := map[string]json.RawMessage{}
	if err := json.Unmarshal(body, &raw); err != nil {
		return nil, err
	}
	for name, v := range raw {
		all[name] = v
	}
	for name, v := range extra {
		all[name] = v
	}
	return marshal(all)
}

// marshal writes JSON with <, > and & as they are.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes()[:b.Len()-1], nil // without the end of the line
}

// Tokens is a count of tokens as servers give it: a number of any form. What is none is
// -1, which [Count] does not believe.
type Tokens int64

// UnmarshalJSON implements json.Unmarshaler.
func (t *Tokens) UnmarshalJSON(b []byte) error {
	text := strings.Trim(string(b), `"`)
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		f, ferr := strconv.ParseFloat(text, 64)
		if n = int64(f); ferr != nil || f < 0 || f > 1<<53 {
			n = -1
		}
	}
	if text != "null" {
		*t = Tokens(n)
	}
	return nil
}
