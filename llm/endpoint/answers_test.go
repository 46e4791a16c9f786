package endpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"tavernsim/internal/wirejson"
	"tavernsim/llm"
	"tavernsim/protocol"
)

func TestCount(t *testing.T) {
	for _, c := range []struct{ in, want protocol.Usage }{
		{protocol.Usage{Input: 10, Output: 5, CacheRead: 3, Reasoning: 2}, protocol.Usage{Input: 10, Output: 5, CacheRead: 3, Reasoning: 2}},
		{protocol.Usage{}, protocol.Usage{Input: 26, Output: 11, Estimated: true}},
		{protocol.Usage{Output: 5}, protocol.Usage{Input: 26, Output: 5, Estimated: true}},
		{protocol.Usage{Input: -1, Output: 5, CacheRead: 3}, protocol.Usage{Input: 26, Output: 11, Estimated: true}},
		{protocol.Usage{Input: 10, Output: 1 << 60}, protocol.Usage{Input: 26, Output: 11, Estimated: true}},
		{protocol.Usage{Input: 9, Output: 3, CacheRead: 1e9}, protocol.Usage{Input: 26, Output: 11, Estimated: true}},
		{protocol.Usage{Input: 9, Output: 3, Reasoning: 1e9}, protocol.Usage{Input: 26, Output: 11, Estimated: true}},
		{protocol.Usage{Input: 1e6, Output: 3}, protocol.Usage{Input: 26, Output: 11, Estimated: true}},
		{protocol.Usage{Input: 9, Output: 1e6}, protocol.Usage{Input: 26, Output: 11, Estimated: true}},
		{protocol.Usage{Input: 1 << 62, CacheRead: 1 << 62, CacheWrite: 1 << 62}, protocol.Usage{Input: 26, Output: 11, Estimated: true}},
		{protocol.Usage{Input: 10, Output: 5, CacheRead: 100, CacheWrite: 7}, protocol.Usage{Input: 117, Output: 5, CacheRead: 100, CacheWrite: 7}}, // the server leaves the cache out
		{protocol.Usage{Input: 10, Output: 5, Reasoning: 50}, protocol.Usage{Input: 10, Output: 55, Reasoning: 50}},                                 // and the reasoning
	} {
		if Count(&c.in, &protocol.ModelRequest{MaxTokens: 1024}, 100, 40); c.in != c.want {
			t.Errorf("%+v, want %+v", c.in, c.want)
		}
	}
	long, pictured := protocol.Usage{Input: 10, Output: 1e6}, protocol.Usage{Input: 90_000, Output: 1}
	if Count(&long, &protocol.ModelRequest{MaxTokens: 1024}, 100, 4e6); long.Output != 1e6 || long.Estimated {
		t.Errorf("a server that ignores max_tokens is believed, because its answer is long: %+v", long)
	}
	if Count(&pictured, &protocol.ModelRequest{Messages: []protocol.ModelMessage{{Images: make([]protocol.Image, 20)}}}, 100, 4); pictured.Input != 90_000 || pictured.Estimated {
		t.Errorf("pictures have tokens: %+v", pictured)
	}
	silent := protocol.Usage{Input: 10}
	if Count(&silent, &protocol.ModelRequest{}, 100, 0); silent != (protocol.Usage{Input: 10}) {
		t.Errorf("an answer of nothing: %+v", silent)
	}
	for text, want := range map[string]Tokens{`7`: 7, `7.0`: 7, `"7"`: 7, `null`: 0, `-3`: -3, `1e3`: 1000, `1e300`: -1, `"many"`: -1, `{"a":1}`: -1, `[1]`: -1, `true`: -1, `99999999999999999999`: -1} {
		var n Tokens
		if err := wirejson.Read([]byte(text), n.Read); err != nil || n != want {
			t.Errorf("%s is %d (%v), want %d", text, n, err, want)
		}
	}
}

