package forms

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tavernsim/engine/permit"
	"tavernsim/tools"
	"tavernsim/tools/approvals"
	"tavernsim/tools/secrets"
)

// somebody answers questions.
type somebody struct {
	mu    sync.Mutex
	asked []*approvals.Question
	says  func(q *approvals.Question) (approvals.Verdict, error)
}

func (s *somebody) Ask(ctx context.Context, q *approvals.Question) (approvals.Verdict, error) {
	s.mu.Lock()
	s.asked = append(s.asked, q)
	s.mu.Unlock()
	if s.says == nil {
		<-ctx.Done()
		return approvals.Verdict{}, context.Cause(ctx)
	}
	return s.says(q)
}

const (
	owned   = "sk-Demo_7pW4yH8cR2nM"
	spelled = "c2stRGVtb183cFc0eUg4Y1Iybk0=" // in base64
)

func asker(door approvals.Approver) *Asker {
	store, err := secrets.New(&secrets.File{Secrets: map[string]*secrets.Grant{"k": {Value: owned}}})
	if err != nil {
		panic(err) // one secret of more than eight characters
	}
	return For(Of{
		Waits: func() (done func()) { return func() {} },
		Door:  door, Timeout: time.Minute, Rule: func() (permit.Leave, bool) { return permit.Leave{Yes: true}, true }, // which is no answer
		Question: func() *approvals.Question { return &approvals.Question{ID: "c0ffee", Agent: "a", Tool: "t"} },
		Secrets:  func() *secrets.Store { return store },
	})
}

func form(field string, more ...any) tools.Form {
	s := map[string]any{"type": "string"}
	for i := 0; i < len(more); i += 2 {
		s[more[i].(string)] = more[i+1]
	}
	return tools.Form{Message: "Which one?", Schema: map[string]any{"type": "object", "properties": map[string]any{field: s}, "required": []any{field}}}
}

func yes(answer map[string]any) func(*approvals.Question) (approvals.Verdict, error) {
	return func(*approvals.Question) (approvals.Verdict, error) {
		return approvals.Verdict{Yes: true, Answer: answer}, nil
	}
}

// Promises 1, 2 and 4: who is asked what, what leaves, and what is kept of it.
func TestAsk(t *testing.T) {
	town := map[string]any{"town": "Rome"}
	for _, c := range []struct {
		name   string
		form   tools.Form
		door   *somebody
		no     string
		want   string // of the answer
		asked  int
		result string // that is kept
	}{
		{"given", form("town"), &somebody{says: yes(town)}, "", "map[town:Rome]", 1, "given"},
		{"nobody", form("town"), nil, "", "nobody answers in this run", 0, "declined"},
		{"a rule", form("town"), &somebody{says: yes(town)}, "not today", "a rule says no: not today", 0, "declined"},
		{"no", form("town"), &somebody{says: func(*approvals.Question) (approvals.Verdict, error) { return approvals.Verdict{Reason: "later"}, nil }}, "", "later", 1, "declined"},
		{"failure", form("town"), &somebody{says: func(*approvals.Question) (approvals.Verdict, error) {
			return approvals.Verdict{}, errors.New("no folder")
		}}, "", "nobody could be asked: no folder", 1, "declined"},
		{"yes or no", tools.Form{Message: "Shall I?"}, &somebody{says: yes(nil)}, "", "map[]", 1, "given"},
		{"a name", form("api_key"), &somebody{says: yes(town)}, "", `"api_key" asks for a secret`, 0, "declined"},
		{"a title", form("x", "title", "Your PIN"), &somebody{says: yes(town)}, "", `"x" asks for a secret`, 0, "declined"},
		{"a description", form("x", "description", "the password of the shop"), &somebody{says: yes(town)}, "", `"x" asks for a secret`, 0, "declined"},
		{"a message", tools.Form{Message: "Please type your password", Schema: form("x").Schema}, &somebody{says: yes(town)}, "", "it asks for a secret", 0, "declined"},
		{"a choice", tools.Form{Message: "Rotate the token?", Schema: form("x", "enum", []any{"now", "never"}).Schema}, &somebody{says: yes(map[string]any{"x": "now"})}, "", "map[x:now]", 1, "given"},
		{"a secret in the answer", form("town"), &somebody{says: yes(map[string]any{"town": owned})}, "", "a secret of the operator", 1, "declined"},
		{"over lines in the answer", form("town"), &somebody{says: yes(map[string]any{"town": owned[:9] + "\n" + owned[9:]})}, "", "a secret of the operator", 1, "declined"},
		{"spelled in the answer", form("town"), &somebody{says: yes(map[string]any{"town": spelled})}, "", "a secret of the operator", 1, "declined"},
		{"spelled in the message", tools.Form{Message: spelled}, &somebody{says: yes(nil)}, "", "it has the secret k", 0, "declined"},
		{"a default", form("town", "default", "Bergen"), &somebody{says: yes(map[string]any{})}, "", "map[town:Bergen]", 1, "given"},
		{"over a default", form("town", "default", "Bergen"), &somebody{says: yes(town)}, "", "map[town:Rome]", 1, "given"},
		{"does not fit", form("town", "maxLength", 2), &somebody{says: yes(town)}, "", "the answer does not fit", 1, "declined"},
		{"not asked for", form("town"), &somebody{says: yes(map[string]any{"town": "Rome", "x": 1.0})}, "", `nobody asks for "x"; the fields are: town`, 1, "declined"},
		{"an object", form("town", "type", "object"), &somebody{says: yes(town)}, "", "is no text, number, boolean or list", 0, "declined"},
		{"a reference", form("town", "$ref", "file:///etc/passwd"), &somebody{says: yes(town)}, "", "it has references", 0, "declined"},
		{"no schema", form("town", "minLength", "many"), &somebody{says: yes(town)}, "", "its schema cannot be used", 0, "declined"},
		{"long", tools.Form{Message: strings.Repeat("x", 5000)}, &somebody{says: yes(nil)}, "", "more than 4096 bytes", 0, "declined"},
	} {
		a := asker(nil)
		if c.door != nil {
			a.Door = c.door
		}
		if c.no != "" {
			a.Rule = func() (permit.Leave, bool) { return permit.Leave{Reason: c.no}, true }
		}
		f := a.Ask(t.Context(), c.form)
		got := f.Why
		if f.Given {
			got = fmt.Sprint(f.Answer)
		}
		if !strings.Contains(got, c.want) || f.Given == (f.Why != "") || c.door != nil && len(c.door.asked) != c.asked {
			t.Errorf("%s: %+v, want %s", c.name, f, c.want)
		}
		left := a.Left()
		if len(left) != 1 || left[0].Name != File || !strings.Contains(string(left[0].Data), `"result": "`+c.result+`"`) || strings.Contains(string(left[0].Data), owned) || strings.Contains(string(left[0].Data), spelled) || len(left[0].Data) > 6000 {
			t.Errorf("%s: %s", c.name, left)
		}
	}
	if a := asker(nil); a.Left() != nil {
		t.Error("a call that asked nothing has a file")
	}
}

