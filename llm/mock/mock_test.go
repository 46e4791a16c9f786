package mock

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"tavernsim/llm/scripted"
)

func serve(t testing.TB, o Options) *Server {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func script(t testing.TB, text string) *scripted.Model {
	t.Helper()
	m, err := scripted.Load("script.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// ask sends a request without a network. Headers are name, value pairs.
func ask(s *Server, path, body string, headers ...string) *httptest.ResponseRecorder {
	method := http.MethodPost
	if body == "" {
		method = http.MethodGet
	}
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func chatBody(text string) string {
	return fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":%q}]}`, text)
}

// Promise 1: equal questions get equal bytes, in any order, from any server with
// the same seed; another seed answers otherwise.
func TestAnswersDependOnSeedAndQuestionAlone(t *testing.T) {
	bodies := map[string]string{} // of the first round
	for round := range 5 {
		s := serve(t, Options{Seed: 7})
		for _, i := range rand.Perm(50) {
			for _, path := range []string{"/v1/chat/completions", "/messages"} {
				body := fmt.Sprintf(`{"model":"m","max_tokens":50,"stream":%v,"messages":[{"role":"user","content":"question %d"}]}`, i%2 == 0, i)
				got := ask(s, path, body).Body.String()
				if at := path + body; round == 0 {
					bodies[at] = got
				} else if bodies[at] != got {
					t.Fatalf("%s: %s\nthe first time %s", at, got, bodies[at])
				}
			}
		}
	}
	other, same := serve(t, Options{Seed: 8}), 0
	for i := range 50 {
		body := fmt.Sprintf(`{"model":"m","max_tokens":50,"stream":%v,"messages":[{"role":"user","content":"question %d"}]}`, i%2 == 0, i)
		if ask(other, "/messages", body).Body.String() == bodies["/messages"+body] {
			same++
		}
	}
	if same > 0 {
		t.Errorf("%d answers of another seed are the same", same)
	}
}

// Promise 2: a fault comes again only by chance, so that asking again helps, and
// its pattern is the same whatever else is asked between. A number in X-Attempt
// counts instead.
func TestFaultsDependOnTheAttempt(t *testing.T) {
	pattern := func(between int, headers bool) (codes string) {
		s := serve(t, Options{Seed: 3, Faults: Faults{Rates: map[string]float64{"server_error": 0.5}}})
		for i := range 40 {
			var h []string
			if headers {
				h = []string{"X-Attempt", fmt.Sprint(i)}
			}
			for j := range between {
				ask(s, "/chat/completions", chatBody(fmt.Sprint(i, j)))
			}
			codes += fmt.Sprint(ask(s, "/chat/completions", chatBody("x"), h...).Code)[:1]
		}
		return codes
	}
	want := pattern(0, false)
	if n := strings.Count(want, "5"); n < 10 || n > 30 {
		t.Errorf("%d of 40 failed: %s", n, want)
	}
	if got := pattern(3, false); got != want {
		t.Errorf("with others between: %s, want %s", got, want)
	}
	if got := pattern(1, true); got != want {
		t.Errorf("with X-Attempt: %s, want %s", got, want)
	}
}

func TestOnlyTheFirstAttemptsFail(t *testing.T) {
	s := serve(t, Options{Faults: Faults{Rates: map[string]float64{"quota": 1}, Attempts: 2}})
	for i, want := range []int{429, 429, 200, 200} {
		if got := ask(s, "/v1/chat/completions", chatBody("x")).Code; got != want {
			t.Errorf("attempt %d: %d, want %d", i, got, want)
		}
	}
}

// Promise 3: whatever the body is, the answer says what is wrong, and where.
func TestBadBodies(t *testing.T) {
	s := serve(t, Options{})
	for _, c := range []struct{ path, body, want string }{
		{"chat/completions", `x`, "want { at byte 0"},
		{"chat/completions", `{"model":"m","messages":[{"role":"user"`, `the text breaks off at byte 39 in "role"`},
		{"chat/completions", `{"model":"m"}`, `no "messages"`},
		{"chat/completions", `{"messages":[{"role":"user","content":"x"}]}`, `no "model"`},
		{"chat/completions", `{"model":"m","messages":[{"content":"x"}]}`, `want a message with a "role"`},
		{"chat/completions", `{"model":"m","messages":[{"role":"king","content":"x"}]}`, "want a role"},
		{"chat/completions", `{"model":"m","messages":[{"role":"user","content":7}]}`, "want a text"},
		{"chat/completions", `{"model":"m","max_tokens":-1}`, "want a whole number from 1"},
		{"chat/completions", `{"model":"m","n":2}`, "this server gives one choice: want 1"},
		{"chat/completions", `{"model":"m","temperature":1e999}`, "want a smaller number"},
		{"chat/completions", `{"model":"m","stream":1}`, "want true or false"},
		{"chat/completions", "{\"model\":\"\xff\"}", "want UTF-8"},
		{"chat/completions", `{"model":"m","x":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + "}", "more than 100 levels"},
		{"chat/completions", `{"model":"` + strings.Repeat("m", 300) + `"}`, "at most 256 bytes"},
		{"chat/completions", `{"model":"m"} x`, "more after the value"},
		{"messages", `{"model":"m","messages":[{"role":"user","content":"x"}]}`, `no "max_tokens"`},
		{"embeddings", `{"model":"m","input":[]}`, `no "input"`},
		{"embeddings", `{"model":"m","input":"x","encoding_format":"hex"}`, "float or base64"},
		{"embeddings", `{"model":"m","input":"x","dimensions":5000}`, "from 1 to 4096"},
	} {
		w := ask(s, "/v1/"+c.path, c.body)
		var got struct{ Error struct{ Message string } }
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != 400 || !strings.Contains(got.Error.Message, c.want) {
			t.Errorf("%s: %d %s; want 400 with %q", c.body, w.Code, w.Body, c.want)
		}
	}
	for _, c := range []struct {
		path, body string
		want       int
	}{
		{"/v1/chat/completions", strings.Repeat(" ", maxBody+1), 413}, {"/v1/nothing", "{}", 404}, {"/", "", 404}, {"/v1/chat/completions", "", 405}, {"/v1/models", "{}", 405},
		{"/requests?questions=x", "", 400}, {"/v1/models/", "", 200}, {"/v1/models/mock", "", 200}, {"/models/mock", "", 200}, {"/v1/models/meta/llama-3", "", 200}, {"/v1/models/mock", "{}", 405},
	} {
		if w := ask(s, c.path, c.body); w.Code != c.want || !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s: %d %s; want %d", c.path, w.Code, w.Body, c.want)
		}
	}
	if w := ask(s, "/v1/messages", "{}", "X-Attempt", "-1"); w.Code != 400 {
		t.Errorf("X-Attempt: %d", w.Code)
	}
}

// Promise 4: of questions two generations are remembered, of requests the last,
// each with the beginning of its body.
func TestWhatIsKeptIsBounded(t *testing.T) {
	tally := newTally()
	k := func(i int) key { return key{hash: [16]byte{byte(i), byte(i >> 8), byte(i >> 16)}} }
	for i := range 2*maxQuestions + 1 {
		tally.ask(k(i))
	}
	if n := len(tally.now) + len(tally.before); n > 2*maxQuestions || tally.forgotten != maxQuestions {
		t.Errorf("%d questions are kept, %d forgotten", n, tally.forgotten)
	}
	if n, m := tally.ask(k(0)), tally.ask(k(2*maxQuestions)); n != 0 || m != 1 {
		t.Errorf("the oldest has attempt %d, want 0; the newest %d, want 1", n, m)
	}
	s := serve(t, Options{})
	for i := range 3 * maxLast {
		ask(s, "/v1/chat/completions", chatBody(fmt.Sprint(i, strings.Repeat("long ", 10_000))))
	}
	var r Report
	if err := json.Unmarshal(ask(s, "/requests?body=1&questions=5", "").Body.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Asked) != 5 || len(r.Last) != maxLast || r.Requests != 3*maxLast || r.Questions != 3*maxLast {
		t.Errorf("%d asked, %d last, %d requests, %d questions", len(r.Asked), len(r.Last), r.Requests, r.Questions)
	}
	for _, l := range r.Last {
		if len(l.Body) != maxLastBody {
			t.Fatalf("a body of %d bytes", len(l.Body))
		}
	}
	if newest := r.Last[maxLast-1].Body; !strings.Contains(newest, fmt.Sprint(3*maxLast-1)) {
		t.Errorf("the newest is %.100s", newest)
	}
}

// A path below that of messages that the server lacks is refused in the form of that protocol, whose clients read no other.
func TestPathsBelowMessages(t *testing.T) {
	s := serve(t, Options{})
	for path, form := range map[string]string{"messages/count_tokens": `{"type":"error","error":{"type":"not_found_error",`, "messages/batches/7": `{"type":"error",`, "responses": `{"error":{`} {
		r := ask(s, "/v1/"+path, "{}")
		if body := r.Body.String(); r.Code != 404 || !strings.HasPrefix(strings.ReplaceAll(body, " ", ""), form) {
			t.Errorf("%s: %d %s", path, r.Code, body)
		}
	}
}

// Promise 5: without the key there is nothing but metrics, and nothing shows it.
func TestTheKeyIsWantedAndNeverShown(t *testing.T) {
	const secret = "sk-very-secret"
	s := serve(t, Options{Key: secret})
	var shown strings.Builder
	for _, c := range []struct {
		path, name, value string
		want              int
	}{
		{"chat/completions", "Authorization", "Bearer " + secret, 200},
		{"messages", "x-api-key", secret, 200},
		{"chat/completions", "api-key", secret, 200},
		{"chat/completions", "Authorization", "Bearer " + secret + "x", 401},
		{"chat/completions", "Accept", "*/*", 401},
		{"messages", "Authorization", "", 401},
	} {
		w := ask(s, "/v1/"+c.path, `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"x"}]}`, c.name, c.value)
		if shown.WriteString(fmt.Sprint(w.Header(), w.Body)); w.Code != c.want {
			t.Errorf("%+v: %d %s", c, w.Code, w.Body)
		}
	}
	for path, want := range map[string]int{"/metrics": 200, "/requests": 401, "/models": 401, "/models/mock": 401} {
		if w := ask(s, path, ""); w.Code != want {
			t.Errorf("%s: %d, want %d", path, w.Code, want)
		}
	}
	for _, path := range []string{"/requests?body=1", "/metrics"} {
		fmt.Fprint(&shown, ask(s, path, "", "Authorization", "Bearer "+secret).Body)
	}
	if strings.Contains(shown.String(), secret) {
		t.Error("the key is shown")
	}
}
