package wire

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"tavernsim/protocol"
)

func TestDecode(t *testing.T) {
	half := 0.5
	native := protocol.OriginNative
	letter := protocol.Image{Type: "image/png", SHA256: "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"}
	for _, c := range []struct {
		p    Protocol
		body string
		want Question
	}{
		{Chat, ` {"model":"m", "messages":[{"role":"developer","content":"be \"kind\"\n\u4f60\ud83d\ude00"},{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"x"}},{"type":"text","text":"b"}]},
			{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"look","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c1","content":"sky"}],
			"tools":[{"type":"function","function":{"name":"look","description":"looks","parameters":{"type":"object"}}}],"temperature":0.5,"stop":"END","max_completion_tokens":9,
			"response_format":{"type":"json_schema","json_schema":{}},"stream":true,"stream_options":{"include_usage":true},"user":"bo","n":1,"seed":null,"other":[1,{"a":[true,false,null,-1.5e+3]}]} `,
			Question{ModelRequest: protocol.ModelRequest{Model: "m", Agent: "bo", MaxTokens: 9, Temperature: &half, Stop: []string{"END"}, JSON: true,
				Messages: []protocol.ModelMessage{{Role: "system", Text: "be \"kind\"\n你😀"}, {Role: "user", Text: "ab", Images: []protocol.Image{{URI: "x"}}}, {Role: "assistant", Calls: []protocol.Call{{ID: "c1", Tool: "look", Origin: native}}}, {Role: "tool", Text: "sky", CallID: "c1"}},
				Tools:    []protocol.ToolSpec{{Name: "look", Description: "looks"}}}, Stream: true, Counted: true}},
		{Messages, `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"text","text":"I look."},{"type":"tool_use","id":"t1","name":"look","input":{"at":"sky"}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"blue"}]},{"type":"text","text":"and?"}]}],"system":[{"type":"text","text":"be"}],
			"tools":[{"name":"look","input_schema":{}}],"stop_sequences":["END"],"metadata":{"user_id":"bo"}}`,
			Question{ModelRequest: protocol.ModelRequest{Model: "m", Agent: "bo", MaxTokens: 9, Stop: []string{"END"},
				Messages: []protocol.ModelMessage{{Role: "system", Text: "be"}, {Role: "user", Text: "hi"}, {Role: "assistant", Text: "I look.", Calls: []protocol.Call{{ID: "t1", Tool: "look", Origin: native}}},
					{Role: "tool", Text: "blue", CallID: "t1"}, {Role: "user", Text: "and?"}}, Tools: []protocol.ToolSpec{{Name: "look"}}}, system: "be"}},
		{Chat, `{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"detail":"low","url":"data:image/png;base64,YQ=="}}]}]}`,
			Question{ModelRequest: protocol.ModelRequest{Model: "m", Agent: "m", Messages: []protocol.ModelMessage{{Role: "user", Images: []protocol.Image{letter}}}}}},
		{Messages, `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"blue"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"YQ=="}}]},
			{"type":"image","source":{"type":"base64","media_type":"image/png","data":"YQ=="}}]}]}`,
			Question{ModelRequest: protocol.ModelRequest{Model: "m", Agent: "m", MaxTokens: 9, Messages: []protocol.ModelMessage{{Role: "tool", Text: "blue", CallID: "t1", Images: []protocol.Image{letter}}, {Role: "user", Images: []protocol.Image{letter}}}}}},
		{Embeddings, `{"model":"m","input":["a","b"],"dimensions":8,"encoding_format":"base64"}`,
			Question{ModelRequest: protocol.ModelRequest{Model: "m", Agent: "m"}, Inputs: []string{"a", "b"}, Dims: 8, Base64: true}},
		{Embeddings, `{"model":"m","input":[[1,20],[3]]}`, Question{ModelRequest: protocol.ModelRequest{Model: "m", Agent: "m"}, Inputs: []string{"1 20 ", "3 "}, IDs: 3, Dims: defaultDimensions}},
		{Embeddings, `{"input":"a","model":"m"}`, Question{ModelRequest: protocol.ModelRequest{Model: "m", Agent: "m"}, Inputs: []string{"a"}, Dims: defaultDimensions}},
	} {
		got, err := Decode(c.p, []byte(c.body))
		if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(Question{}, Wants{}), cmp.AllowUnexported(protocol.Draw{})); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", c.body, err, diff)
		}
	}
}

