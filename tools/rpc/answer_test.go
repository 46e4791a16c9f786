package rpc

import (
	"encoding/json"
	"strings"
	"testing"

	"tavernsim/tools"
)

// What a service answers to a call of a tool is read to the letter.
func TestResultOf(t *testing.T) {
	for answer, want := range map[string]string{
		`{"output": {"a": [1]}, "files": [{"name": "n", "type": "text/plain", "data": "eA=="}, {"data": ""}]}`: "",
		`{"output": null}`:                                           "",
		`{"output": 1, "files": null}`:                               "",
		`{"output": 1, "outptu": 1}`:                                 `unknown field "outptu"`,
		`{"output": "x", "error": "it fell"}`:                        `unknown field "error"`,
		`{"output": 1, "output": 2}`:                                 `"output" stands twice`,
		`{"OUTPUT": 1}`:                                              `unknown field "OUTPUT"`,
		`{"output": 1, "file": []}`:                                  `unknown field "file"`,
		`{"output": 1, "files": [{"typ": ""}]}`:                      `unknown field "typ"`,
		`{"output": 1, "files": [{"data": "eA==", "data": "eQ=="}]}`: `"data" stands twice`,
		`{"output": 1, "files": [[]]}`:                               "no object",
		`{"output": 1, "files": [{"name": 5}]}`:                      "the field files.name is a number",
		`{"output": 1, "files": {}}`:                                 "no list",
		`{"output": 1, "files": [{"data": "?"}]}`:                    "no base64",
		`{"output": {"a": 1, "a": 2}}`:                               "no value",
		`{}`:                                                         "has no output",
		`[]`:                                                         "no object",
		`{"output": 1`:                                               "breaks off",
	} {
		r := resultOf(json.RawMessage(answer))
		switch {
		case want == "" && r.Error != nil:
			t.Errorf("%s: %+v", answer, r.Error)
		case want != "" && (r.Error == nil || r.Error.Kind != tools.KindBadOutput || !strings.Contains(r.Error.Message, want)):
			t.Errorf("%s: %+v; want a bad output that says %q", answer, r.Error, want)
		}
	}
}
