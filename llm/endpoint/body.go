package endpoint

import (
	"bytes"
	"encoding/json"
	"maps"
	"strconv"
	"strings"

	"tavernsim/protocol"
)

// Body writes the fields of a request, then others by name. A field of extra wins over
// one that is there.
func Body(fields any, more, extra map[string]any) ([]byte, error) {
	body, err := marshal(fields)
	if err != nil {
		return nil, err
	}
	if body, err = with(body, more); err != nil {
		return nil, err
	}
	for name := range extra {
		if bytes.Contains(body, []byte(strconv.Quote(name)+":")) { // perhaps only within a field
			return merged(body, extra)
		}
	}
	return with(body, extra)
}

// with adds fields that the body does not have.
func with(body []byte, fields map[string]any) ([]byte, error) {
	if len(fields) == 0 {
		return body, nil
	}
	rest, err := marshal(fields)
	if err != nil {
		return nil, err
	}
	body[len(body)-1] = ','
	return append(body, rest[1:]...), nil
}

// merged replaces fields of the body.
func merged(body []byte, extra map[string]any) ([]byte, error) {
	all := map[string]any{}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(body, &raw); err != nil {
		return nil, err
	}
	for name, v := range raw {
		all[name] = v
	}
	maps.Copy(all, extra)
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

// Arguments writes those of a call. Broken ones become a field, because servers that
// read them refuse what is no JSON object.
func Arguments(c *protocol.Call) (json.RawMessage, error) {
	switch {
	case c.Broken != "":
		return marshal(map[string]any{"arguments": c.Broken})
	case c.Params == nil:
		return json.RawMessage("{}"), nil
	}
	return marshal(c.Params)
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