// Promise 2: wherever a form has a secret, and in whichever form, nobody is shown it, and no file has it. Only of a message
// it is taken out.
func TestFormsWithASecret(t *testing.T) {
	in := func(schema map[string]any) tools.Form { return tools.Form{Message: "Which one?", Schema: schema} }
	forms := map[string]tools.Form{}
	for _, value := range []string{owned, spelled, "is " + owned + "!", owned[:9] + "\x1b[1m" + owned[9:]} {
		for name, f := range map[string]tools.Form{
			"title": form("x", "title", value), "description": form("x", "description", value), "enum": form("x", "enum", []any{"a", value}), "default": form("x", "default", value),
			"pattern": form("x", "pattern", value), "const": form("x", "const", value), "format": form("x", "format", value), "type": form("x", "type", value), "$ref": form("x", "$ref", value),
			"minLength": form("x", "minLength", value), "$comment": form("x", "$comment", value), "another": form("x", value, 1), "name": form(value), "name and type": form(value, "type", "object"),
			"oneOf": form("x", "oneOf", []any{map[string]any{"const": "a", "title": value}}), "items": form("x", "type", "array", "items", map[string]any{"type": "string", "enum": []any{value}}),
			"required": in(map[string]any{"type": "object", "properties": map[string]any{}, "required": []any{value}}), "no properties": in(map[string]any{"title": value}), "properties": in(map[string]any{"properties": map[string]any{"x": value}}),
			"long": form("x", "title", value, "description", strings.Repeat("x", 20<<10)),
		} {
			forms[fmt.Sprintf("%s %q", name, value)] = f
		}
		f := form("x", "type", "object")
		f.Message = value
		forms[fmt.Sprintf("message, refused %q", value)] = f
		forms[fmt.Sprintf("message, long %q", value)] = tools.Form{Message: value + strings.Repeat("x", 5000)}
		forms[fmt.Sprintf("message, cut %q", value)] = tools.Form{Message: strings.Repeat("x", 185) + " " + value + strings.Repeat("x", 5000)}
		f = form("x", "title", "Your PIN")
		f.Message = value
		forms[fmt.Sprintf("message, for a secret %q", value)] = f
	}
	for name, f := range forms {
		door := &somebody{says: yes(map[string]any{"x": "a"})}
		a := asker(door)
		filled := a.Ask(t.Context(), f)
		said := filled.Why + string(a.Left()[0].Data)
		if filled.Given || len(door.asked) > 0 || !strings.Contains(said, `"declined"`) || shows(said) {
			t.Errorf("%s: %d asked, %s", name, len(door.asked), said)
		}
	}
	for name, f := range map[string]tools.Form{"plain": {Message: "Shall " + owned + " go?"}, "with a schema": {Message: "Where to, " + owned + "?", Schema: form("x").Schema}} {
		door := &somebody{says: yes(map[string]any{"x": "a"})}
		a := asker(door)
		a.Ask(t.Context(), f)
		if len(door.asked) != 1 || !strings.Contains(door.asked[0].Form.Message, "$KARYI{k}") || shows(string(a.Left()[0].Data)) {
			t.Errorf("%s: %d asked, %s", name, len(door.asked), a.Left()[0].Data)
		}
	}
}

