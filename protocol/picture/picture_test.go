package picture_test

import (
	"strings"
	"testing"

	"tavernsim/protocol/picture"
)

func TestRead(t *testing.T) {
	sum := strings.Repeat("a1", 32)
	for _, c := range []struct {
		value any
		want  string // part of the error; "" = none
	}{
		{map[string]any{"uri": "artifact:sha256-" + sum, "mediaType": "image/png"}, ""},
		{map[string]any{"uri": "fam://project/tools/map.png", "mediaType": "image/png", "sha256": sum, "found": true}, ""},
		{map[string]any{"uri": "data:image/gif;base64,R0lG"}, ""},
		{map[string]any{"uri": "DATA:image/gif;base64,R0lG", "mediaType": "image/gif"}, ""},
		{"x", "want an object"},
		{map[string]any{}, `uri "": want fam://`},
		{map[string]any{"uri": 1}, "uri: want a text"},
		{map[string]any{"uri": "x", "found": "yes"}, "found: want"},
		{map[string]any{"url": "x"}, `unknown field "url"`},
		{map[string]any{"uri": "https://a.example/x.png", "mediaType": "image/png"}, "want fam://"},
		{map[string]any{"uri": "fam://run/x.png", "mediaType": "image/png"}, "the file may change; add its sha256"},
		{map[string]any{"uri": "fam://run/x.png", "mediaType": "image/png", "sha256": strings.ToUpper(sum)}, "64 hexadecimal digits"},
		{map[string]any{"uri": "artifact:x", "mediaType": "image/svg+xml"}, "want image/png"},
		{map[string]any{"uri": "artifact:x"}, `mediaType ""`},
		{map[string]any{"uri": "data:image/png,abc"}, "want data:MEDIA/TYPE;base64"},
		{map[string]any{"uri": "data:image/png;base64,!"}, "want data:MEDIA/TYPE;base64"},
		{map[string]any{"uri": "data:image/png;base64,iVBORw==", "mediaType": "image/gif"}, `and the data: URI says "image/png"`},
	} {
		i, err := picture.Read(c.value)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v; want %q", c.value, err, c.want)
		}
		if err != nil {
			continue
		}
		if again, err := picture.Read(picture.Value(&i)); err != nil || again != i {
			t.Errorf("%+v became %+v, %v", i, again, err)
		}
	}
}
