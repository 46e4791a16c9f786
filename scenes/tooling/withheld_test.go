package tooling_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/tools/txtar"

	"tavernsim/llm"
	"tavernsim/protocol"
	"tavernsim/scenes/run/artifacts"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/tooling"
	"tavernsim/tools/secrets"
)

// quiet is a store with one secret whose calls are withheld.
func quiet(t *testing.T, g secrets.Grant) *secrets.Store {
	t.Helper()
	g.Value, g.Show = "sk-Demo_7pW4yH8cR2nM", secrets.Withheld
	store, err := secrets.New(&secrets.File{Secrets: map[string]*secrets.Grant{"api_key": &g}})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// Of a script with a secret that is withheld nobody reads more than how it ended, in facts and
// thereby in prompts; its files are not kept.
func TestWithheldScripts(t *testing.T) {
	box := sandboxed(t)
	for script, want := range map[string]string{
		`printf 'spo''ken'`: "bytes:6 exit_code:0",
		`printf 'spo''ken'; echo file >"$SIMD_WORK/spo""ken"`:            "bytes:6 exit_code:0",
		`echo "spo""ken" >&2; exit 3`:                                    "the program ended with exit code 3; its output is withheld, 7 bytes",
		`exit 3`:                                                         "the program ended with exit code 3",
		`printf '%s' "$SIMD_SECRET_api_key" | base64`:                    "bytes:29 exit_code:0",
		`echo "spo""ken"; kill -KILL $$`:                                 "the program was ended by",
		`i=0; while [ $i -lt 9000 ]; do echo spo""ken; i=$((i+1)); done`: "bytes:63000 exit_code:0",
	} {
		if testing.Short() && !strings.HasSuffix(want, "its output is withheld, 7 bytes") {
			continue
		}
		p, err := loadProgrammers(t, ". ./lib/count.sh\ntr -cd 'a-z ' | count", script, "outputSchema: {type: integer}", "outputSchema: {type: integer}\nneeds: [\"secret:api_key\"]")
		if err != nil {
			t.Fatal(err)
		}
		s := scenestest.New(t, p, "")
		if r := s.Run(t, scenestest.Settings{Tools: tooling.Live, Sandbox: box, Secrets: quiet(t, secrets.Grant{Tools: []string{"*"}})}); r.Err != nil {
			t.Fatal(r)
		}
		if said := textOfFacts(t, s); !strings.Contains(said, want) || strings.Contains(said, "spoken") || strings.Contains(said, "c2st") || strings.Contains(said, "spelled") {
			t.Errorf("%s: want %q\n%.3000s", script, want, said)
		}
		if kept, err := artifacts.Of(s.Dir).List(); err != nil || len(kept) > 0 {
			t.Errorf("%s: %v %v", script, kept, err)
		}
	}
}

// asked is a model that keeps its prompts.
type asked struct {
	llm.Provider
	mu      sync.Mutex // guards prompts
	prompts strings.Builder
}

func (a *asked) Complete(ctx context.Context, q *protocol.ModelRequest, sink llm.Sink) (protocol.ModelAnswer, error) {
	a.mu.Lock()
	fmt.Fprintln(&a.prompts, q)
	a.mu.Unlock()
	return a.Provider.Complete(ctx, q, sink)
}

// An answer over HTTP is withheld, too, and an error keeps its status alone. In a scene for which
// the secret is not, nothing is sent.
func TestWithheldAnswers(t *testing.T) {
	var sent atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent.Add(1)
		if r.URL.Path == "/away" {
			w.WriteHeader(http.StatusTeapot)
		}
		fmt.Fprint(w, "spoken")
	}))
	defer server.Close()
	text := strings.NewReplacer("PORT", server.URL[strings.LastIndexByte(server.URL, ':')+1:], "$KARYI{other}", "$KARYI{api_key}", "secret:other", "secret:api_key").Replace(brokered)
	p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(text))), nil)
	if err != nil {
		t.Fatal(err)
	}
	for scene, want := range map[string][]string{
		"s":     {"bytes:6", "status 418 I'm a teapot; its output is withheld, 6 bytes"},
		"other": {"the secret api_key is not granted to srv.echo in the scene s"},
	} {
		sent.Store(0)
		s := scenestest.New(t, p, "")
		model, err := scenestest.Model(p, s.Def)
		if err != nil {
			t.Fatal(err)
		}
		asked := &asked{Provider: model}
		if r := s.Run(t, scenestest.Settings{Tools: tooling.Live, Model: asked, Secrets: quiet(t, secrets.Grant{Tools: []string{"srv.*"}, Scenes: []string{scene}})}); r.Err != nil {
			t.Fatal(r)
		}
		said := textOfFacts(t, s)
		for _, w := range want {
			if !strings.Contains(said, w) || !strings.Contains(asked.prompts.String(), w) {
				t.Errorf("%s: want %q\n%.3000s\n%.3000s", scene, w, said, &asked.prompts)
			}
		}
		if strings.Contains(said+asked.prompts.String(), "spoken") || (sent.Load() > 0) != (scene == "s") {
			t.Errorf("%s: %d requests\n%.3000s", scene, sent.Load(), said)
		}
	}
}

// Once a session has had a secret that is withheld, nobody reads what it writes, until it ends:
// its variables may have the value.
func TestWithheldSessions(t *testing.T) {
	set := live(t)
	set.Secrets = quiet(t, secrets.Grant{Tools: []string{"command"}})
	said := work(t, set, "",
		`<tools><command>echo before</command></tools>`,
		`<tools><command>x=$KARYI{api_key}; echo "spo""ken $x"; echo "$x" >"spo""ken"; (exit 4)</command></tools>`,
		`<tools><command>echo "$x" | base64; read -p "spo""ken" n; echo $n-"spo""ken"</command></tools>`,
		`<tools><input>go\n</input></tools>`,
		`<tools><command>echo "$x" | base64</command></tools>`,
		`<tools><command>echo "$x" | base64; exit</command></tools>`,
		`<tools><command>echo "[$x]"</command></tools>`)
	has(t, said, "output:before", "bytes:", "status:awaiting_input", "status:ok", "status:ok", "status:ok", "output:[]")
	all := strings.Join(said, "\n")
	if strings.Contains(all, "spoken") || strings.Contains(all, "c2st") || strings.Contains(all, "spelled") || strings.Count(all, "output:") != 2 || strings.Count(all, "bytes:") < 5 || !strings.Contains(all, "exit_code:4") || !strings.Contains(all, "files were removed") {
		t.Error(all)
	}
}
