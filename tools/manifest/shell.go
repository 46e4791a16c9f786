package manifest

import (
	"maps"

	"tavernsim/protocol"
)

// The tools of ToolsXML that work on a session, and the one that asks a person for a
// secret. A profile that names one in its inventory has it, without a file.
const (
	Command  = "command"
	Input    = "input"
	Ctrl     = "ctrl"
	GetValue = "get_value"
)

// Their types. No file can have them.
const (
	Shell = "shell"
	Value = "value"
)

// Times and slots of these tools.
const (
	sessionTime    = protocol.Duration(MaxTimeout)
	sessionsAtOnce = 64
	valueTime      = protocol.Duration(MaxTaskTimeout) // silence ends it before
)

// NewShellTools makes the definitions of command, input, ctrl and get_value.
func NewShellTools() []*Tool {
	text := func(what string) map[string]any { return map[string]any{"type": "string", "description": what} }
	session := func(id, description, content string, more map[string]any) *Tool {
		properties := map[string]any{"content": text(content)}
		maps.Copy(properties, more)
		return &Tool{
			ID: id, Description: description, Parameters: map[string]any{"properties": properties, "required": []any{"content"}},
			Implementation: Implementation{Type: Shell}, Execution: Execution{Repeat: Never, Timeout: sessionTime, Concurrency: sessionsAtOnce},
		}
	}
	bytes := map[string]any{"type": "array", "maxItems": int64(64 << 10), "description": "The bytes, in place of content.", "items": map[string]any{"type": "integer", "minimum": int64(0), "maximum": int64(255)}}
	list := []*Tool{
		session(Command, "Runs a script in your shell (bash), which keeps its folder and variables. It begins in your own folder. If the script takes longer than 30 s, or waits for input, you get what it wrote so far; go on with input or ctrl.", "The script.", nil),
		session(Input, "Types text into the program that your last command runs. Nothing is appended. Empty: wait for it.", "The text, with its line breaks.", map[string]any{"bytes": bytes, "enter": map[string]any{"type": "boolean", "description": "End the text with a line break."}}),
		session(Ctrl, "Presses a key: c ends the program that runs, d ends its input.", "A letter, for Control and this letter, or esc, tab, enter, up, down, left, right.", map[string]any{"bytes": bytes}),
		{
			ID: GetValue, Description: "Asks a person for a secret. When it was given, you write $KARYI{KEY} where it belongs in a command or an input; you never see it.",
			Parameters: map[string]any{"required": []any{"key", "reason"}, "properties": map[string]any{
				"key":    map[string]any{"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]{0,63}$", "description": "A name for the secret."},
				"reason": map[string]any{"type": "string", "minLength": int64(1), "maxLength": int64(1000), "description": "What you need it for."}, "note": map[string]any{"type": "string", "maxLength": int64(1000)},
			}},
			Implementation: Implementation{Type: Value}, Execution: Execution{Mode: Async, Repeat: Free, Timeout: valueTime},
		},
	}
	for _, t := range list {
		t.Check()
	}
	return list
}
