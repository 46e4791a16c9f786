package tooling_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tavernsim/engine/secret/mask"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/run/artifacts"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/tooling"
	"tavernsim/tools"
	"tavernsim/tools/secrets"
)

// A script has the secret that it was granted; whatever it writes, no fact and no file of
// the run has it.
func TestSecrets(t *testing.T) {
	const value = "sk-Demo_7pW4yH8cR2nM"
	box := sandboxed(t)
	store, err := secrets.New(&secrets.File{Secrets: map[string]*secrets.Grant{"api_key": {Value: value, Tools: []string{"text.*"}}}})
	if err != nil {
		t.Fatal(err)
	}
	masker, err := mask.New([]mask.Secret{{Name: "api_key", Value: value}})
	if err != nil {
		t.Fatal(err)
	}
	scripts := map[string]string{
		`printf '"%s %s"' "${#SIMD_SECRET_api_key}" "$SIMD_SECRET_api_key"`: "20 $KARYI{api_key}",
		`printf '%s' "$SIMD_SECRET_api_key" | base64`:                       "written as base64",
		`printf '%s' "$SIMD_SECRET_api_key" | gzip | base64`:                "of gzip",
		`printf '%s' "$SIMD_SECRET_api_key" | od -An -tx1`:                  "written as hex",
		`printf '%s' "$SIMD_SECRET_api_key" | rev`:                          "backwards",
		`printf 'no: %s' "$SIMD_SECRET_api_key" >&2; exit 4`:                "no: $KARYI{api_key}",
		`printf '%s' "$SIMD_SECRET_api_key" | base64 >&2; exit 4`:           "written as base64",
		`echo x >"$SIMD_WORK/$SIMD_SECRET_api_key"`:                         "a file in it has a secret",
		`printf '%s' "$SIMD_SECRET_api_key" >"$SIMD_WORK/note"`:             "a file in it has a secret",
		`printf '%s' "$SIMD_SECRET_api_key" | base64 >"$SIMD_WORK/note"`:    "written as base64",
		`env`: "SIMD_SECRET_api_key=$KARYI{api_key}",
		`i=0; while [ $i -lt 1800 ]; do echo "$i the key is $SIMD_SECRET_api_key"; i=$((i+1)); done`: "bytes are artifact:sha256-",
	}
	if _, err := exec.LookPath("python3"); err == nil {
		for code, want := range map[string]string{
			`base64.a85encode(v)`:                           "written as base85",
			`base64.b85encode(b"key " + v)`:                 "written as base85",
			`binascii.b2a_uu(b"the key " + v)`:              "written as uuencode",
			`base64.b64encode(zlib.compress(v, wbits=-15))`: "written as base64 of deflate",
		} {
			scripts[`printf '%s' "$SIMD_SECRET_api_key" | python3 -c 'import base64, binascii, sys, zlib; v = sys.stdin.buffer.read(); sys.stdout.buffer.write(`+code+`)'`] = want
		}
	}
	for script, want := range scripts {
		if testing.Short() && (strings.Contains(script, "|") || !strings.HasPrefix(script, "printf")) {
			continue // an output, an error and a file; the maskers have tests of their own
		}
		p, err := loadProgrammers(t, ". ./lib/count.sh\ntr -cd 'a-z ' | count", script, "outputSchema: {type: integer}", `needs: ["secret:api_key"]`)
		if err != nil {
			t.Fatal(err)
		}
		s := scenestest.New(t, p, "")
		if r := s.Run(t, scenestest.Settings{Tools: tooling.Live, Sandbox: box, Secrets: store}); r.Err != nil {
			t.Fatal(r)
		}
		said := textOfFacts(t, s)
		if !strings.Contains(said, want) {
			t.Errorf("%s: no fact says %q:\n%.2000s", script, want, said)
		}
		if _, found := masker.Text(said); found.Any() {
			t.Errorf("%s: a fact has the secret: %+v", script, found)
		}
		if err := filepath.WalkDir(s.Dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			if strings.HasPrefix(d.Name(), "sha256-") && !strings.Contains(string(data), "450 the key is $KARYI{api_key}") {
				t.Errorf("%s: the artifact is not the masked output: %.200q", script, data)
			}
			if strings.Contains(string(data), value) || strings.Contains(string(data), base64.StdEncoding.EncodeToString([]byte(value))) {
				t.Errorf("%s: %s has the secret", script, path)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	p, err := loadProgrammers(t, ". ./lib/count.sh\ntr -cd 'a-z ' | count", "echo ran", "outputSchema: {type: integer}", `needs: ["secret:other"]`)
	if err != nil {
		t.Fatal(err)
	}
	s := scenestest.New(t, p, "")
	if r := s.Run(t, scenestest.Settings{Tools: tooling.Live, Sandbox: box, Secrets: store}); r.Err == nil && r.State.Tally.ByTool["text.words"] == 0 {
		t.Error(r)
	}
}

// A file in an answer cannot be changed: with a secret in it, nothing of the answer is kept.
func TestSecretsInFiles(t *testing.T) {
	const value = "sk-Demo_7pW4yH8cR2nM"
	store, err := secrets.New(&secrets.File{Secrets: map[string]*secrets.Grant{"api_key": {Value: value, Tools: []string{"x"}}}})
	if err != nil {
		t.Fatal(err)
	}
	for data, want := range map[string]int{
		"a picture": 2, "a picture with \xff" + value + "\x00": 0, base64.StdEncoding.EncodeToString([]byte("xyz" + value)): 0,
	} {
		paint := func(context.Context, *tools.Call) tools.Result {
			r := tools.Output(strings.Repeat("stroke ", 3000))
			r.Attach("picture", "image/png", []byte(data))
			return r
		}
		s := scenestest.New(t, scenestest.Painters(t), "")
		if r := s.Run(t, scenestest.Settings{Tools: tooling.Live, Secrets: store, Services: map[string]tools.Executor{"painter": tools.Func(paint)}}); r.Err != nil {
			t.Fatal(r)
		}
		kept, err := artifacts.Of(s.Dir).List()
		if err != nil || len(kept) != want {
			t.Errorf("%q: %v %v", data, kept, err)
		}
	}
}

// A secret in a text that is no UTF-8 is found before the text becomes UTF-8.
func TestSecretsInOtherCodes(t *testing.T) {
	store, err := secrets.New(&secrets.File{Secrets: map[string]*secrets.Grant{"key": {Value: "Grüße-Wörter-9981-ß", Tools: []string{"x"}}}})
	if err != nil {
		t.Fatal(err)
	}
	const latin = "is Gr\xfc\xdfe-W\xf6rter-9981-\xdf \xe9"
	for name, r := range map[string]tools.Result{"an output": tools.Output(latin), "a list": tools.Output([]any{latin}), "an error": tools.Quote(tools.KindTool, "failed: ", latin)} {
		s := scenestest.New(t, scenestest.Painters(t), "")
		paint := func(context.Context, *tools.Call) tools.Result { return r }
		if r := s.Run(t, scenestest.Settings{Tools: tooling.Live, Secrets: store, Services: map[string]tools.Executor{"painter": tools.Func(paint)}}); r.Err != nil {
			t.Fatal(r)
		}
		if said := textOfFacts(t, s); strings.Contains(said, "rter") || !strings.Contains(said, "is $KARYI{key} \ufffd") {
			t.Errorf("%s: %.2000s", name, said)
		}
	}
}

// A secret does not get into a file, nor into its history.
func TestSecretsInEdits(t *testing.T) {
	const value = "sk-Demo_7pW4yH8cR2nM"
	store, err := secrets.New(&secrets.File{Secrets: map[string]*secrets.Grant{"api_key": {Value: value, Tools: []string{"x"}}}})
	if err != nil {
		t.Fatal(err)
	}
	p, err := loadProgrammers(t, "text.words, ", "text.words, edit, ")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	set, err := tooling.New(tooling.Options{Project: p, Sandbox: shared(), Secrets: store, Artifacts: artifacts.Of(dir), Mounts: tooling.Mounts{Files: filepath.Join(dir, "files")}})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	tool, err := tooling.Find(p, "edit")
	if err != nil {
		t.Fatal(err)
	}
	write := func(text string) tools.Result {
		return set.Try(t.Context(), tool, map[string]any{"files": []any{map[string]any{"src": "a.txt", "edits": []any{map[string]any{"find": "", "replace": text}}}}}, 0)
	}
	if r := write("the key is " + value); r.Status != tools.Denied || !strings.Contains(r.Error.Message, "has a secret") {
		t.Errorf("%+v %+v", r, r.Error)
	}
	if list, err := os.ReadDir(dir); len(list) != 0 || err != nil {
		t.Error(list, err)
	}
	if r := write("the key is secret"); r.Status != tools.OK || len(r.Artifacts) != 1 {
		t.Errorf("%+v %+v", r, r.Error)
	}
}

// textOfFacts is the text of all facts of a scene.
func textOfFacts(t *testing.T, s *scenestest.Scene) string {
	t.Helper()
	var said strings.Builder
	s.Journal(t, func(j *persistence.Journal) {
		if err := j.Scan(persistence.Query{}, func(r protocol.Record) error {
			v, err := r.Data.Value()
			fmt.Fprintln(&said, v)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	})
	return said.String()
}
