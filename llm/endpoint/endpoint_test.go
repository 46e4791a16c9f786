package endpoint

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"go.uber.org/goleak"

	"tavernsim/llm"
	"tavernsim/llm/endpoint/direct"
	"tavernsim/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const key = "sk-secret-0001"

func at(t *testing.T, d Definition, h http.HandlerFunc) *Endpoint {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	d.BaseURL, d.KeyEnv = s.URL, "K"
	e, err := New("cloud", d, "", func(string) string { return key })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

func outcome(t *testing.T, err error) *llm.Failure {
	t.Helper()
	f, ok := errors.AsType[*llm.Failure](err)
	if !ok {
		t.Fatalf("%v is no failure", err)
	}
	return f
}

// Promise 1: the key goes to the endpoint alone, and no text that comes back has it.
func TestKeyStays(t *testing.T) {
	strangers := 0
	stranger := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { strangers++ }))
	defer stranger.Close()
	var agents []string
	e := at(t, Definition{}, func(w http.ResponseWriter, r *http.Request) {
		agents = append(agents, r.UserAgent())
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, stranger.URL, http.StatusTemporaryRedirect)
		case "/refuse":
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"error": {"message": "wrong key: ` + r.Header.Get("Authorization") + `"}}`))
		default:
			_, _ = w.Write([]byte(r.Header.Get("Authorization")))
		}
	})
	if _, err := e.Do(context.Background(), Ask{Path: "/moved", Body: []byte("{}")}); outcome(t, err).Outcome != llm.OutcomeBadRequest || strangers > 0 || !strings.Contains(err.Error(), "redirects to "+stranger.URL) {
		t.Errorf("redirected: %v, and %d requests elsewhere", err, strangers)
	}
	if _, err := e.Do(context.Background(), Ask{Path: "/refuse"}); outcome(t, err).Outcome != llm.OutcomeAuth || strings.Contains(err.Error(), key) || !strings.Contains(err.Error(), "[key]") {
		t.Errorf("refused: %v", err)
	}
	r, err := e.Do(context.Background(), Ask{Path: "/echo"})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if data, err := r.ReadAll(); err != nil || e.Hide(string(data)) != "Bearer [key]" {
		t.Errorf("%q, %v", data, err)
	}
	if !slices.Equal(agents, []string{"simd", "simd", "simd"}) {
		t.Errorf("the requests say that they are of %q", agents)
	}
}

// Promise 2: every phase has its bound.
func TestTimeouts(t *testing.T) {
	free := make(chan struct{})
	d := Definition{Timeouts: Timeouts{FirstByte: protocol.Duration(50 * time.Millisecond), Silence: protocol.Duration(50 * time.Millisecond), Whole: protocol.Duration(150 * time.Millisecond)}}
	e := at(t, d, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/begins" {
			_, _ = w.Write([]byte("data: x\n\n"))
			w.(http.Flusher).Flush()
		}
		<-free
	})
	defer close(free)
	for _, c := range []struct {
		ask  Ask
		most time.Duration
		want string
	}{
		{Ask{Path: "/", Stream: true}, 140 * time.Millisecond, "nothing came in time"},
		{Ask{Path: "/"}, time.Second, "no answer in time"},
		{Ask{Path: "/", Timeout: 20 * time.Millisecond}, 140 * time.Millisecond, "no answer in time"},
		{Ask{Path: "/begins", Stream: true}, 140 * time.Millisecond, "nothing came in time"},
	} {
		began := time.Now()
		r, err := e.Do(context.Background(), c.ask)
		if err == nil {
			for _, broken := range r.Events() {
				err = broken
			}
			r.Close()
		}
		if f := outcome(t, err); f.Outcome != llm.OutcomeTimeout || !strings.Contains(f.Message, c.want) {
			t.Errorf("%+v: %v after %s", c.ask, err, time.Since(began))
		}
	}
}

// A failure says whether anything can have left.
func TestUnsent(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) }))
	e, err := New("cloud", Definition{BaseURL: s.URL}, "", func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := e.Do(t.Context(), Ask{Path: "/", Body: []byte("{}")}); outcome(t, err).Unsent {
		t.Errorf("it left: %v", err)
	}
	s.Close()
	for _, size := range []int{2, direct.MaxBody + 1} { // net/http carries the larger one
		if _, err := e.Do(t.Context(), Ask{Path: "/", Body: make([]byte, size)}); !outcome(t, err).Unsent {
			t.Errorf("nobody listens, %d bytes: %v", size, err)
		}
	}
}

// Promise 4: a stream is bounded, and its events come as they were sent.
func TestEvents(t *testing.T) {
	e := at(t, Definition{}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/long" {
			_, _ = w.Write([]byte("data: " + strings.Repeat("x", MaxLine+1) + "\n\n"))
			return
		}
		if r.URL.Path == "/marked" {
			_, _ = w.Write([]byte("\ufeffdata: a\n\n\ufeffdata: b\n\ndata: c"))
			return
		}
		_, _ = w.Write([]byte(": a comment\r\nevent: one\r\ndata: a\r\ndata:b\r\n\r\n\ndata: \n\ndata:\ndata:\n\ndata: the last"))
	})
	read := func(path string) (got []string, err error) {
		r, err := e.Do(context.Background(), Ask{Path: path, Stream: true})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for event, broken := range r.Events() {
			if err = broken; err == nil {
				got = append(got, event.Type+"="+string(event.Data))
			}
		}
		return got, err
	}
	if got, err := read("/"); err != nil || strings.Join(got, "|") != "one=a\nb|=\n|=the last" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := read("/marked"); err != nil || strings.Join(got, "|") != "=a|=c" { // the mark of the byte order stands before all else
		t.Errorf("%q, %v", got, err)
	}
	if _, err := read("/long"); outcome(t, err).Outcome != llm.OutcomeBadOutput || !strings.Contains(err.Error(), "a line of more than 4194304 bytes") {
		t.Errorf("a long line: %v", err)
	}
}

// A server that speaks another protocol is told at once; garbage may be of a connection, and is asked for again.
func TestServersOfOtherProtocols(t *testing.T) {
	for says, want := range map[string]struct {
		outcome llm.Outcome
		text    string
	}{
		"\x00\x00\x12\x04\x00\x00\x00\x00\x00": {llm.OutcomeBadRequest, "speaks HTTP/2 alone"},
		"\x15\x03\x01\x00\x02\x02\x46":         {llm.OutcomeBadRequest, "begin with https://"},
		"SSH-2.0-OpenSSH_9.6\r\n":              {llm.OutcomeServerError, `its answer begins with "SSH-"`},
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = http.ReadRequest(bufio.NewReader(c))
			_, _ = io.WriteString(c, says)
			_ = c.Close()
		}()
		e, err := New("cloud", Definition{BaseURL: "http://" + l.Addr().String()}, "", nothing)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Do(t.Context(), Ask{Path: "/"}); outcome(t, err).Outcome != want.outcome || !strings.Contains(err.Error(), want.text) {
			t.Errorf("%q: %v", says, err)
		}
		_, _ = l.Close(), e.Close()
		<-done
	}
}

// Lines end with CRLF, LF or CR.
func TestLineEnds(t *testing.T) {
	for _, end := range []string{"\n", "\r\n", "\r"} {
		text := strings.ReplaceAll("\n: hi\nevent: x\ndata: {\"a\":1}\n\ndata: b\ndata: c\n\n\n{\"a\":2}\ndata: "+strings.Repeat("l", 20_000)+"\n\n", "\n", end)
		want := `x{"a":1}|b` + "\nc" + `|{"a":2}|` + strings.Repeat("l", 20_000)
		for name, from := range map[string]io.Reader{"at once": strings.NewReader(text), "byte by byte": iotest.OneByteReader(strings.NewReader(text))} {
			if got := strings.Join(events(t, from), "|"); got != want {
				t.Errorf("%q %s: %.100q", end, name, got)
			}
		}
	}
	in, out := io.Pipe()
	defer out.Close()
	go func() { _, _ = io.WriteString(out, "data: a\r\r") }()
	reply := &Reply{body: in, watch: newWatch(t.Context(), at(t, Definition{}, nil), Ask{Stream: true})}
	for e, err := range reply.Events() { // what comes behind a CR is not waited for
		if err != nil || string(e.Data) != "a" {
			t.Errorf("%q %v", e.Data, err)
		}
		break
	}
	reply.watch.stop()
}

// Lines of JSON are events, and events may lack the empty line between them where that is unambiguous.
func TestEventsWithoutEmptyLines(t *testing.T) {
	for text, want := range map[string]string{
		"data: {\"a\":1}\ndata: {\"a\":2}\ndata: [DONE]\n\n":                                         `={"a":1}|={"a":2}|=[DONE]`,
		"event: x\ndata: {\"a\":1}\nevent: y\ndata: {\"a\":2}\n\n":                                   `x={"a":1}|y={"a":2}`,
		"event: x\ndata: {\"a\":1}\nid: 7\nretry: 1\nevent: y\ndata: {\"a\":2}":                      `x={"a":1}|y={"a":2}`,
		"data: {\"a\":\ndata: {\"b\":2}}\n\n":                                                        "={\"a\":\n{\"b\":2}}",
		"data:\ndata: {\"a\":1}\n\n":                                                                 "=\n{\"a\":1}",
		"event: x\ndata:\nevent: y\ndata: {\"a\":1}\n\n":                                             "y=\n{\"a\":1}",
		"data: {\"a\":1}\nevent: x\n\n":                                                              `x={"a":1}`,
		"data: {\"a\":1}\ndata: b\n\n":                                                               "={\"a\":1}\nb",
		"data: a\ndata: {\"a\":1}\n\n":                                                               "=a\n{\"a\":1}",
		"{\"a\":1}\n{\"a\":2}\r\n\n{\"a\":3}":                                                        `={"a":1}|={"a":2}|={"a":3}`,
		"event: x\n{\"a\":1}\n{\"a\":2}\ndata: {\"a\":3}\n{\"a\":4}\ndata: {\"a\":5}\n\ndata: b\n\n": `x={"a":1}|={"a":2}|={"a":3}|={"a":4}|={"a":5}|=b`,
	} {
		if got := strings.Join(events(t, strings.NewReader(text)), "|"); got != strings.ReplaceAll(want, "=", "") {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

func TestKeyFiles(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"good": "  " + key + "  \nmore\n", "empty": "\n", "odd": "a\x01b"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	none := func(string) string { return "" }
	for file, want := range map[string]string{"good": "", "empty": "is empty", "odd": "no header can hold", "missing": "key_file"} {
		e, err := New("x", Definition{BaseURL: "http://127.0.0.1:1", KeyFile: file}, dir, none)
		if want == "" {
			if err != nil || e.Hide(key) != "[key]" {
				t.Errorf("%s: %v", file, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", file, err, want)
		}
	}
	if _, err := New("x", Definition{Preset: "openai", KeyEnv: "MINE"}, dir, none); err == nil || !strings.Contains(err.Error(), "endpoints.x.key_env") {
		t.Errorf("a variable that is not set: %v", err)
	}
}

func TestFileFaults(t *testing.T) {
	_, err := Read("providers.yaml", []byte(`