// shows reports whether a text has the secret, or a part of it that is a hit.
func shows(text string) bool {
	return strings.Contains(text, owned[:10]) || strings.Contains(text, owned[9:]) || strings.Contains(text, spelled)
}

// Promise 2: what a person or a service says in the place of an answer, and a secret that was given after a question.
func TestWhatIsSaidHasNoSecret(t *testing.T) {
	for _, v := range []approvals.Verdict{{Reason: "it is " + owned}, {Reason: spelled}, {By: owned}, {Yes: true, Answer: map[string]any{"x": "no number " + owned}}, {Yes: true, Answer: map[string]any{owned: "x"}}} {
		a := asker(&somebody{says: func(*approvals.Question) (approvals.Verdict, error) { return v, nil }})
		if f := a.Ask(t.Context(), form("x", "type", "integer")); f.Given || shows(f.Why) || shows(string(a.Left()[0].Data)) {
			t.Errorf("%+v: %+v %s", v, f, a.Left()[0].Data)
		}
	}
	a := asker(&somebody{says: yes(map[string]any{"x": owned})})
	later := a.Secrets
	a.Secrets = func() *secrets.Store { return nil }
	a.Ask(t.Context(), form("x", "title", spelled))
	if a.Secrets = later; shows(string(a.Left()[0].Data)) || !strings.Contains(string(a.Left()[0].Data), "it has the secret k") {
		t.Errorf("%s", a.Left()[0].Data)
	}
}

// Promise 3, and what a person does not answer in time.
func TestBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := asker(&somebody{})
		if f := a.Ask(t.Context(), form("town")); !f.Silent || f.Given {
			t.Errorf("%+v", f)
		}
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, stop)
		if f := a.Ask(ctx, form("town")); !f.Silent {
			t.Errorf("%+v", f)
		}
		var all sync.WaitGroup
		out, most, given := 0, 0, 0
		var mu sync.Mutex
		a = asker(&somebody{says: func(*approvals.Question) (approvals.Verdict, error) {
			mu.Lock()
			out++
			most = max(most, out)
			mu.Unlock()
			<-time.After(time.Second) // of the bubble
			mu.Lock()
			out--
			given++
			mu.Unlock()
			return approvals.Verdict{Yes: true, Answer: map[string]any{"town": "x"}}, nil
		}})
		for range Most + 5 {
			all.Go(func() {
				if f := a.Ask(t.Context(), form("town")); !f.Given && !strings.Contains(f.Why, "at most 8 questions") {
					t.Errorf("%+v", f)
				}
			})
		}
		all.Wait()
		var kept []any
		if err := json.Unmarshal(a.Left()[0].Data, &kept); err != nil || len(kept) != Most || most != 1 || given != Most {
			t.Errorf("%d kept, %d at once, %d given: %v", len(kept), most, given, err)
		}
	})
}

// Promise 5: ids are those of the call, the question and its number.
func TestIDs(t *testing.T) {
	ids := func(forms ...tools.Form) (list []string) {
		door := &somebody{says: yes(map[string]any{"town": "x"})}
		a := asker(door)
		for _, f := range forms {
			a.Ask(t.Context(), f)
		}
		for _, q := range door.asked {
			list = append(list, q.ID)
			if q.Kind != approvals.KindForm || q.Form.Message == "" || q.Until.IsZero() {
				t.Errorf("%+v", q)
			}
		}
		return list
	}
	other := form("town")
	other.Message = "Which other one?"
	one, again := ids(form("town"), form("town"), other), ids(form("town"), form("town"), form("town"))
	if fmt.Sprint(one[:2]) != fmt.Sprint(again[:2]) || one[0] == one[1] || one[2] == again[2] {
		t.Error(one, again)
	}
}
