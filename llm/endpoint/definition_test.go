package endpoint

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"tavernsim/internal/source"
	"tavernsim/llm"
	"tavernsim/protocol"
)

func nothing(string) string { return "" }

// Every fault of a file is reported, with its place and what to do.
func TestPlaces(t *testing.T) {
	_, err := Read("providers.yaml", []byte(`schema_version: "2.0"
endpoints:
  a/b: { preset: ollama }
  one:
    preset: olama
    protocol: openia
  two: { key_file: x, keys: y }
  three: { base_url: "ftp://x" }
  four: { base_url: "https://me:secret@x" }
  five: { base_url: "https://x/v1?api-version=1" }
  six:
    preset: openai
    auth: "x api key"
  seven:
    preset: openai
    headers: { "X Title": town, X-Good: yes, X-Broken: "a\nb" }
  eight: { preset: vllm, timeouts: { silence: 0s }, limits: { max_concurrency: 100001 }, dialect: { schema: yaml } }
  nine: { base_url: "http://", limits: { requests_per_minute: -1 } }
  ten: { preset: openai, timeouts: { whole: soon } }
  eleven: { preset: vllm, budget: { calls: 1, on_exhausted: "degrade:small" } }
  twelve: { preset: vllm, budget: { window: day } }
  thirteen: { preset: vllm, budget: { tokens: 0, window: week, on_exhausted: stop } }
`))
	if err == nil {
		t.Fatal("no fault")
	}
	for _, want := range []string{
		"providers.yaml:1:", "providers.yaml:3:", "letters, digits", "providers.yaml:5:", `did you mean "ollama"`, "providers.yaml:6:", `did you mean "openai"`,
		"providers.yaml:7:", "no base_url", "keys", "providers.yaml:8:", "this is no address", "providers.yaml:9:", "may not have a name", "key_file or key_env",
		"providers.yaml:10:", "query", "providers.yaml:13:", "no name of a header", "providers.yaml:16:", "an address ends", "no header can have this name", "X-Broken", "providers.yaml:17:", "providers.yaml:18:", "providers.yaml:19:",
		"providers.yaml:20:", "fallback on: [budget]", "providers.yaml:21:", "the budget has no limit", "providers.yaml:22:", "want refuse, pause or end", "want run, day",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nlacks %q", err, want)
		}
	}
	if strings.Contains(err.Error(), "secret") {
		t.Error("the password of an address is shown")
	}
	for _, text := range []string{"", "endpoints: 7", "endpoints: { a: 7 }", "- a", "endpoints: {", "\x00", "endpoints:\n  a: { preset: vllm }\n  a: { preset: ollama }"} {
		if _, err := Read("providers.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), "providers.yaml") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// An empty word is a fault wherever a field has a list of words: no run has the file, and its user repairs it.
func TestEmptyWords(t *testing.T) {
	if _, err := Read("providers.yaml", []byte("schema_version: \"\"\nendpoints: { a: { preset: vllm } }\n")); err == nil || !strings.Contains(err.Error(), `providers.yaml:1:`) {
		t.Error(err)
	}
	for _, d := range []string{`preset: "", base_url: "http://x"`, `preset: vllm, protocol: ""`, `preset: vllm, budget: { calls: 1, window: "" }`,
		`preset: vllm, dialect: { effort: "" }`, `preset: vllm, dialect: { schema: "" }`, `preset: vllm, dialect: { reasoning: [""] }`} {
		_, err := Read("providers.yaml", []byte("endpoints:\n  a: { "+d+" }\n"))
		if err == nil || !strings.Contains(err.Error(), "providers.yaml:2:") {
			t.Errorf("%s: %v", d, err)
		}
	}
}

// Faults of headers are where the headers are, in the order of the file.
func TestFaultsAreInTheOrderOfTheFile(t *testing.T) {
	text := "endpoints:\n  z:\n    preset: vllm\n    headers:\n      Z: \"a\\nb\"\n      Host: a\n      \"b c\": d\n  a: {preset: vllm, budget: {}}\n"
	_, err := Read("p.yaml", []byte(text))
	faults, ok := errors.AsType[*source.Error](err)
	if !ok {
		t.Fatal(err)
	}
	var got []string
	for _, f := range faults.Faults {
		got = append(got, fmt.Sprintf("%d:%d %s", f.Line, f.Column, f.Path))
	}
	if want := []string{"5:10 endpoints.z.headers.Z", "6:13 endpoints.z.headers.Host", "7:14 endpoints.z.headers", "8:29 endpoints.a.budget"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Headers that nobody can send, or that simd decides itself, are refused when the file is read, with what to do.
func TestHeadersThatCannotBeGiven(t *testing.T) {
	for given, want := range map[string]string{
		`preset: vllm, headers: { "X Title": a }`:                                      `no header can have this name`,
		`preset: vllm, headers: { "": a }`:                                             `no header can have this name`,
		`preset: vllm, headers: { X-A: "a\r\nX-B: b" }`:                                "the header X-A has characters that no header can hold (want one line",
		`preset: vllm, headers: { host: a }`:                                           "the header host cannot be given: it comes from base_url",
		`preset: vllm, headers: { Content-length: "7" }`:                               "the header Content-length cannot be given",
		`preset: vllm, headers: { transfer-encoding: chunked }`:                        "simd sends each request in one piece (remove it)",
		`preset: vllm, headers: { Connection: close }`:                                 "of the connection",
		`preset: vllm, headers: { Accept-Encoding: br }`:                               "as they are",
		`preset: vllm, headers: { Idempotency-Key: a }`:                                "take them for one",
		`preset: vllm, headers: { X-A: a, x-a: b }`:                                    "the headers X-A and x-a are one header",
		`preset: openai, headers: { authorization: Basic abcdefgh }`:                   "the key is sent in it (remove it, or say auth: none",
		`base_url: "https://x", key_env: K, headers: { Authorization: a }`:             "the key is sent in it",
		`base_url: "https://x", key_env: K, auth: X-Key, headers: { x-key: abcdef }`:   "the header x-key cannot be given: the key is sent in it",
		`base_url: "https://x", key_env: K, auth: Content-Length`:                      "no key can be in the header Content-Length",
		`base_url: "https://x", key_env: K, auth: none, headers: { Authorization: a }`: "",
		`base_url: "https://x", headers: { Authorization: a, Content-Type: "application/json; charset=utf-8", user-agent: me, X-Title: "Café", Accept: "*/*" }`: "",
	} {
		_, err := Read("providers.yaml", []byte("endpoints:\n  cloud: { "+given+" }"))
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", given, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "providers.yaml:2:") || !strings.Contains(err.Error(), "endpoints.cloud")):
			t.Errorf("%s: %v, want %q", given, err, want)
		case err != nil && strings.Contains(err.Error(), "abcdef"):
			t.Errorf("%s: %v shows a value", given, err)
		}
	}
}

// Presets fill what a definition leaves out, and defaults fill the rest.
func TestPresets(t *testing.T) {
	no := false
	for name, c := range map[string]struct {
		given Definition
		want  func(d Definition) bool
	}{
		"a preset": {Definition{Preset: "openrouter"}, func(d Definition) bool {
			return d.Dialect.Effort == "reasoning.effort" && *d.Limits.Adaptive && d.KeyEnv == "OPENROUTER_API_KEY" && d.Dialect.MaxTokens == "max_tokens"
		}},
		"fields win": {Definition{Preset: "openai", BaseURL: "http://x", Limits: Limits{MaxConcurrency: 3}, Dialect: Dialect{MaxTokens: "n"}}, func(d Definition) bool {
			return d.BaseURL == "http://x" && d.Limits.MaxConcurrency == 3 && *d.Limits.Adaptive && d.Dialect.MaxTokens == "n" && d.Dialect.Effort == "reasoning_effort"
		}},
		"false is a value": {Definition{Preset: "openai", Limits: Limits{Adaptive: &no}, Dialect: Dialect{StreamUsage: &no}}, func(d Definition) bool { return !*d.Limits.Adaptive && !*d.Dialect.StreamUsage }},
		"without a preset": {Definition{BaseURL: "http://x"}, func(d Definition) bool {
			return d.Protocol == "openai" && d.Dialect.MaxTokens == "max_tokens" && d.Limits.MaxConcurrency == 10_000 && d.Auth == "" && d.KeyEnv == ""
		}},
		"a key of one's own":   {Definition{Preset: "openai", KeyFile: "k"}, func(d Definition) bool { return d.KeyEnv == "" && d.Auth == "bearer" }},
		"a key for a local":    {Definition{Preset: "vllm", KeyEnv: "K"}, func(d Definition) bool { return d.KeyEnv == "K" && d.Auth == "bearer" }},
		"a header for the key": {Definition{BaseURL: "http://x", KeyEnv: "K", Auth: "X-Key"}, func(d Definition) bool { return d.Auth == "X-Key" }},
		"defaults of time": {Definition{Preset: "vllm", Timeouts: Timeouts{Silence: seconds(1)}}, func(d Definition) bool {
			return d.Timeouts == Timeouts{seconds(5), seconds(60), seconds(1), seconds(600)}
		}},
		"headers are joined": {Definition{Preset: "anthropic", Headers: map[string]string{"X-Mine": "1"}}, func(d Definition) bool { return len(d.Headers) == 2 && d.Headers["anthropic-version"] == "2023-06-01" }},
		"headers win": {Definition{Preset: "anthropic", Headers: map[string]string{"Anthropic-Version": "mine"}}, func(d Definition) bool {
			return reflect.DeepEqual(d.Headers, map[string]string{"Anthropic-Version": "mine"})
		}},
	} {
		before := fmt.Sprint(c.given.Headers)
		if d := c.given.whole(); !c.want(d) {
			t.Errorf("%s: %+v", name, d)
		}
		if fmt.Sprint(c.given.Headers) != before {
			t.Errorf("%s: the given headers are now %v", name, c.given.Headers)
		}
	}
	for name, p := range Presets() {
		p.Preset = name
		if name == "azure" {
			p.BaseURL = "https://x"
		}
		e, err := New(name, p, "", func(string) string { return "k" })
		if err != nil || e.Limits.MaxConcurrency == 0 || e.Timeouts.Whole == 0 {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}
	f, err := Read("providers.yaml", []byte("endpoints:\n  cloud: { preset: openai, limits: { max_concurrency: 0 } }"))
	if err != nil || f.Endpoints["cloud"].whole().Limits.MaxConcurrency != 64 {
		t.Errorf("0 requests at once: %+v, %v", f, err)
	}
	f, err = Read("providers.yaml", []byte("endpoints:\n  cloud: { preset: openai, timeouts: { silence: 7s }, custom: 1 }"))
	if err == nil {
		t.Errorf("an unknown field: %+v", f)
	}
}

// Promise 1: how the key travels, and where it comes from.
func TestKeyTravels(t *testing.T) {
	var got http.Header
	var address string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { got, address = r.Header, r.URL.String() }))
	defer s.Close()
	t.Setenv("HOME", t.TempDir())
	home, _ := os.UserHomeDir()
	dir := t.TempDir()
	for file, text := range map[string]string{filepath.Join(dir, "keys"): "from-file\n", filepath.Join(home, "keys"): "from-home\r\nsecond", filepath.Join(dir, "marked"): "\ufeff\r\n from-marked\r\n"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := map[string]string{"OPENAI_API_KEY": "from-preset", "MINE": " from-env\n", "AZURE_OPENAI_API_KEY": "azure"}
	for name, c := range map[string]struct {
		d            Definition
		header, want string
	}{
		"preset":         {Definition{Preset: "openai"}, "Authorization", "Bearer from-preset"},
		"variable":       {Definition{Preset: "openai", KeyEnv: "MINE"}, "Authorization", "Bearer from-env"},
		"relative file":  {Definition{Preset: "openai", KeyFile: "keys", KeyEnv: "MINE"}, "Authorization", "Bearer from-file"},
		"absolute file":  {Definition{Preset: "openai", KeyFile: filepath.Join(dir, "keys")}, "Authorization", "Bearer from-file"},
		"home":           {Definition{Preset: "openai", KeyFile: "~/keys"}, "Authorization", "Bearer from-home"},
		"marked file":    {Definition{Preset: "openai", KeyFile: "marked"}, "Authorization", "Bearer from-marked"}, // with the mark of the byte order
		"header":         {Definition{Preset: "azure"}, "Api-Key", "azure"},
		"no key there":   {Definition{Preset: "openrouter"}, "Authorization", ""},
		"none wanted":    {Definition{Preset: "openai", Auth: "none"}, "Authorization", ""},
		"Bearer":         {Definition{Preset: "openai", Auth: "Bearer"}, "Authorization", "Bearer from-preset"},
		"the key wins":   {Definition{Preset: "openai", Headers: map[string]string{"authorization": "mine"}}, "Authorization", "Bearer from-preset"},
		"further header": {Definition{Preset: "openai", Headers: map[string]string{"x-title": "town"}}, "X-Title", "town"},
	} {
		c.d.BaseURL, c.d.Query = s.URL+"/v1///", map[string]string{"api-version": "1 2", "a": "&"}
		e, err := New("cloud", c.d, dir, func(name string) string { return env[name] })
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		reply, err := e.Do(context.Background(), Ask{Path: "/models"})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		reply.Close()
		_ = e.Close()
		if got.Get(c.header) != c.want || got.Get("Content-Type") != "application/json" || address != "/v1/models?a=%26&api-version=1+2" {
			t.Errorf("%s: %s is %q, want %q; %s", name, c.header, got.Get(c.header), c.want, address)
		}
	}
}

// A key that cannot be is refused without being shown; a file is not read for ever.
func TestKeyRefused(t *testing.T) {
	dir := t.TempDir()
	for file, text := range map[string]string{"large": strings.Repeat("k", 1<<20), "utf16": "\xff\xfeh\x00u\x00s\x00h\x00", "only a mark": "\ufeff\n", "bearer": "Bearer sk-hush\n"} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		d    Definition
		env  string
		want string
	}{
		"header-breaking":    {Definition{KeyEnv: "K"}, "sk-hush\r\nX:y", "endpoints.cloud.key_env: the key has characters that no header can hold"},
		"not ASCII":          {Definition{KeyEnv: "K"}, "sk-hush-\u00e9", "no header can hold"},
		"with Bearer":        {Definition{KeyEnv: "K"}, "Bearer sk-hush", "endpoints.cloud.key_env: the key has a blank or a quotation mark; give the key alone, without Bearer"},
		"with a tab":         {Definition{KeyEnv: "K"}, "Bearer\tsk-hush", "give the key alone"},
		"with Bearer, file":  {Definition{KeyFile: "bearer"}, "", "endpoints.cloud.key_file: the key has a blank or a quotation mark; give the key alone"},
		"in quotes":          {Definition{KeyEnv: "K"}, `"sk-hush"`, "without quotation marks"},
		"in UTF-16":          {Definition{KeyFile: "utf16"}, "", "endpoints.cloud.key_file: the key has characters that no header can hold; want ASCII"},
		"a mark alone":       {Definition{KeyFile: "only a mark"}, "", "endpoints.cloud.key_file: the file is empty"},
		"not set":            {Definition{KeyEnv: "K"}, "", "endpoints.cloud.key_env: the variable that it names is not set (want the name of a variable, such as CLOUD_KEY, not the key)"},
		"blank":              {Definition{KeyEnv: "K"}, " \n", "endpoints.cloud.key_env: the variable that it names is not set"},
		"of a preset":        {Definition{Preset: "openai"}, "Bearer sk-hush", "endpoints.cloud.key_env (OPENAI_API_KEY, of the preset): the key has a blank"},
		"no file":            {Definition{KeyFile: "none"}, "", "endpoints.cloud.key_file: no such file or directory (want the name of a file, not the key)"},
		"a folder":           {Definition{KeyFile: "."}, "", "endpoints.cloud.key_file: is a directory"},
		"a file of anything": {Definition{KeyFile: "large"}, "", "endpoints.cloud.key_file: the file is larger than"},
		"no CA file":         {Definition{CAFile: "sk-hush"}, "", "endpoints.cloud.ca_file: no such file or directory"},
		"CA without a key":   {Definition{CAFile: "large"}, "", "endpoints.cloud.ca_file: the file has no certificate in PEM form"},
	} {
		c.d.BaseURL = "http://x"
		_, err := New("cloud", c.d, dir, func(string) string { return c.env })
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hush") || protocol.KindOf(err) != protocol.KindInvalid {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// A key that its user pasted in the place of its file or its variable is in no error, in whatever form keys have.
func TestPastedKeys(t *testing.T) {
	for _, pasted := range []string{
		"sk-hush-1", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.hush_0123456789", "0123hush.id4567secret", "sk-hush/def+0123456789abcdef", "AKIAHUSH0123456789AB", "GSK_HUSH_0123456789", `hush\0123456789abcdefghij`,
		"~/sk-hush-0123456789", "/hush/0123456789abcdefghij", strings.Repeat("hush", 100), "sk-hush\x00a",
	} {
		for place, d := range map[string]Definition{"key_file": {KeyFile: pasted}, "key_env": {KeyEnv: pasted}} {
			d.BaseURL = "http://x"
			_, err := New("cloud", d, t.TempDir(), nothing)
			if err == nil || !strings.HasPrefix(err.Error(), "endpoints.cloud."+place+": ") || strings.Contains(strings.ToLower(err.Error()), "hush") {
				t.Errorf("%s: %v", place, err)
			}
		}
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "providers.yaml")
	if _, err := Load(file, nothing); protocol.KindOf(err) != protocol.KindNotFound {
		t.Errorf("no file: %v", err)
	}
	if _, err := Load(dir, nothing); protocol.KindOf(err) != protocol.KindInvalid {
		t.Errorf("a folder: %v", err)
	}
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("endpoints:\n  a: { preset: vllm }\n  b: { preset: ollama }\n")
	made, err := Load(file, nothing)
	if err != nil || len(made) != 2 || made["a"].String() != "a" || made["b"].BaseURL != "http://127.0.0.1:11434/v1" {
		t.Errorf("%v, %v", made, err)
	}
	write("endpoints:\n  a: { preset: vllm }\n  b: { preset: ollama, key_file: none }\n")
	made, err = Load(file, nothing)
	if err != nil || made["a"].Usable() != nil || made["b"].Usable() == nil || !strings.Contains(made["b"].Usable().Error(), "endpoints.b.key_file") {
		t.Errorf("no key: %v, %v", made, err)
	}
	if _, err := made["b"].Do(t.Context(), Ask{Path: "/"}); outcome(t, err).Outcome != llm.OutcomeAuth || !strings.Contains(err.Error(), "key_file") {
		t.Errorf("asked without its key: %v", err)
	}
	if got := DefaultFile(nothing, ""); got != "" {
		t.Error(got)
	}
	if got := DefaultFile(nothing, dir); got != "" {
		t.Error(got)
	}
	if got := DefaultFile(func(string) string { return "named.yaml" }, dir); got != "named.yaml" {
		t.Error(got)
	}
	if err := os.Mkdir(filepath.Join(dir, "simd"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file, filepath.Join(dir, "simd", "providers.yaml")); err != nil {
		t.Fatal(err)
	}
	if got := DefaultFile(nothing, dir); got != filepath.Join(dir, "simd", "providers.yaml") {
		t.Error(got)
	}
}

// A server with a certificate of one's own is believed with ca_file alone, and the
// proxies of the environment are those of all programs.
func TestCertificates(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(r.Proto)) }))
	s.EnableHTTP2 = true
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	dir := t.TempDir()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	if err := os.WriteFile(filepath.Join(dir, "ca.pem"), ca, 0o600); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]llm.Outcome{"": llm.OutcomeBadRequest, "ca.pem": llm.OutcomeOK} {
		e, err := New("cloud", Definition{BaseURL: s.URL, CAFile: file}, dir, nothing)
		if err != nil {
			t.Fatal(err)
		}
		transport := e.transport
		if transport.Proxy == nil || reflect.ValueOf(transport.Proxy).Pointer() != reflect.ValueOf(http.ProxyFromEnvironment).Pointer() {
			t.Error("the proxies are others")
		}
		if c := transport.TLSClientConfig; c != nil && (c.InsecureSkipVerify || c.MinVersion < tls.VersionTLS12) {
			t.Errorf("TLS %+v", c)
		}
		reply, err := e.Do(context.Background(), Ask{Path: "/"})
		if got := llm.OutcomeOf(err); got != want {
			t.Errorf("ca_file %q: %v", file, err)
		}
		if err == nil {
			if data, err := reply.ReadAll(); err != nil || string(data) != "HTTP/2.0" {
				t.Errorf("%q, %v", data, err)
			}
			reply.Close()
		}
		_ = e.Close()
	}
}

func TestModelNames(t *testing.T) {
	e := at(t, Definition{}, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.Path != "/models" {
			w.WriteHeader(404)
		}
		_, _ = w.Write([]byte(`{"object":"list","data":[{"id":"b"},{"id":"a","owned_by":"x"}]}`))
	})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if names, err := e.List(ctx); err != nil || strings.Join(names, " ") != "b a" {
		t.Errorf("%v, %v", names, err)
	}
	lost := at(t, Definition{}, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(404) })
	if _, err := lost.List(ctx); err == nil || !strings.Contains(err.Error(), "base_url names no version") {
		t.Errorf("%v", err)
	}
	for path, want := range map[string]bool{"": false, "/v1": true, "/api/v1": true, "/v1beta/openai": true, "/vast": false, "/v": false, "/models": false} {
		if versioned(path) != want {
			t.Errorf("%q: %v", path, !want)
		}
	}
	broken := at(t, Definition{}, func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(`<html>`)) })
	if _, err := broken.List(ctx); outcome(t, err).Outcome != llm.OutcomeBadOutput {
		t.Errorf("%v", err)
	}
}
