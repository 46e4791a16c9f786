package secrets

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"tavernsim/protocol"
)

const value = "sk-Demo_7pW4yH8cR2nM"

func write(t *testing.T, text string, mode os.FileMode) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "secrets.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, mode); err != nil {
		t.Fatal(err)
	}
	return file
}

// Promise 1.
func TestBadFiles(t *testing.T) {
	good := "secrets: {key: {value: " + value + ", tools: [a]}}"
	for _, c := range []struct {
		text string
		mode os.FileMode
		want string
	}{
		{good, 0o644, "only its owner may read it: chmod 600"},
		{good, 0o640, "only its owner may read it"},
		{"secrets: {key: {value: short, tools: [a]}}", 0o600, "secrets.yaml:1:16: secrets.key: the secret key has 5 letters and digits"},
		{"secrets: {key: {value: aaaaaaaaaaaaaa, tools: [a]}}", 0o600, "fewer than 4 different"},
		{"secrets: {key: {tools: [a]}}", 0o600, "value"},
		{"secrets: {key: {value: " + value + "}}", 0o600, "tools"},
		{"secrets: {key: {value: " + value + ", tools: ['[']}}", 0o600, "is no pattern of tools"},
		{"secrets: {1 key: {value: " + value + ", tools: [a]}}", 0o600, "a secret's name has letters"},
		{"secrets: {key: {value: " + value + ", tools: [a], more: x}}", 0o600, "more"},
		{"secrets: [" + value, 0o600, "secrets.yaml"},
		{strings.Repeat("#", maxFile+1), 0o600, "more than"},
	} {
		_, err := Load(write(t, c.text, c.mode))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), value) || strings.Contains(err.Error(), "short") {
			t.Errorf("%.80s: %v, want %q", c.text, err, c.want)
		}
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none")); protocol.KindOf(err) != protocol.KindNotFound {
		t.Error(err)
	}
}

// Promise 2.
func TestWhoHasWhat(t *testing.T) {
	s, err := Load(write(t, "secrets: {key: {value: "+value+", tools: [weather.forecast, 'text.*']}, other: {value: another-value-1, tools: []}}", 0o600))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		tool  string
		names []string
		want  map[string]string
	}{
		{"weather.forecast", []string{"key"}, map[string]string{"key": value}},
		{"text.count", []string{"key"}, map[string]string{"key": value}},
		{"weather.other", []string{"key"}, nil},
		{"text.count", []string{"key", "other"}, nil},
		{"text.count", []string{"none"}, nil},
		{"shop", nil, map[string]string{}},
	} {
		got, err := s.For(c.tool, c.names)
		if !reflect.DeepEqual(got, c.want) || (err != nil) != (c.want == nil) || err != nil && protocol.KindOf(err) != protocol.KindDenied {
			t.Errorf("%s %v: %v %v", c.tool, c.names, got, err)
		}
	}
	var none *Store
	if got, err := none.For("a", []string{"key"}); got != nil || protocol.KindOf(err) != protocol.KindDenied {
		t.Error(got, err)
	}
	if v, _, err := none.Value(value); v != value || err != nil {
		t.Error(v, err)
	}
}

// Promise 3.
func TestValues(t *testing.T) {
	s, err := New(&File{Secrets: map[string]*Grant{"key": {Value: value}}})
	if err != nil {
		t.Fatal(err)
	}
	coded := base64.StdEncoding.EncodeToString([]byte("x" + value))
	for _, c := range []struct{ in, want any }{
		{"the key is " + value, "the key is $KARYI{key}"},
		{map[string]any{"a": []any{value, int64(1)}, "b<": nil}, map[string]any{"a": []any{"$KARYI{key}", int64(1)}, "b<": nil}},
		{map[string]any{value: "v"}, map[string]any{"$KARYI{key}": "v"}},
		{[]any{"sk-Demo_7p", "W4yH8cR2nM"}, []any{"$KARYI{key}"}},
		{map[string]any{"a": coded}, nil},
		{coded, nil},
		{[]any{"none", 2.5}, []any{"none", 2.5}},
	} {
		got, _, err := s.Value(c.in)
		if !reflect.DeepEqual(got, c.want) || (err != nil) != (c.want == nil) {
			t.Errorf("%v: %#v %v, want %#v", c.in, got, err, c.want)
		}
		if err != nil && (strings.Contains(err.Error(), value) || !strings.Contains(err.Error(), "the secret key, written as base64")) {
			t.Error(err)
		}
	}
}
