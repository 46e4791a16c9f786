package secrets

import (
	"encoding/base64"
	"errors"
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
		{"secrets: {key: {tools: [a]}}", 0o600, "secrets.yaml:1:16: secrets.key: the secret has no value: write it here, or name a file that has it in the environment variable SIMD_SECRET_key_FILE"},
		{"secrets: {key: {value: '', tools: [a]}}", 0o600, "has no value"},
		{"secrets: {key: null}", 0o600, "null"},
		{"secrets: {key: {value: " + value + ", tools: [a], scenes: ['[']}}", 0o600, "is no pattern of scenes"},
		{"secrets: {key: {value: " + value + ", tools: [a], scenes: town}}", 0o600, "scenes"},
		{"secrets: {key: {value: " + value + ", tools: [a], show: hidden}}", 0o600, "withheld"},
		{"secrets: {key: {value: " + value + "}}", 0o600, "tools"},
		{"secrets: {key: {value: " + value + ", tools: ['[']}}", 0o600, "is no pattern of tools"},
		{"secrets: {1 key: {value: " + value + ", tools: [a]}}", 0o600, "a secret's name has letters"},
		{"secrets: {key: {value: " + value + ", tools: [a], more: x}}", 0o600, "more"},
		{"secrets: [" + value, 0o600, "secrets.yaml"},
		{"secrets: {key: " + value + "}", 0o600, "want an object, got text"},
		{"secrets: {" + value + "}", 0o600, "null is no value here"},
		{"secrets: {key: {" + value + "}}", 0o600, "unknown field"},
		{"secrets: {key: {value: !" + value + ", tools: [a]}}", 0o600, "secrets.yaml:1:"},
		{"secrets: {key: {value: *" + value + ", tools: [a]}}", 0o600, "not YAML"},
		{"secrets: {key: {value: " + value + ", tools: " + value + "}}", 0o600, "want a list, got text"},
		{"secrets: {key: {value: " + value + ", tools: [" + value + "[]}}", 0o600, "not YAML"},
		{strings.Repeat("#", maxFile+1), 0o600, "more than"},
	} {
		_, err := Load(write(t, c.text, c.mode), Mounted{})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), value) || strings.Contains(err.Error(), "short") {
			t.Errorf("%.80s: %v, want %q", c.text, err, c.want)
		}
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none"), Mounted{}); protocol.KindOf(err) != protocol.KindNotFound {
		t.Error(err)
	}
}

