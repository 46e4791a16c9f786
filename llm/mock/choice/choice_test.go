package choice

import (
	"fmt"
	"strings"
	"testing"

	"tavernsim/engine/template"
	"tavernsim/llm/mock/wire"
	"tavernsim/protocol"
)

// made is what a tool of a schema is called with where the script says a text.
func made(t *testing.T, schema, text string) string {
	t.Helper()
	body := `{"model":"m","messages":[{"role":"user","content":"x"}],"tool_choice":"required","tools":[{"type":"function","function":{"name":"a","parameters":` + schema + `}}]}`
	q, err := wire.Decode(wire.Chat, []byte(body))
	if err != nil {
		t.Fatalf("%.200s: %v", body, err)
	}
	said := protocol.ModelAnswer{Text: text, Finish: protocol.FinishStop}
	Obey(wire.ChatPlain, &q, &said, protocol.NewDraw(1))
	if len(said.Calls) != 1 || said.Text != "" || said.Finish != protocol.FinishToolCalls {
		t.Fatalf("%.200s: %+v", schema, said)
	}
	return string(template.AppendJSON(nil, said.Calls[0].Params))
}

// Promise 1: made parameters are at most 64 KiB of JSON, whatever the schema repeats, and are made in little time.
func TestMadeParametersAreBounded(t *testing.T) {
	large := strings.Repeat("a", 40<<10)
	many := strings.TrimSuffix(strings.Repeat(`"a",`, 100_000), ",")
	list := func(of string) string {
		return `{"properties":{"l":{"type":"array","minItems":990000000000,"items":` + of + `}},"required":["l"]}`
	}
	for name, schema := range map[string]string{
		"default":            list(`{"default":"` + large + `"}`),
		"const":              list(`{"const":["` + large + `"]}`),
		"enum":               list(`{"enum":["` + large + `"]}`),
		"escapes":            list(`{"const":"` + strings.Repeat(`\u0001`, 9<<10) + `"}`),
		"names":              list(`{"type":"object","required":["` + large + `"]}`),
		"the same name":      list(`{"type":"object","required":[` + many + `]}`),
		"letters":            list(`{"type":"string","minLength":1e300}`),
		"small":              list(`{"type":"array"}`),
		"nothing":            list(`true`),
		"a default in vain":  list(`{"default":"b","enum":[` + many + `]}`),
		"a long reference":   list(`{"$ref":"#/` + large + `"}`),
		"all of many":        list(`{"allOf":[` + strings.ReplaceAll(many, `"a"`, `{}`) + `]}`),
		"itself":             `{"properties":{"a":{"$ref":"#/properties/a"}},"required":["a"]}`,
		"itself twice":       `{"$defs":{"a":{"allOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/a"}]}},"properties":{"a":{"$ref":"#/$defs/a"}},"required":["a"]}`,
		"itself as a member": `{"$defs":{"a":{"type":"array","minItems":9,"items":{"$ref":"#/$defs/a"}}},"properties":{"a":{"$ref":"#/$defs/a"}},"required":["a"]}`,
	} {
		if got := made(t, schema, ""); len(got) > 64<<10 {
			t.Errorf("%s: %d bytes: %.100s", name, len(got), got)
		}
	}
	if got := made(t, `{"properties":{"a":{"const":"`+large+`"},"b":{"type":"string","minLength":2000}},"required":["a","b"]}`, ""); len(got) < 42_000 {
		t.Errorf("only %d bytes: %.100s", len(got), got)
	}
}

// Promise 2: numbers keep their digits, as the script says them and as the schema gives them.
func TestNumbersStayAsTheyAre(t *testing.T) {
	const id = `{"id":9007199254740993}`
	if got := made(t, `{}`, id); got != id {
		t.Errorf("of the script: %s", got)
	}
	for _, of := range []string{`"const":9007199254740993`, `"default":9007199254740993`, `"enum":[9007199254740993]`, `"type":"integer","minimum":9007199254740993`} {
		if got := made(t, `{"properties":{"id":{`+of+`}},"required":["id"]}`, "no object"); got != id {
			t.Errorf("%s: %s", of, got)
		}
	}
}

// Promise 3: made parameters fit what the package names of a schema.
func TestTheLeastThatASchemaAllows(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"integer","minimum":0.2}`:                            `1`,
		`{"type":"integer","minimum":-0.5}`:                           `0`,
		`{"type":"integer","exclusiveMinimum":1.5}`:                   `2`,
		`{"type":"integer","exclusiveMinimum":2}`:                     `3`,
		`{"type":"integer","maximum":-0.5}`:                           `-1`,
		`{"type":"integer","exclusiveMaximum":0}`:                     `-1`,
		`{"type":"integer","exclusiveMaximum":-1.5}`:                  `-2`,
		`{"type":"integer","maximum":9}`:                              `0`,
		`{"type":"integer","minimum":1e300}`:                          `1e+300`,
		`{"type":"number","minimum":0.2}`:                             `0.2`,
		`{"type":"number","maximum":-0.5}`:                            `-0.5`,
		`{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1}`: `0.5`,
		`{"type":"number","exclusiveMinimum":-0.5}`:                   `0.5`,
		`{"type":"string","minLength":3}`:                             `"xxx"`,
		`{"enum":["a","b"],"default":"c"}`:                            `"a"`,
		`{"enum":["a","b"],"default":"b"}`:                            `"b"`,
		`{"enum":[1.0,2],"default":1}`:                                `1`,
		`{"const":null,"type":"string"}`:                              `null`,
		`{"allOf":[{"type":"integer","minimum":3},{"minimum":5}]}`:    `5`,
		`{"allOf":[{"properties":{"b":{"const":1}},"required":["b"]}, {"properties":{"c":{"const":2}},"required":["c"]}]}`:                  `{"b":1,"c":2}`,
		`{"type":"object","properties":{"b":{"const":1},"c":{"const":2}},"required":["b"],"anyOf":[{"required":["c"]},{"required":["d"]}]}`: `{"b":1,"c":2}`,
		`{"properties":{"b":{"type":"integer"}},"allOf":[{"properties":{"b":{"minimum":4}},"required":["b"]}]}`:                             `{"b":4}`,
		`{"$ref":"#/$defs/k","minimum":7}`:                                                             `7`,
		`{"oneOf":[{"type":"null"},{"type":"string"}]}`:                                                `null`,
		`{"type":["string","null"]}`:                                                                   `""`,
		`{"type":"array","items":{"type":"boolean"},"minItems":2}`:                                     `[false,false]`,
		`{"type":"array","minItems":1,"allOf":[{"items":{"type":"integer"}},{"items":{"minimum":2}}]}`: `[2]`,
	} {
		got := made(t, fmt.Sprintf(`{"$defs":{"k":{"type":"integer","minimum":3}},"properties":{"a":%s},"required":["a"]}`, schema), "")
		if want = `{"a":` + want + `}`; got != want {
			t.Errorf("%s: %s, want %s", schema, got, want)
		}
	}
}