// What is refused is said in the words of what was wanted. As an element of a list servers take no null.
func TestDecodeRefuses(t *testing.T) {
	for _, c := range []struct {
		p           Protocol
		field, want string
	}{
		{Chat, `"temperature":"warm"`, `want a number, not the value that ends at byte 48 in "temperature"`},
		{Chat, `"stream":1`, `want true or false, not the value that ends at byte 38 in "stream"`},
		{Chat, `"n":2`, `this server gives one choice: want 1, not the value that ends at byte 33 in "n"`},
		{Chat, `"n":"1"`, "want a number"},
		{Chat, `"temperature":1e999`, "want a smaller number"},
		{Chat, `"n":1.5`, "this server gives one choice"},
		{Chat, `"max_tokens":"9"`, "want a whole number from 1 to"},
		{Chat, `"tools":[null]`, "null"},
		{Chat, `"messages":[null]`, "null"},
		{Chat, `"messages":[{"role":"user","tool_calls":[null]}]`, "null"},
		{Chat, `"messages":[{"role":"user","content":[null]}]`, "null"},
		{Chat, `"stop":["a",null]`, "null"},
		{Messages, `"system":[null]`, "null"},
		{Messages, `"tools":[null]`, "null"},
		{Messages, `"messages":[null]`, "null"},
		{Messages, `"messages":[{"role":"user","content":[{"type":"tool_result","content":[null]}]}]`, "null"},
		{Embeddings, `"input":["a",null]`, "null"},
	} {
		body := `{"model":"m","max_tokens":9,` + c.field + `,"messages":[{"role":"user","content":"hi"}],"input":"a"}`
		if _, err := Decode(c.p, []byte(body)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", body, err, c.want)
		}
	}
}

// Of a member that comes twice the last counts, as for encoding/json.
func TestDoubledMembers(t *testing.T) {
	for _, c := range []struct {
		p          Protocol
		twice, one string
	}{
		{Embeddings, `"input":["a","b"],"input":["c"]`, `"input":["c"]`},
		{Embeddings, `"input":[1,2],"input":[3]`, `"input":[3]`},
		{Embeddings, `"input":[1],"input":"a"`, `"input":"a"`},
		{Chat, `"messages":[{"role":"user","content":"a"}],"messages":[{"role":"user","content":"b"}]`, `"messages":[{"role":"user","content":"b"}]`},
		{Chat, `"messages":[{"role":"user"}],"tools":[{"function":{"name":"a"}}],"tools":[{"function":{"name":"b"}}]`, `"messages":[{"role":"user"}],"tools":[{"function":{"name":"b"}}]`},
		{Chat, `"messages":[{"role":"user"}],"tools":[{"function":{"name":"a","parameters":{}}}],"tools":[{"function":{"name":"a","parameters":[]}}],"tool_choice":"required"`,
			`"messages":[{"role":"user"}],"tools":[{"function":{"name":"a","parameters":[]}}],"tool_choice":"required"`},
		{Chat, `"messages":[{"role":"user"}],"tools":[{"function":{"name":"a"}}],"tool_choice":{"function":{"name":"b"}},"parallel_tool_calls":false,"tool_choice":"none"`,
			`"messages":[{"role":"user"}],"tools":[{"function":{"name":"a"}}],"parallel_tool_calls":false,"tool_choice":"none"`},
		{Messages, `"messages":[{"role":"user","content":"a"}],"messages":[{"role":"user","content":"b"}]`, `"messages":[{"role":"user","content":"b"}]`},
		{Messages, `"messages":[{"role":"user"}],"tools":[{"name":"a"}],"tools":[{"name":"b"}],"tool_choice":{"type":"tool","name":"c"},"tool_choice":{"type":"any"}`,
			`"messages":[{"role":"user"}],"tools":[{"name":"b"}],"tool_choice":{"type":"any"}`},
	} {
		twice, err := Decode(c.p, []byte(`{"model":"m","max_tokens":9,`+c.twice+`}`))
		one, failed := Decode(c.p, []byte(`{"model":"m","max_tokens":9,`+c.one+`}`))
		if diff := cmp.Diff(one, twice, cmp.AllowUnexported(Question{}, Wants{}), cmp.AllowUnexported(protocol.Draw{})); err != nil || failed != nil || diff != "" {
			t.Errorf("%s: %v, %v\n%s", c.twice, err, failed, diff)
		}
	}
}

func TestPicturesThatServersRefuse(t *testing.T) {
	for _, url := range []string{"data:image/png;base64,!", "data:image/svg+xml;base64,YQ==", "data:image/png;base64,", "data:image/png,a"} {
		if q, err := Decode(Chat, []byte(`{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"`+url+`"}}]}]}`)); err == nil || !strings.Contains(err.Error(), "a picture in base64") {
			t.Errorf("%s: %+v, %v", url, q.Messages, err)
		}
	}
}