// A value may lie in a file that a platform mounts, which a variable of the environment names.
func TestMountedValues(t *testing.T) {
	const entry = "secrets: {key: {tools: [a]}}"
	folder := t.TempDir()
	put := func(name, text string, mode os.FileMode) string {
		file := filepath.Join(folder, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		return file
	}
	link := filepath.Join(folder, "link")
	if err := os.Symlink(put("linked", value, 0o444), link); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ text, file, want, fault string }{
		{entry, put("plain", value, 0o400), value, ""},
		{entry, put("line", value+"\n", 0o444), value, ""},
		{entry, put("lines", value+"\n\n", 0o440), value + "\n", ""},
		{entry, link, value, ""},
		{entry, put("group", value, 0o460), "", "only its owner may write it: chmod go-w"},
		{entry, put("all", value, 0o602), "", "only its owner may write it"},
		{entry, put("empty", "", 0o400), "", "is empty"},
		{entry, put("newline", "\n", 0o400), "", "is empty"},
		{entry, put("bytes", value+"\xff", 0o400), "", "is no text"},
		{entry, put("nul", value+"\x00", 0o400), "", "is no text"},
		{entry, put("short", "short", 0o400), "", "at least 8 are needed"},
		{entry, put("large", strings.Repeat("x", maxValue+1), 0o400), "", "more than 65536 bytes"},
		{entry, filepath.Join(folder, "none"), "", "no such file"},
		{entry, folder, "", "the mode d"},
		{entry, put("chosen", value, 0o400), "", "the project would choose it"},
		{"secrets: {key: {value: " + value + ", tools: [a]}}", put("second", "another-value-1", 0o400), "", "has two values"},
	} {
		s, err := Load(write(t, c.text, 0o600), Mounted{
			Getenv: func(variable string) string { return map[string]string{"SIMD_SECRET_key_FILE": c.file}[variable] },
			Outside: func(file string) error {
				if filepath.Base(file) == "chosen" {
					return errors.New("the project would choose it")
				}
				return nil
			},
		})
		if c.fault != "" {
			if err == nil || !strings.Contains(err.Error(), "secrets.yaml:1:16: secrets.key: ") || !strings.Contains(err.Error(), c.fault) || strings.Contains(err.Error(), value) {
				t.Errorf("%s: %v, want %q", c.file, err, c.fault)
			}
			if err != nil && filepath.Base(c.file) != "short" && !strings.Contains(err.Error(), "SIMD_SECRET_key_FILE") {
				t.Error(err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.file, err)
			continue
		}
		if got, err := s.For("", "a", []string{"key"}); err != nil || got["key"] != c.want {
			t.Errorf("%s: %q %v", c.file, got, err)
		}
		if masked, err := s.Text("is " + value); err != nil || strings.Contains(masked, value) {
			t.Errorf("%s: %q %v", c.file, masked, err)
		}
	}
}

// Promise 2.
func TestWhoHasWhat(t *testing.T) {
	s, err := Load(write(t, "secrets: {key: {value: "+value+", tools: [weather.forecast, 'text.*']}, other: {value: another-value-1, tools: []}}", 0o600), Mounted{})
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
		got, err := s.For("town", c.tool, c.names)
		if !reflect.DeepEqual(got, c.want) || (err != nil) != (c.want == nil) || err != nil && protocol.KindOf(err) != protocol.KindDenied {
			t.Errorf("%s %v: %v %v", c.tool, c.names, got, err)
		}
	}
	var none *Store
	if got, err := none.For("", "a", []string{"key"}); got != nil || protocol.KindOf(err) != protocol.KindDenied {
		t.Error(got, err)
	}
	if v, _, err := none.Value(value); v != value || err != nil {
		t.Error(v, err)
	}
}

// Promise 2: a secret may be for some scenes only; its value is taken out of texts in all.
func TestScenes(t *testing.T) {
	s, err := Load(write(t, "secrets: {key: {value: "+value+", tools: [a], scenes: [town, 'night.*']}, none: {value: another-value-1, tools: [a], scenes: []}}", 0o600), Mounted{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ scene, name, want string }{
		{"town", "key", ""},
		{"night.2", "key", ""},
		{"townhall", "key", "the secret key is not granted to a in the scene townhall; the operator grants it"},
		{"", "key", "the secret key is not granted to a outside of scenes; the operator grants it"},
		{"town", "none", "the secret none is not granted to a in the scene town"},
	} {
		h := Hold(s, c.scene)
		got, err := h.Granted("a", []string{c.name})
		if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || protocol.KindOf(err) != protocol.KindDenied) || err == nil && got["key"] != value {
			t.Errorf("%+v: %v %v", c, got, err)
		}
		if text, err := h.Store().Text("is " + value); err != nil || strings.Contains(text, value) {
			t.Errorf("%+v: %q %v", c, text, err)
		}
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
		{[]any{"two\nlines, \"a\" \\n\t\u2028", "\x01"}, []any{"two\nlines, \"a\" \\n\t\u2028", "\x01"}},
		{"one\n" + strings.Join(strings.Split(value, ""), "\n") + "\na line\n", "one\n$KARYI{key}\na line\n"},
		{"a\t" + value[:8] + "\r\n\t\x01\b" + value[8:] + "\"\\", "a\t$KARYI{key}\"\\"},
		{coded[:8] + "\n" + coded[8:16] + "\n" + coded[16:], nil},
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