func TestExtend(t *testing.T) {
	for _, c := range []struct {
		extra map[string]any
		want  string
	}{
		{nil, `{"a":"<&>","b":{"x":1}}`},
		{map[string]any{"z": true, "e": nil}, `{"a":"<&>","b":{"x":1},"e":null,"z":true}`},
		{map[string]any{"a": "mine<", "m": 2}, `{"a":"mine<","b":{"x":1},"m":2}`},
		{map[string]any{"x": 2}, `{"a":"<&>","b":{"x":1},"x":2}`},
	} {
		body, err := Extend([]byte(`{"a":"<&>","b":{"x":1}}`), c.extra)
		if err != nil || string(body) != c.want {
			t.Errorf("%s (%v), want %s", body, err, c.want)
		}
	}
	for _, bad := range []map[string]any{{"f": func() {}}, {"a": func() {}}} {
		if _, err := Extend([]byte(`{"a":1}`), bad); err == nil {
			t.Errorf("%v is written", bad)
		}
	}
}

// lines is a Reader whose protocol is a line an event: "text", "END", "STOP", "FAIL".
type lines struct {
	said    []string
	stopped bool
	calls   []protocol.Call
}

func (l *lines) Whole(body []byte) error { l.said = append(l.said, string(body)); return nil }

func (l *lines) Part(e Event) (llm.Chunk, error) {
	switch text := string(e.Data); text {
	case "END":
		return llm.Chunk{}, io.EOF
	case "STOP":
		l.stopped = true
		return llm.Chunk{}, nil
	case "FAIL", "{ha":
		return llm.Chunk{}, &llm.Failure{Outcome: llm.OutcomeBadOutput, Message: "no line"}
	case "FILTER":
		return llm.Chunk{}, &llm.Failure{Outcome: llm.OutcomeBadRequest, Message: "no", Cause: &Filtered{"wicked"}}
	default:
		l.said = append(l.said, text)
		return llm.Chunk{Text: text}, nil
	}
}

func (l *lines) Ended() bool { return l.stopped }

func (l *lines) Answer(int) (protocol.ModelAnswer, error) {
	a := protocol.ModelAnswer{Text: strings.Join(l.said, ""), Finish: protocol.FinishStop, Usage: protocol.Usage{Input: 1, Output: 1}, Calls: l.calls}
	if a.Text == "" {
		return a, &llm.Failure{Outcome: llm.OutcomeBadOutput, Message: "the answer is empty"}
	}
	return a, nil
}