// A body of 16 MiB makes no more than a few times its size, and takes no time that
// grows with its square.
func TestDecodeIsBounded(t *testing.T) {
	for _, body := range []string{
		`{"model":"m","messages":[` + strings.Repeat(`{"role":"user"},`, 20_000),
		`{"model":"m","messages":[{"role":"user","tool_calls":[` + strings.Repeat(`{},`, 2_000),
		`{"model":"m","tools":[` + strings.Repeat(`{"function":{}},`, 2_000),
		`{"model":"m","stop":[` + strings.Repeat(`"",`, 3_000),
	} {
		if _, err := Decode(Chat, []byte(body)); err == nil || !strings.Contains(err.Error(), "want at most") {
			t.Errorf("%.60s…: %v", body, err)
		}
	}
	parts := strings.Repeat(`{"type":"text","text":"part of a text"},`, 400_000)
	q, err := Decode(Chat, []byte(`{"model":"m","messages":[{"role":"user","content":[`+strings.TrimSuffix(parts, ",")+`]}]}`))
	if err != nil || len(q.Messages[0].Text) != 400_000*len("part of a text") {
		t.Errorf("%v", err)
	}
}

func TestVectors(t *testing.T) {
	dot := func(a, b []float32) (sum float64) {
		for i := range a {
			sum += float64(a[i]) * float64(b[i])
		}
		return sum
	}
	the, like, other := vector("The ford floods in spring", 256), vector("the ford floods in autumn", 256), vector("I sell herbs", 256)
	if same, near, far := dot(the, the), dot(the, like), dot(the, other); math.Abs(same-1) > 1e-5 || near < 0.5 || math.Abs(far) > 0.4 {
		t.Errorf("same %v, near %v, far %v", same, near, far)
	}
	if near := dot(vector("春天渡口淹水", 256), vector("渡口淹水了", 256)); near < 0.4 {
		t.Errorf("near in Chinese: %v", near)
	}
	if v := vector("", 4); dot(v, v) != 1 {
		t.Errorf("of nothing: %v", v)
	}
	var got struct {
		Data []struct{ Embedding json.RawMessage }
	}
	a, q := Answer{Model: "m"}, Question{Inputs: []string{"hi there"}, Dims: 16}
	if err := json.Unmarshal(a.Write(Vectors, &q, nil).Body, &got); err != nil {
		t.Fatal(err)
	}
	var numbers []float32
	if err := json.Unmarshal(got.Data[0].Embedding, &numbers); err != nil {
		t.Fatal(err)
	}
	q.Base64 = true
	if err := json.Unmarshal(a.Write(Vectors, &q, nil).Body, &got); err != nil {
		t.Fatal(err)
	}
	var packed string
	if err := json.Unmarshal(got.Data[0].Embedding, &packed); err != nil {
		t.Fatal(err)
	}
	raw, err := base64.StdEncoding.DecodeString(packed)
	if err != nil || len(raw) != 64 {
		t.Fatal(err, len(raw))
	}
	for i := range numbers {
		if x := math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:])); x != numbers[i] {
			t.Errorf("place %d: %v and %v", i, x, numbers[i])
		}
	}
}

// Chunks join to the text.
func TestTexts(t *testing.T) {
	for _, s := range []string{"", "plain", "a\"b\\c\n\t\x00\x1f\u007f", "Hé 你好 😀", "<&>\u2028"} {
		joined := ""
		chunks(s, func(part string) {
			if joined += part; !utf8.ValidString(part) {
				t.Errorf("%q is cut within a character", s)
			}
		})
		if joined != s {
			t.Errorf("%q became %q", s, joined)
		}
	}
}

// FuzzDecode: it takes nothing that encoding/json does not take, and never panics.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{`{"a":[1,-2.5e+7,true,null,"x\n\u00e9\ud83d\ude00\ud83d"],"a":{}}`, `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"x"}]}]}`, `"\`, `01`, `[1,]`, "\"\x01\"", ` nul`, `{"a" 1}`, `-`, `"\u12"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, p := range []Protocol{Chat, Messages, Embeddings} {
			if q, err := Decode(p, []byte(s)); err == nil && (q.Model == "" || !json.Valid([]byte(s))) {
				t.Errorf("%q: no model, or no JSON, and no error", s)
			}
		}
	})
}
