package scripted

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"tavernsim/protocol"
)

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

func containsKey(text, key string) bool {
	return strings.Contains(text, key+":")
}

// No script panics, neither when it is read nor when it answers, and an answer
// can be repeated.
func FuzzLoad(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for block := range strings.SplitSeq(string(raw), "\n=====\n") {
			script, _, _ := strings.Cut(block, "\n>>> ")
			script, _, _ = strings.Cut(script, "\n!!!")
			f.Add(script, true)
		}
	}
	f.Add(string(defaultScript), true)
	f.Add(`{ "rules": [ { "match": { "chance": 0.5 }, "answer": "hello {{.agent}}" }, /* c */ ], }`, false)
	f.Fuzz(func(t *testing.T, script string, yaml bool) {
		name := "x.json"
		if yaml {
			name = "x.yaml"
		}
		m, err := Load(name, []byte(script))
		if err != nil {
			return
		}
		req := protocol.ModelRequest{Agent: "elara", Profile: "npc", Variables: map[string]any{"a": int64(1)}, Events: []string{"e"}, Draw: protocol.NewDraw(1),
			Messages: []protocol.ModelMessage{{Text: "hi 森林"}}, MaxTokens: 100}
		if a, b := show(m.Answer(&req)), show(m.Answer(&req)); a != b {
			t.Fatalf("%s, then %s", a, b)
		}
	})
}