// A stream has its end, or is truncated; what a filter says is an answer.
func TestComplete(t *testing.T) {
	for name, c := range map[string]struct {
		kind, body string
		want       llm.Outcome
		text       string
		finish     protocol.FinishReason
	}{
		"end mark":          {"text/event-stream; charset=utf-8", "data: a\n\ndata: b\n\ndata: END\n\ndata: c\n\n", llm.OutcomeOK, "ab", protocol.FinishStop},
		"reason":            {"text/event-stream", "data: a\n\ndata: STOP\n\ndata: b\n\n", llm.OutcomeOK, "ab", protocol.FinishStop},
		"neither":           {"text/event-stream", "data: a\n\n", llm.OutcomeTruncated, "", ""},
		"no event":          {"text/event-stream", ": nothing\n\n", llm.OutcomeTruncated, "", ""},
		"cut in an event":   {"text/event-stream", "data: a\n\ndata: {ha", llm.OutcomeTruncated, "", ""},
		"a bad event":       {"text/event-stream", "data: a\n\ndata: FAIL\n\n", llm.OutcomeBadOutput, "", ""},
		"nothing was said":  {"text/event-stream", "data: END\n\n", llm.OutcomeBadOutput, "", ""},
		"a filter":          {"text/event-stream", "data: a\n\ndata: FILTER\n\n", llm.OutcomeOK, "a", protocol.FinishFiltered},
		"a filter at first": {"text/event-stream", "data: FILTER\n\n", llm.OutcomeOK, "", protocol.FinishFiltered},
		"no type":           {"text/plain; charset=utf-8", "data: a\n\ndata: END\n\n", llm.OutcomeOK, "a", protocol.FinishStop},
		"odd type":          {"application/octet-stream", ": x\n\nevent: y\ndata: a\n\ndata: END\n\n", llm.OutcomeOK, "a", protocol.FinishStop},
		"whole, no type":    {"text/plain; charset=utf-8", "{}", llm.OutcomeOK, "{}", protocol.FinishStop},
		"nothing, no type":  {"text/plain; charset=utf-8", "", llm.OutcomeBadOutput, "", ""},
		"a page":            {"text/html", "data: a\n\ndata: END\n\n", llm.OutcomeOK, "data: a\n\ndata: END\n\n", protocol.FinishStop},
		"a stream as JSON":  {"application/json", "data: a\n\ndata: END\n\n", llm.OutcomeOK, "a", protocol.FinishStop},
		"whole":             {"application/json", "a body", llm.OutcomeOK, "a body", protocol.FinishStop},
	} {
		t.Run(name, func(t *testing.T) {
			e := at(t, Definition{}, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", c.kind)
				_, _ = io.WriteString(w, c.body)
			})
			var said strings.Builder
			a, err := e.Complete(context.Background(), Ask{Path: "/", Body: []byte("{}"), Stream: true}, &lines{}, func(c llm.Chunk) error { said.WriteString(c.Text); return nil })
			if got := llm.OutcomeOf(err); got != c.want {
				t.Fatalf("%s (%v), want %s", got, err, c.want)
			}
			if err != nil {
				return
			}
			if a.Text != c.text || said.String() != c.text || a.Finish != c.finish {
				t.Errorf("%q, chunks %q, finish %s", a.Text, said.String(), a.Finish)
			}
			if o := a.Origin; o.Endpoint != "cloud" || o.Attempts != 1 || o.FirstChunk <= 0 || o.FirstChunk > a.Latency || (o.Refused == "wicked") != (c.finish == protocol.FinishFiltered) {
				t.Errorf("origin %+v, latency %s", o, a.Latency)
			}
		})
	}
}

// Any status of success has an answer: gateways and job queues give 201 and others.
func TestStatusOfSuccess(t *testing.T) {
	for _, status := range []int{200, 201, 202, 203, 206} {
		e := at(t, Definition{}, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "a body")
		})
		if a, err := e.Complete(context.Background(), Ask{Path: "/", Body: []byte("{}")}, &lines{}, nil); err != nil || a.Text != "a body" {
			t.Errorf("%d: %q, %v", status, a.Text, err)
		}
	}
}

// A stream that has said why the model stopped is an answer, however its connection ends. One
// that has not is none.
func TestConnectionLostAfterTheReason(t *testing.T) {
	for body, want := range map[string]llm.Outcome{
		"data: a\n\ndata: STOP\n\n":          llm.OutcomeOK,
		"data: a\n\ndata: STOP\n\ndata: {ha": llm.OutcomeOK,
		"data: a\n\n":                        llm.OutcomeServerError,
	} {
		for _, lost := range []bool{true, false} {
			e := at(t, Definition{}, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, body)
				if lost {
					_ = http.NewResponseController(w).Flush()
					panic(http.ErrAbortHandler)
				}
			})
			var said strings.Builder
			a, err := e.Complete(context.Background(), Ask{Path: "/", Body: []byte("{}"), Stream: true}, &lines{}, func(c llm.Chunk) error { said.WriteString(c.Text); return nil })
			got := llm.OutcomeOf(err)
			want := want
			if !lost && want != llm.OutcomeOK {
				want = llm.OutcomeTruncated
			}
			if got != want || want == llm.OutcomeOK && (a.Text != "a" || said.String() != "a") {
				t.Errorf("%q, lost %v: %s (%v), text %q, chunks %q", body, lost, got, err, a.Text, said.String())
			}
		}
	}
}

