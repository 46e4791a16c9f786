package mock

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// answered asks and gives what came back, without what does not matter.
func answered(t *testing.T, s *Server, path, body string) (status int, text string, usage int64) {
	t.Helper()
	w := ask(s, path, body)
	var a struct {
		Choices []struct {
			Message struct {
				Content any
				Calls   []struct {
					Function struct{ Name, Arguments string }
				} `json:"tool_calls"`
			}
			Finish string `json:"finish_reason"`
		}
		Content []struct {
			Type, Text, Name string
			Input            json.RawMessage
		}
		Stop     string `json:"stop_reason"`
		Sequence any    `json:"stop_sequence"`
		Error    struct{ Message string }
		Usage    struct {
			Output int64 `json:"output_tokens"`
			Chat   int64 `json:"completion_tokens"`
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil {
		t.Fatalf("%v: %s", err, w.Body)
	}
	var said []string
	for _, c := range a.Choices {
		said = append(said, fmt.Sprint(c.Message.Content))
		for _, call := range c.Message.Calls {
			said = append(said, call.Function.Name+call.Function.Arguments)
		}
		said = append(said, c.Finish)
	}
	for _, c := range a.Content {
		said = append(said, c.Text+c.Name+string(c.Input))
	}
	if a.Stop != "" {
		said = append(said, a.Stop)
	}
	if a.Sequence != nil {
		said = append(said, fmt.Sprintf("%q", a.Sequence))
	}
	return w.Code, strings.Join(said, "|") + a.Error.Message, a.Usage.Output + a.Usage.Chat
}

// The stop text that comes first ends the answer, with what would come after it, and the messages protocol names it.
func TestStopTexts(t *testing.T) {
	s := serve(t, Options{Model: script(t, `{ rules: [{ match: { tools: look }, answer: { text: "one END two", calls: [{ tool: look }] } }], otherwise: "one END two STOP" }`)})
	for body, want := range map[string]string{
		`"stop_sequences":["STOP","END"]`:                                                     `one |stop_sequence|"END"`,
		`"stop_sequences":["END two","one END","ND"]`:                                         `|stop_sequence|"one END"`, // which is complete first
		`"stop_sequences":["else"]`:                                                           `one END two STOP|end_turn`,
		`"stop_sequences":["STOP"],"max_tokens":1`:                                            `one |max_tokens`,
		`"stop_sequences":["END"],"tools":[{"name":"look","input_schema":{"type":"object"}}]`: `one |stop_sequence|"END"`,
	} {
		body = `{"model":"m","max_tokens":99,"messages":[{"role":"user","content":"x"}],` + body + `}`
		if _, got, _ := answered(t, s, "/messages", body); got != want && got != strings.TrimPrefix(want, "|") {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
		stream := ask(s, "/messages", strings.Replace(body, "{", `{"stream":true,`, 1)).Body.String()
		_, named, _ := strings.Cut(want, `|stop_sequence|`)
		if has := strings.Contains(stream, `"stop_reason":"stop_sequence","stop_sequence":`+named+`}`); has != (named != "") || strings.Count(stream, `"stop_sequence":null`) == 0 {
			t.Errorf("%s: %s", body, stream)
		}
	}
	if _, got, _ := answered(t, s, "/chat/completions", `{"model":"m","stop":"END","messages":[{"role":"user","content":"x"}]}`); got != "one |stop" {
		t.Error(got)
	}
}

// tool_choice is obeyed as servers do it. A call that has to be, and that the script does not make, is made of the schema of the tool.
func TestToolChoice(t *testing.T) {
	const schema = `{"type":"object","$defs":{"k":{"enum":["a","b"]}},"properties":{"n":{"type":"integer","minimum":3},"k":{"$ref":"#/$defs/k"},"l":{"type":"array","items":{"type":"boolean"},"minItems":1},"o":{"type":"object","required":["s"],"properties":{"s":{"type":["string","null"]}}},"free":{"type":"string"}},"required":["n","k","l","o"]}`
	const made = `{"k":"a","l":[false],"n":3,"o":{"s":""}}`
	const two = `[{"type":"function","function":{"name":"look"}},{"type":"function","function":{"name":"add","parameters":` + schema + `}}]`
	const twoBare = `[{"name":"look","input_schema":{"type":"object"}},{"name":"add","input_schema":` + schema + `}]`
	s := serve(t, Options{Model: script(t, `
rules:
  - match: { prompt_contains: calls }
    answer: { text: I call., calls: [{ tool: look, params: { at: sky } }, { tool: add, params: { n: 1 } }] }
  - match: { prompt_contains: document }
    answer: { json: { n: 7 } }
otherwise: I say.`)})
	for _, c := range []struct{ prompt, choice, chat, messages string }{
		{"say", `"auto"`, "I say.|stop", "I say.|end_turn"},
		{"say", `"required"`, "<nil>|add" + made + "|tool_calls", "add" + made + "|tool_use"},
		{"say", "look", "<nil>|look{}|stop", "look{}|tool_use"},
		{"say", "add", "<nil>|add" + made + "|stop", "add" + made + "|tool_use"},
		{"document", "add", `<nil>|add{"n":7}|stop`, `add{"n":7}|tool_use`},
		{"say", "hum", "400 hum", "400 hum"},
		{"say", `"often"`, "400 want auto, none", "400 want auto, none"},
		{"calls", `"auto"`, `I call.|look{"at":"sky"}|add{"n":1}|tool_calls`, `I call.|look{"at":"sky"}|add{"n":1}|tool_use`},
		{"calls", `"none"`, "I call.|stop", "I call.|end_turn"},
		{"calls", `"required"`, `<nil>|look{"at":"sky"}|add{"n":1}|tool_calls`, `look{"at":"sky"}|add{"n":1}|tool_use`},
		{"calls", "add", `<nil>|add{"n":1}|stop`, `add{"n":1}|tool_use`},
		{"calls", `"one"`, `I call.|look{"at":"sky"}|tool_calls`, `I call.|look{"at":"sky"}|tool_use`},
	} {
		chat, messages := `"tool_choice":`+c.choice, `"tool_choice":{"type":`+strings.Replace(c.choice, "required", "any", 1)+`}`
		switch {
		case c.choice == `"one"`:
			chat, messages = `"parallel_tool_calls":false`, `"tool_choice":{"type":"auto","disable_parallel_tool_use":true}`
		case c.choice[0] != '"':
			chat, messages = `"tool_choice":{"type":"function","function":{"name":"`+c.choice+`"}}`, `"tool_choice":{"type":"tool","name":"`+c.choice+`"}`
		}
		for _, p := range []struct{ path, choice, tools, want string }{{"/chat/completions", chat, two, c.chat}, {"/messages", messages, twoBare, c.messages}} {
			rest := `"model":"m","max_tokens":99,"messages":[{"role":"user","content":"` + c.prompt + `"}]`
			for _, body := range []string{`{` + rest + `,` + p.choice + `,"tools":` + p.tools + `}`, `{"tools":` + p.tools + `,` + p.choice + `,` + rest + `}`} {
				status, got, tokens := answered(t, s, p.path, body)
				if says, refused := strings.CutPrefix(p.want, "400 "); refused && (status != 400 || !strings.Contains(got, says)) || !refused && (got != p.want || tokens == 0) {
					t.Errorf("%s %s: %d %s, want %s", p.path, p.choice, status, got, p.want)
				}
			}
			if status, got, _ := answered(t, s, p.path, `{`+rest+`,"tool_choice":`+strings.TrimPrefix(p.choice, `"tool_choice":`)+`}`); !strings.Contains(p.choice, "parallel") && status != 400 {
				t.Errorf("%s %s without tools: %d %s", p.path, p.choice, status, got)
			}
		}
	}
	body := `{"model":"m","max_tokens":9999,"messages":[{"role":"user","content":"x"}],"tools":` + twoBare + `,"tool_choice":{"type":"any"},"thinking":{"type":"enabled","budget_tokens":1024}}`
	if status, got, _ := answered(t, s, "/messages", body); status != 400 || !strings.Contains(got, "thinking") {
		t.Errorf("%d %s", status, got)
	}
}

// What a request has that the server does not do is refused in words that are true, or done.
func TestMembersOfRequests(t *testing.T) {
	s := serve(t, Options{})
	for _, c := range []struct{ path, member, want string }{
		{"/chat/completions", `"n":2`, "one choice"},
		{"/chat/completions", `"n":1`, ""},
		{"/chat/completions", `"n":1.0`, ""},
		{"/chat/completions", `"tool_choice":{"type":"custom","custom":{"name":"a"}}`, "want auto, none, required or"},
		{"/chat/completions", `"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[]}}`, "want auto, none, required or"},
		{"/chat/completions", `"repetition_penalty":1.1`, ""}, // of servers of their own
		{"/messages", `"repetition_penalty":1.1`, "repetition_penalty: Extra inputs are not permitted"},
		{"/messages", `"n":1`, "n: Extra inputs are not permitted"},
		{"/messages", `"stop":"x"`, "stop: Extra inputs are not permitted"},
		{"/messages", `"top_k":1,"top_p":0.5,"temperature":1,"service_tier":"auto","metadata":{"user_id":"x"},"thinking":{"type":"disabled"},"output_config":{"effort":"low"}`, ""},
	} {
		status, got, _ := answered(t, s, c.path, `{"model":"m","max_tokens":99,`+c.member+`,"messages":[{"role":"user","content":"x"}]}`)
		if (status == 200) != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s %s: %d %s", c.path, c.member, status, got)
		}
	}
	if _, got, _ := answered(t, s, "/messages", `{"model":"m","max_tokens":99,"output_config":{"format":{"type":"json_schema","schema":{}}},"messages":[{"role":"user","content":"x"}]}`); !strings.HasPrefix(got, "{") {
		t.Errorf("no document: %s", got)
	}
}

// Token ids become vectors, too: each is a word.
func TestTokenIds(t *testing.T) {
	s := serve(t, Options{})
	for input, want := range map[string]string{
		`[1,2,3]`: "1 vectors, 3 tokens", `[[1,2,3],[4]]`: "2 vectors, 4 tokens", `["a","b"]`: "2 vectors, 2 tokens", `"a"`: "1 vectors, 1 tokens",
		`[1,"a"]`: "400 not both", `[[1],"a"]`: "400 not both", `[]`: `400 no \"input\"`, `[[]]`: "400 want token ids", `[1.5]`: "400 whole number", `[-1]`: "400 whole number", `[{}]`: "400 whole number",
	} {
		w := ask(s, "/embeddings", `{"model":"m","dimensions":4,"input":`+input+`}`)
		var a struct {
			Data  []struct{ Embedding []float64 }
			Usage struct {
				Total int `json:"total_tokens"`
			}
		}
		if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprintf("%d vectors, %d tokens", len(a.Data), a.Usage.Total)
		if says, refused := strings.CutPrefix(want, "400 "); refused && (w.Code != 400 || !strings.Contains(w.Body.String(), says)) || !refused && got != want {
			t.Errorf("%s: %s %s", input, got, w.Body)
		}
	}
}
