package panel

import (
	"encoding/base64"
	"regexp"
	"strings"

	"tavernsim/protocol"
)

// MaxFile bounds a file that answers a question, in bytes. The event of the answer passes the
// channel, which bounds it, too.
const MaxFile = 512 << 10

// fileSchema is that of the answer to the action file: a file of one of the media types that
// payload.accept lists; of any, if it lists none.
func fileSchema(payload map[string]any) (any, error) {
	accept, given := payload["accept"].([]any)
	if payload["accept"] != nil && (!given || len(accept) == 0) {
		return nil, protocol.Errorf(protocol.KindInvalid, "payload.accept: want a list of media types such as image/png or text/*")
	}
	typ := map[string]any{"type": "string", "maxLength": int64(200)}
	var patterns []string
	for i, x := range accept {
		text, _ := x.(string)
		if !regexp.MustCompile(`^[a-z]+/(\*|[a-z0-9.+-]+)$`).MatchString(text) {
			return nil, protocol.Errorf(protocol.KindInvalid, "payload.accept[%d]: want a media type such as image/png or text/*", i)
		}
		patterns = append(patterns, strings.ReplaceAll(regexp.QuoteMeta(text), `\*`, `[^/]+`))
	}
	if given {
		typ["pattern"] = "^(" + strings.Join(patterns, "|") + ")$"
	}
	return map[string]any{
		"type": "object", "required": []any{"name", "type"}, "additionalProperties": false,
		"properties": map[string]any{
			"name":   map[string]any{"type": "string", "minLength": int64(1), "maxLength": int64(255)},
			"type":   typ,
			"text":   map[string]any{"type": "string", "maxLength": int64(MaxFile)},
			"base64": map[string]any{"type": "string", "maxLength": int64(base64.StdEncoding.EncodedLen(MaxFile)), "pattern": "^[A-Za-z0-9+/]*={0,2}$"},
		},
		"oneOf": []any{map[string]any{"required": []any{"text"}}, map[string]any{"required": []any{"base64"}}},
	}, nil
}
