package endpoint

import (
	"bytes"
	"encoding/json"
	"maps"
	"strconv"
	"strings"

	"tavernsim/internal/wirejson"
	"tavernsim/protocol"
)

// Extend adds fields by name to the body of a request. They win over those that it has.
func Extend(body []byte, fields map[string]any) ([]byte, error) {
	if len(fields) == 0 {
		return body, nil
	}
	for name := range fields {
		if bytes.Contains(body, []byte(strconv.Quote(name)+":")) { // perhaps only within a field
			return merged(body, fields)
		}
	}
	rest, err := wirejson.AppendAny(nil, fields)
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
	return wirejson.AppendAny(nil, all)
}

// Arguments writes those of a call. Broken ones become a field, because servers that
// read them refuse what is no JSON object.
func Arguments(c *protocol.Call) (json.RawMessage, error) {
	switch {
	case c.Broken != "":
		return wirejson.AppendAny(nil, map[string]any{"arguments": c.Broken})
	case c.Params == nil:
		return json.RawMessage("{}"), nil
	}
	return wirejson.AppendAny(nil, c.Params)
}

// Tokens is a count of tokens as servers give it: a number of any form. What is none is
// -1, which [Count] does not believe.
type Tokens int64

// Read reads a count; null leaves it as it is.
func (t *Tokens) Read(r *wirejson.Reader) {
	text := strings.Trim(string(r.Raw()), `"`)
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
}
