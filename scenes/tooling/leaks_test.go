package tooling_test

import (
	"context"
	"encoding/hex"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/tooling"
	"tavernsim/tools"
	"tavernsim/tools/secrets"
)

// Three outputs that spell a secret take the grant of a tool away; the third call
// says so, and later ones are not made.
func TestTheThirdLeak(t *testing.T) {
	p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(building))), nil)
	if err != nil {
		t.Fatal(err)
	}
	const value = "sk-Demo_7pW4yH8cR2nM"
	store, err := secrets.New(&secrets.File{Secrets: map[string]*secrets.Grant{"key": {Value: value, Tools: []string{"x"}}}})
	if err != nil {
		t.Fatal(err)
	}
	made := 0
	set, err := tooling.New(tooling.Options{Project: p, Run: "r", Secrets: store, Services: map[string]tools.Executor{"build": tools.Func(func(context.Context, *tools.Call) tools.Result {
		made++
		return tools.Output(hex.EncodeToString([]byte(value)))
	})}})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	tool, _ := p.Tool("build")
	for i := 1; i <= 5; i++ {
		r := set.Try(t.Context(), tool, nil, 0)
		third, after := strings.Contains(r.Err().Error(), "secret_exfiltration: it is the output number 3"), strings.Contains(r.Err().Error(), "3 of its outputs spelled a secret")
		if r.Status != tools.Denied || third != (i == 3) || after != (i > 3) || made != min(i, 3) {
			t.Errorf("call %d: %v, %d were made", i, r.Err(), made)
		}
	}
}
