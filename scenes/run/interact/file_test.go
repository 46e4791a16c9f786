package interact_test

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"tavernsim/engine/panel"
	"tavernsim/protocol"
	"tavernsim/scenes/machines/replies"
	"tavernsim/scenes/run/interact"
)

// A file answers the action file as text, or as base64, if it is of a type that is accepted and
// not too long.
func TestFiles(t *testing.T) {
	question := func(accept ...any) any {
		payload := map[string]any{}
		if accept != nil {
			payload["accept"] = accept
		}
		schema, built, err := panel.BuiltIn("file", payload)
		if err != nil || !built {
			t.Fatal(built, err)
		}
		return schema
	}
	png := []byte("\x89PNG\r\n\x1a\n")
	for _, c := range []struct {
		name   string
		data   []byte
		accept []any
		want   map[string]any
		fits   bool
	}{
		{"note.txt", []byte("so\n"), nil, map[string]any{"name": "note.txt", "type": "text/plain", "text": "so\n"}, true},
		{"note.txt", []byte("so"), []any{"image/*", "text/plain"}, map[string]any{"name": "note.txt", "type": "text/plain", "text": "so"}, true},
		{"note.txt", []byte("so"), []any{"image/*"}, map[string]any{"name": "note.txt", "type": "text/plain", "text": "so"}, false},
		{"x.png", png, []any{"image/*"}, map[string]any{"name": "x.png", "type": "image/png", "base64": "iVBORw0KGgo="}, true},
		{"x", png, []any{"image/png"}, map[string]any{"name": "x", "type": "image/png", "base64": "iVBORw0KGgo="}, true},
		{"x.png", png, []any{"image/pn"}, map[string]any{"name": "x.png", "type": "image/png", "base64": "iVBORw0KGgo="}, false},
		{"x.json", []byte(`{"a": 1}`), nil, map[string]any{"name": "x.json", "type": "application/json", "text": `{"a": 1}`}, true},
		{"wrong.txt", []byte{0xff}, nil, map[string]any{"name": "wrong.txt", "type": "text/plain", "base64": "/w=="}, true},
		{"big.bin", bytes.Repeat([]byte{0}, panel.MaxFile), nil, nil, true},
	} {
		file := filepath.Join(t.TempDir(), c.name)
		if err := os.WriteFile(file, c.data, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := interact.File(file)
		if err != nil || c.want != nil && !reflect.DeepEqual(got, any(c.want)) {
			t.Errorf("%s: %v, %v", c.name, got, err)
		}
		if err := replies.CheckAnswer(question(c.accept...), protocol.Encode(got)); (err == nil) != c.fits {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	big := filepath.Join(t.TempDir(), "big")
	if err := os.WriteFile(big, make([]byte, panel.MaxFile+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := interact.File(big); protocol.KindOf(err) != protocol.KindLimit {
		t.Error(err)
	}
	for _, v := range []map[string]any{{"name": "a", "type": "text/plain"}, {"name": "a", "type": "text/plain", "text": "x", "base64": ""}, {"name": "", "type": "a/b", "text": ""}, {"name": "a", "type": "a/b", "base64": "%"}} {
		if err := replies.CheckAnswer(question(), protocol.Encode(v)); err == nil {
			t.Errorf("%v is an answer", v)
		}
	}
	for _, accept := range []any{"text/plain", []any{}, []any{"text"}, []any{int64(1)}, []any{"text/(.*"}} {
		if _, built, err := panel.BuiltIn("file", map[string]any{"accept": accept}); !built || protocol.KindOf(err) != protocol.KindInvalid {
			t.Errorf("accept %v: %v", accept, err)
		}
	}
}
