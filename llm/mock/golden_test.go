package mock

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"golang.org/x/tools/txtar"

	"tavernsim/internal/doctest"
	"tavernsim/llm/mock/wire"
)

// recorder writes an answer down as a client sees it come: «5s» is a silence, and
// «reset» the end of the connection.
type recorder struct {
	header http.Header
	out    strings.Builder
	last   time.Time
	filler int
}

func (r *recorder) Header() http.Header { return r.header }

func (r *recorder) WriteHeader(status int) {
	r.silence()
	fmt.Fprintf(&r.out, "%d\n", status)
	for _, name := range []string{"Content-Type", "Content-Length", "Retry-After", "Retry-After-Ms"} {
		if v := r.header.Get(name); v != "" {
			fmt.Fprintf(&r.out, "%s: %s\n", name, v)
		}
	}
	r.out.WriteByte('\n')
}

func (r *recorder) silence() {
	if now := time.Now(); now.After(r.last) {
		fmt.Fprintf(&r.out, "«%s»", now.Sub(r.last))
		r.last = now
	}
}

func (r *recorder) Write(p []byte) (int, error) {
	r.silence()
	if len(p) >= 64<<10 && bytes.Count(p, p[:1]) == len(p) {
		r.filler += len(p)
		return len(p), nil
	}
	if r.filler > 0 {
		fmt.Fprintf(&r.out, "«%d bytes of filler»", r.filler)
		r.filler = 0
	}
	for rest := p; len(rest) > 0; {
		c, size := utf8.DecodeRune(rest)
		if c == utf8.RuneError && size == 1 {
			fmt.Fprintf(&r.out, `\x%x`, rest[0])
		} else {
			r.out.Write(rest[:size])
		}
		rest = rest[size:]
	}
	return len(p), nil
}

func (r *recorder) Flush() {}

func (r *recorder) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	r.silence()
	r.out.WriteString("«reset»\n")
	a, b := net.Pipe()
	b.Close()
	return a, nil, nil
}

// shown plays a request in a bubble, where silence takes no time.
func shown(t *testing.T, o Options, path, body string) (text string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &recorder{header: http.Header{}, last: time.Now()}
		serve(t, o).ServeHTTP(w, httptest.NewRequest("POST", path, strings.NewReader(body)))
		text = w.out.String()
	})
	return strings.TrimRight(text, "\n") + "\n"
}

// Every fault, in every form: testdata/*.txtar hold a sound answer, then what each
// fault makes of it. A fault changes the forms of its row and no others.
func TestGoldenFaults(t *testing.T) {
	forms := map[string]wire.Form{"chat": wire.ChatPlain, "chat_stream": wire.ChatStream, "messages": wire.MessagesPlain, "messages_stream": wire.MessagesStream, "embeddings": wire.Vectors}
	played := 0
	doctest.Archives(t, "testdata/*.txtar", "answers", *update, func(t *testing.T, a *txtar.Archive, _ string) string {
		form, known := forms[strings.TrimSuffix(filepath.Base(t.Name()), ".txtar")]
		if !known {
			t.Fatalf("%s is no form", t.Name())
		}
		played++
		o := Options{Seed: 7, Model: script(t, section(t, a, "script.yaml"))}
		path, body, _ := strings.Cut(section(t, a, "request"), "\n")
		sound := shown(t, o, path, body)
		out := "# sound\n" + sound
		head := between(sound, `{"id"`, `"choices"`) // the same in all chunks
		for _, k := range catalogue() {
			o.Faults.Rates = map[string]float64{k.Name: 1}
			got := shown(t, o, path, body)
			if has := k.form&form != 0; has == (got == sound) {
				t.Errorf("%s: in the catalogue %v, but the answer is\n%s", k.Name, has, got)
			} else if !has {
				continue
			}
			if head != "" {
				got = strings.ReplaceAll(got, head, "…")
			}
			out += "\n# " + k.Name + "\n" + got
		}
		return out
	})
	if played != len(forms) {
		t.Errorf("%d of %d forms", played, len(forms))
	}
}

func between(text, from, to string) string {
	_, rest, _ := strings.Cut(text, from)
	inner, _, found := strings.Cut(rest, to)
	if !found {
		return ""
	}
	return from + inner
}

func section(t *testing.T, a *txtar.Archive, name string) string {
	t.Helper()
	i := slices.IndexFunc(a.Files, func(f txtar.File) bool { return f.Name == name })
	if i < 0 {
		t.Fatalf("no section %s", name)
	}
	return strings.TrimSpace(string(a.Files[i].Data))
}

// What the script wants to fail fails as a server does.
func TestGoldenFailures(t *testing.T) {
	for _, c := range []struct{ script, body, want string }{
		{`otherwise: { fail: timeout }`, chatBody("x"), "«1m0s»«reset»\n"},
		{`otherwise: { fail: server_error }`, chatBody("x"), `"type":"server_error"`},
		{`{ failures: { rate_limited: 1, retry_after: 1500ms }, otherwise: x }`, chatBody("x"), "Retry-After: 2\nRetry-After-Ms: 1500\n"},
		{`{ latency: { fixed: 3s }, otherwise: late }`, chatBody("x"), "«3s»200\n"},
		{`otherwise: "{{.variables.mood}}"`, chatBody("x"), "400\n"},
		{`otherwise: no document`, `{"model":"m","response_format":{"type":"json_object"},"messages":[{"role":"user","content":"x"}]}`, "a JSON document was asked for"},
	} {
		if got := shown(t, Options{Model: script(t, c.script)}, "/v1/chat/completions", c.body); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s\nwant %s", c.script, got, c.want)
		}
	}
}