endpoints:
  "a b": { preset: ollama }
  one: { preset: olama }
  two: { key_file: x }
  three: { base_url: "ftp://x" }
  four: { base_url: "https://me:secret@x" }
  five: { base_url: "http://x", dialect: { reasoning: [thoughts], max_tokens: n_predict } }
`))
	for _, want := range []string{"a b", `did you mean "ollama"`, "no base_url", "this is no address", "may not have a name", "endpoints.five.dialect.reasoning[0]: this text is not allowed", "want max_tokens, max_completion_tokens"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nlacks %q", err, want)
		}
	}
}

// What stands in the wrong place of the file may be a key: no fault quotes it.
func TestFaultsQuoteNoValue(t *testing.T) {
	for text, want := range map[string]string{
		"endpoints: {mine: s3cret77}":   "want an object, got text",
		"endpoints: [s3cret77]":         "got a list",
		"endpoints: {mine: {s3cret77}}": "unknown field",
		"endpoints: {mine: {base_url: 'http://x', headers: Bearer s3cret77}}":         "want an object, got text",
		"endpoints: {mine: {base_url: 'http://x', headers: {X: 77777777}}}":           "got a whole number (write it in quotes)",
		"endpoints: {mine: {base_url: 'http://x', query: {X: 77777777}}}":             "got a whole number",
		"endpoints: {mine: {base_url: 'http://x', preset: s3cret77}}":                 "this text is not allowed",
		"endpoints: {mine: {base_url: 'http://x', timeouts: {whole: s3cret77}}}":      "want a duration",
		"endpoints: {mine: {base_url: 'http://s3cret77@x'}}":                          "an address may not have a name",
		"endpoints: {mine: {base_url: 'http://x', auth: Bearer s3cret77}}":            "this is no name of a header",
		"endpoints: {mine: {base_url: 'http://x', headers: {'A: s3cret77': x}}}":      "no header can have this name",
		"endpoints: {mine: {base_url: 'http://x', budget: {on_exhausted: s3cret77}}}": "want refuse, pause or end",
	} {
		if _, err := Read("providers.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), "7777") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// The rules of prices hold for those in the file.
func TestPricesAreChecked(t *testing.T) {
	for rate, want := range map[string]string{
		"{input: 1, output: 1}":                                         "",
		"{input: 0, output: 0, cache_read: 0}":                          "",
		"{input: 1, output: 1, long: {above: 10, input: 2, output: 1}}": "",
		"{input: 1}":                                                       `missing required field "output"`,
		"{input: -1, output: 1}":                                           "want 0 to 100000",
		"{input: 100001, output: 1}":                                       "want 0 to 100000",
		"{input: 1, output: 1, cache_read: -5}":                            "want 0 to 100000",
		"{input: 1, output: 1, long: {above: 10}}":                         `missing required field "input"`,
		"{input: 1, output: 1, long: {above: 0, input: 1, output: 1}}":     "want 1 to 1000000000",
		"{input: 1, output: 1, long: {above: 10, input: 0.5, output: 1}}":  "want 1 to 1000",
		"{input: 1, output: 1, long: {above: 10, input: 1, output: 2000}}": "want 1 to 1000",
	} {
		_, err := Read("providers.yaml", []byte("endpoints: {mine: {base_url: 'http://x', prices: {'*': "+rate+"}}}"))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", rate, err, want)
		}
	}
}
