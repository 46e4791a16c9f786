package export

import (
	stdjson "encoding/json"
	"slices"
	"strconv"
	"strings"

	"tavernsim/protocol"
	"tavernsim/scenes/view/factjson"
)

// toJSON writes what an factjson.Object holds, the members of objects in byte
// order of their names. It reorders them in place.
func toJSON(v any) json { return appendJSON(make([]byte, 0, 128), v) }

func appendJSON(b json, v any) json {
	switch x := v.(type) {
	case nil:
		return append(b, "null"...)
	case factjson.Object:
		return appendObject(b, x)
	case []any:
		return appendList(b, x)
	case stdjson.RawMessage:
		return append(b, x...) // in order already
	case string:
		return appendString(b, x)
	case bool:
		return strconv.AppendBool(b, x)
	case int64:
		return strconv.AppendInt(b, x, 10)
	case uint64:
		return strconv.AppendUint(b, x, 10)
	}
	text, err := stdjson.Marshal(v)
	if err != nil {
		return append(b, "null"...) // a number that JSON does not have
	}
	return append(b, text...)
}

func appendObject(b json, o factjson.Object) json {
	slices.SortFunc(o, func(a, b factjson.Member) int { return strings.Compare(a.Name, b.Name) })
	b = append(b, '{')
	for i := range o {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, o[i].Name), ':')
		b = appendJSON(b, o[i].Value)
	}
	return append(b, '}')
}

func appendList(b json, list []any) json {
	b = append(b, '[')
	for i, v := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendJSON(b, v)
	}
	return append(b, ']')
}

// part is a part of a fact as JSON.
func part(v any) json { return toJSON(factjson.Encoded(v)) }

// payload is an encoded value; empty when there is none.
func payload(raw protocol.Raw) Cell {
	if len(raw) == 0 {
		return nil
	}
	return toJSON(factjson.Value(raw))
}