// Time: a whole answer comes after its latency and that of its tokens, the chunks
// of a stream one after the other; the latency is drawn for each attempt.
func TestLatency(t *testing.T) {
	latency, err := ParseLatency("median=800ms,sigma=0.4,per_token=20ms")
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Seed: 7, Latency: latency, Model: script(t, "otherwise: Twelve letters")} // 4 tokens
	plain := shown(t, o, "/chat/completions", `{"model":"m","messages":[{"role":"user","content":"x"}]}`)
	stream := shown(t, o, "/chat/completions", `{"model":"m","stream":true,"messages":[{"role":"user","content":"x"}]}`)
	first, _, _ := strings.Cut(strings.TrimPrefix(plain, "«"), "»")
	if d, err := time.ParseDuration(first); err != nil || d < 300*time.Millisecond || d > 3*time.Second || strings.Count(plain, "«") != 1 {
		t.Errorf("a whole answer after %s, %v:\n%s", first, err, plain)
	}
	if strings.Count(stream, "«20ms»") != 4 || strings.Count(stream, "«") != 5 {
		t.Errorf("a stream of 4 tokens:\n%s", stream)
	}
	synctest.Test(t, func(t *testing.T) {
		s, took := serve(t, o), map[time.Duration]bool{}
		for range 5 {
			begin := time.Now()
			ask(s, "/chat/completions", chatBody("x"))
			took[time.Since(begin)] = true
		}
		if len(took) != 5 {
			t.Errorf("5 attempts take %v", took)
		}
	})
}

// Limits: a bucket of a minute; 429 says when to come again, and then there is room.
func TestLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, Options{RPM: 60, TPM: 6000, Model: script(t, "otherwise: yes")})
		for i := range 60 {
			if w := ask(s, "/chat/completions", chatBody("x")); w.Code != 200 || w.Header().Get("X-Ratelimit-Remaining-Requests") != fmt.Sprint(59-i) || w.Header().Get("X-Ratelimit-Limit-Tokens") != "6000" {
				t.Fatalf("request %d: %d %v", i, w.Code, w.Header())
			}
		}
		w := ask(s, "/chat/completions", chatBody("x"))
		if w.Code != 429 || w.Header().Get("Retry-After") != "1" || !strings.Contains(w.Body.String(), `"type":"requests"`) || w.Header().Get("X-Ratelimit-Reset-Requests") != "1m0s" {
			t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
		}
		w = ask(s, "/messages", `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"x"}]}`)
		if w.Code != 429 || w.Header().Get("Anthropic-Ratelimit-Requests-Remaining") != "0" || w.Header().Get("Anthropic-Ratelimit-Requests-Reset") != "2000-01-01T00:01:00Z" || !strings.Contains(w.Body.String(), "rate_limit_error") {
			t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
		}
		time.Sleep(time.Second) //nolint:forbidigo // the time of a bubble
		if w := ask(s, "/chat/completions", chatBody("x")); w.Code != 200 {
			t.Errorf("after Retry-After: %d", w.Code)
		}
		if r := s.Report(0); r.Outcomes["chat/completions"]["limited"] != 1 || r.Outcomes["messages"]["limited"] != 1 {
			t.Errorf("%+v", r)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, Options{TPM: 100})
		big := chatBody(strings.Repeat("many words ", 200)) // more than the bucket holds
		if w := ask(s, "/chat/completions", big); w.Code != 200 {
			t.Errorf("a full bucket: %d", w.Code)
		}
		w := ask(s, "/chat/completions", chatBody("x"))
		if wait, err := time.ParseDuration(w.Header().Get("Retry-After-Ms") + "ms"); w.Code != 429 || err != nil || wait < time.Minute || !strings.Contains(w.Body.String(), `"type":"tokens"`) {
			t.Errorf("%d %s %v %s", w.Code, wait, err, w.Body)
		}
	})
}

// A client that leaves ends its request, wherever it is.
func TestAClientThatLeaves(t *testing.T) {
	for name, o := range map[string]Options{
		"before the answer": {Faults: Faults{Rates: map[string]float64{"slow": 1}}},
		"within":            {Faults: Faults{Rates: map[string]float64{"stall": 1}}},
		"unanswered":        {Faults: Faults{Rates: map[string]float64{"timeout": 1}}},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := serve(t, o)
			r := httptest.NewRequest("POST", "/chat/completions", strings.NewReader(chatBody("x")))
			ctx, cancel := context.WithCancelCause(r.Context())
			done := make(chan bool)
			go func() {
				s.ServeHTTP(&recorder{header: http.Header{}, last: time.Now()}, r.WithContext(ctx))
				close(done)
			}()
			synctest.Wait()
			if n := s.Report(0).InFlight; n != 1 {
				t.Errorf("%s: %d in flight", name, n)
			}
			begin := time.Now()
			cancel(errors.New("gone"))
			<-done
			if r := s.Report(0); time.Since(begin) > 0 || r.InFlight != 0 || r.Outcomes["chat/completions"]["gone"] != 1 || r.Output != 0 {
				t.Errorf("%s: after %s %+v", name, time.Since(begin), r)
			}
		})
	}
}
