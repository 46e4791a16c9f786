// Package builtin defines the tools of ToolsXML, which come with the program. A profile gets them by naming
// them in its inventory.
package builtin

import (
	"maps"

	"tavernsim/protocol"
	"tavernsim/tools/manifest"
)

// Times and slots of these tools.
const (
	sessionTime    = protocol.Duration(manifest.MaxTimeout)
	sessionsAtOnce = 64
	valueTime      = protocol.Duration(manifest.MaxTaskTimeout) // silence ends it before
)

// FileTools makes the definitions of read and edit.
func FileTools() []*manifest.Tool {
	text := func(what string) map[string]any { return map[string]any{"type": "string", "description": what} }
	src := text("Path of a file: PATH of your own files, fam://run/PATH of those that all agents of the scene share, fam://project/PATH of those of the project, which nobody changes.")
	src["minLength"] = int64(1)
	files := func(file map[string]any, required ...any) map[string]any {
		return map[string]any{
			"properties": map[string]any{"files": map[string]any{"type": "array", "minItems": int64(1), "maxItems": int64(100), "items": map[string]any{
				"type": "object", "properties": file, "required": required, "additionalProperties": false,
			}}},
			"required": []any{"files"},
		}
	}
	pair := map[string]any{
		"type": "object", "additionalProperties": false, "required": []any{"find", "replace"},
		"properties": map[string]any{
			"find": text("Text of the file that is there once. Empty: create the file."), "replace": text("Text in its place."),
			"all": map[string]any{"type": "boolean"}, "nth": map[string]any{"type": "integer", "minimum": int64(1)}, "find_other": text("Another reading of find."), "replace_other": text("The replacement for it."),
		},
	}
	list := []*manifest.Tool{{
		ID: manifest.Read, Description: "Shows files, or what is in folders. A path that ends in #L10-20 shows these lines.",
		Parameters: files(map[string]any{"src": src}, "src"), Implementation: manifest.Implementation{Type: manifest.Files}, Execution: manifest.Execution{Repeat: manifest.Free},
	}, {
		ID: manifest.Edit, Description: "Replaces texts in files: all of them, or none if one is not found.",
		Parameters: files(map[string]any{"src": src, "edits": map[string]any{"type": "array", "minItems": int64(1), "maxItems": int64(200), "items": pair}}, "src", "edits"), Implementation: manifest.Implementation{Type: manifest.Files}, Execution: manifest.Execution{Repeat: manifest.Never},
	}}
	for _, t := range list {
		t.Check()
	}
	return list
}

// ShellTools makes the definitions of command, input, ctrl and get_value.
func ShellTools() []*manifest.Tool {
	text := func(what string) map[string]any { return map[string]any{"type": "string", "description": what} }
	session := func(id, description, content string, more map[string]any) *manifest.Tool {
		properties := map[string]any{"content": text(content)}
		maps.Copy(properties, more)
		return &manifest.Tool{
			ID: id, Description: description, Parameters: map[string]any{"properties": properties, "required": []any{"content"}},
			Implementation: manifest.Implementation{Type: manifest.Shell}, Execution: manifest.Execution{Repeat: manifest.Never, Timeout: sessionTime, Concurrency: sessionsAtOnce},
		}
	}
	bytes := map[string]any{"type": "array", "maxItems": int64(64 << 10), "description": "The bytes, in place of content.", "items": map[string]any{"type": "integer", "minimum": int64(0), "maximum": int64(255)}}
	list := []*manifest.Tool{
		session(manifest.Command, "Runs a script in your shell (bash), which keeps its folder and variables. It begins in your own folder. If the script takes longer than 30 s, or waits for input, you get what it wrote so far; go on with input or ctrl.", "The script.", nil),
		session(manifest.Input, "Types text into the program that your last command runs. Nothing is appended. Empty: wait for it.", "The text, with its line breaks.", map[string]any{"bytes": bytes, "enter": map[string]any{"type": "boolean", "description": "End the text with a line break."}}),
		session(manifest.Ctrl, "Presses a key: c ends the program that runs, d ends its input.", "A letter, for Control and this letter, or esc, tab, enter, up, down, left, right.", map[string]any{"bytes": bytes}),
		{
			ID: manifest.GetValue, Description: "Asks a person for a secret. When it was given, you write $KARYI{KEY} where it belongs in a command or an input; you never see it.",
			Parameters: map[string]any{"required": []any{"key", "reason"}, "properties": map[string]any{
				"key":    map[string]any{"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]{0,63}$", "description": "A name for the secret."},
				"reason": map[string]any{"type": "string", "minLength": int64(1), "maxLength": int64(1000), "description": "What you need it for."}, "note": map[string]any{"type": "string", "maxLength": int64(1000)},
			}},
			Implementation: manifest.Implementation{Type: manifest.Value}, Execution: manifest.Execution{Mode: manifest.Async, Repeat: manifest.Free, Timeout: valueTime},
		},
	}
	for _, t := range list {
		t.Check()
	}
	return list
}