// A provider that was closed gives no answer, even if the reason had come.
func TestClosedAfterTheReason(t *testing.T) {
	hold := make(chan struct{})
	e := at(t, Definition{}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: a\n\ndata: STOP\n\n: x\n\n")
		_ = http.NewResponseController(w).Flush()
		<-hold
	})
	t.Cleanup(func() { close(hold) })
	ctx, cancel := context.WithCancel(context.Background())
	r := &lines{}
	_, err := e.Complete(ctx, Ask{Path: "/", Body: []byte("{}"), Stream: true}, r, func(llm.Chunk) error { cancel(); return nil })
	if got := llm.OutcomeOf(err); got != llm.OutcomeCancelled {
		t.Errorf("%s (%v)", got, err)
	}
}

// A mark of the byte order before an answer, or before a list of models, is no part of it.
func TestByteOrderMark(t *testing.T) {
	e := at(t, Definition{}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/refused" {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, "\ufeff"+`{"error":{"code":"context_length_exceeded","message":"m"}}`)
			return
		}
		_, _ = io.WriteString(w, "\ufeff"+`{"data":[{"id":"m"}]}`)
	})
	if a, err := e.Complete(context.Background(), Ask{Path: "/", Body: []byte("{}")}, &lines{}, nil); err != nil || a.Text != `{"data":[{"id":"m"}]}` {
		t.Errorf("%q, %v", a.Text, err)
	}
	if list, err := e.List(context.Background()); err != nil || len(list) != 1 {
		t.Errorf("%q, %v", list, err)
	}
	if _, err := e.Do(context.Background(), Ask{Path: "/refused"}); llm.OutcomeOf(err) != llm.OutcomeContext {
		t.Errorf("%v", err)
	}
}

// The sink's error ends the request, and the request's calls have ids.
func TestCompleteSink(t *testing.T) {
	e := at(t, Definition{}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: a\n\ndata: b\n\ndata: END\n\n")
	})
	full, n := errors.New("full"), 0
	if _, err := e.Complete(context.Background(), Ask{Path: "/", Stream: true}, &lines{}, func(llm.Chunk) error { n++; return full }); !errors.Is(err, full) || n != 1 {
		t.Errorf("%v after %d chunks", err, n)
	}
	var got []string
	_, err := e.Complete(context.Background(), Ask{Path: "/", Stream: true}, &lines{calls: make([]protocol.Call, 2)}, func(c llm.Chunk) error {
		if c.Call != nil {
			got = append(got, c.Call.ID)
		}
		return nil
	})
	if err != nil || fmt.Sprint(got) != "[call_1 call_2]" {
		t.Errorf("%v, %v", got, err)
	}
}

// Promise 1: nothing of an answer has the key, however the server writes it.
func TestKeyInAnswers(t *testing.T) {
	e := at(t, Definition{}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: a "+key+"\n\ndata: END\n\n")
	})
	a, err := e.Complete(context.Background(), Ask{Path: "/", Stream: true}, &echo{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprintf("%+v %+v", a, a.Origin); strings.Contains(text, key) || strings.Count(text, "[key]") != 11 {
		t.Errorf("%s", text)
	}
}

// echo is a Reader that finds the key everywhere.
type echo struct{ lines }

func (l *echo) Answer(int) (protocol.ModelAnswer, error) {
	return protocol.ModelAnswer{
		Model: key, Text: key, Reasoning: key, Finish: protocol.FinishStop,
		Calls: []protocol.Call{
			{ID: key, Tool: key, Params: map[string]any{"a": []any{key, map[string]any{key: "x" + key, "n": int64(1)}}}},
			{Broken: key},
		},
		Origin: &protocol.ModelOrigin{ID: key, Fingerprint: key},
	}, nil
}
