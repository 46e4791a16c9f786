package sound

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tavernsim/internal/wirejson"
	"tavernsim/protocol"
)

// NotKnown stands in the place of content that nobody can read.
const NotKnown = "[content of a kind that is not known]"

// field is one of an object, with its value as it came.
type field struct {
	name  string
	value []byte
}

// fieldsOf are those of an object of JSON.
func fieldsOf(object []byte) (list []field, err error) {
	err = wirejson.Read(object, func(r *wirejson.Reader) {
		r.Object(func(name []byte) { list = append(list, field{string(name), r.Raw()}) })
	})
	return list, err
}

// objectOf is the object that has fields.
func objectOf(list []field) []byte {
	b := []byte{'{'}
	for _, f := range list {
		b = append(wirejson.AppendText(wirejson.Comma(b), f.name), ':')
		b = append(b, f.value...)
	}
	return append(b, '}')
}

// readable is a message with the result of a call as the library can read it: it refuses a whole answer where it does not
// know the kind of one piece, and numbers of a value lose what a float64 does not hold. So the value is a text of JSON,
// which ValueOf reads. why says that a field is not what the protocol wants.
func readable(message, result []byte) (readable []byte, why error) {
	list, err := fieldsOf(result)
	if err != nil {
		return message, nil
	}
	changed := false
	for i, f := range list {
		switch f.name {
		case "content":
			pieces, other, err := readableContent(f.value)
			if err != nil {
				return nil, err
			}
			if other {
				list[i].value, changed = pieces, true
			}
		case "structuredContent":
			if !bytes.Equal(f.value, []byte("null")) {
				list[i].value, changed = wirejson.AppendText(nil, string(f.value)), true
			}
		case "isError":
			if v := string(f.value); v != "true" && v != "false" && v != "null" {
				return nil, errors.New("isError is not what the protocol wants")
			}
		case "_meta", "resultType", "requestState", "inputRequests":
			if !reads(f.name, f.value) {
				return nil, fmt.Errorf("%s is not what the protocol wants", f.name)
			}
		}
	}
	if !changed {
		return message, nil
	}
	whole, err := fieldsOf(message)
	if err != nil {
		return message, nil
	}
	for i, f := range whole {
		if f.name == "result" {
			whole[i].value = objectOf(list)
		}
	}
	return objectOf(whole), nil
}

// readableContent is content without the pieces whose kind is not known; other = there were some.
func readableContent(raw []byte) (pieces []byte, other bool, err error) {
	switch {
	case bytes.Equal(raw, []byte("null")): // the library writes it for none
		return raw, false, nil
	case raw[0] != '[':
		return raw, false, errors.New("content is no list")
	}
	pieces = []byte{'['}
	at := 0
	_ = wirejson.Read(raw, func(r *wirejson.Reader) { // it was read before
		r.Array(func() {
			kind, plain, piece := pieceOf(r)
			switch kind {
			case "text", "image", "audio", "resource_link", "resource", noKind:
				if err == nil && !plain && !reads("content", append(append([]byte{'['}, piece...), ']')) {
					err = fmt.Errorf("content[%d] is not what the protocol wants", at)
				}
			default:
				other = true
				piece = []byte(`{"type":"text","text":"` + NotKnown + `"}`)
			}
			at++
			pieces = append(wirejson.Comma(pieces), piece...)
		})
	})
	return append(pieces, ']'), other, err
}

// noKind is that of a piece which is no object, or whose type is no text.
const noKind = "\x00"

// pieceOf reads a piece of content; plain = it has nothing but a kind and a text, which everybody can read.
func pieceOf(r *wirejson.Reader) (kind string, plain bool, piece []byte) {
	piece = r.Raw()
	if piece[0] != '{' {
		return noKind, false, piece
	}
	plain = true
	_ = wirejson.Read(piece, func(r *wirejson.Reader) { // it was read before
		r.Object(func(name []byte) {
			switch isText := r.Is('"'); {
			case isText && string(name) == "type":
				kind = r.Text()
			case string(name) == "type":
				kind = noKind
			case !isText || string(name) != "text":
				plain = false
			}
		})
	})
	return kind, plain && kind == "text", piece
}

// reads reports whether the library can read a field of the result of a call.
func reads(name string, value []byte) bool {
	return new(sdk.CallToolResult).UnmarshalJSON(objectOf([]field{{name, value}})) == nil
}

// ValueOf is the value of an answer, and how many bytes of JSON it is. Integers beyond 64 bits become floats; what is
// nested too deep becomes text later.
func ValueOf(structured any) (v any, size int64, err error) {
	text, kept := structured.(string)
	if !kept { // it did not come over a wire
		b, err := json.Marshal(structured)
		return structured, int64(len(b)), err
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err = d.Decode(&v); err == nil {
		v, err = protocol.Normalize(v)
	}
	return v, int64(len(text)), err
}
