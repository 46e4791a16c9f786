package manifest

// Read and Edit are the tools of ToolsXML that work on files of mounts. A profile that
// names one in its inventory has it, without a file.
const (
	Read = "read"
	Edit = "edit"
)

// Files is their type. No file can have it.
const Files = "files"

// NewFileTools makes the definitions of read and edit.
func NewFileTools() []*Tool {
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
	list := []*Tool{{
		ID: Read, Description: "Shows files, or what is in folders. A path that ends in #L10-20 shows these lines.",
		Parameters: files(map[string]any{"src": src}, "src"), Implementation: Implementation{Type: Files}, Execution: Execution{Repeat: Free},
	}, {
		ID: Edit, Description: "Replaces texts in files: all of them, or none if one is not found.",
		Parameters: files(map[string]any{"src": src, "edits": map[string]any{"type": "array", "minItems": int64(1), "maxItems": int64(200), "items": pair}}, "src", "edits"), Implementation: Implementation{Type: Files}, Execution: Execution{Repeat: Never},
	}}
	for _, t := range list {
		t.Check()
	}
	return list
}
