package nodes

import (
	"tavernsim/engine/workflow"
	"tavernsim/protocol"
)

// Options join the kinds to what they need from outside this floor.
type Options struct {
	// ParseTAM reads calls out of a model's text; finish says why the model
	// stopped, "" when nobody knows. nil leaves the TAMParse kind out.
	ParseTAM func(text string, finish protocol.FinishReason) Parsed
	// Tools get a kind each, named by [KindOf].
	Tools []protocol.ToolSpec
	// Schema compiles a JSON Schema, or says what is wrong with it; nil = nodes may
	// have none.
	Schema func(schema any) (check func(value any) error, err error)
}

// Parsed is a text with calls, taken apart.
type Parsed struct {
	Text     string          // before the first call
	Calls    []protocol.Call // in the order of the text
	Problems []string        // what was repaired or could not be read
}

// Standard returns the kinds of this package, in a map of your own.
func Standard(o Options) workflow.Kinds {
	kinds := workflow.Kinds{
		"Constant":       workflow.KindFunc(constant),
		"TextTemplate":   workflow.KindFunc(textTemplate),
		"TextMerge":      workflow.KindFunc(textMerge),
		"ParseJSON":      workflow.KindFunc(parseJSON),
		"Get":            workflow.KindFunc(get),
		"MakeObject":     workflow.KindFunc(makeObject),
		"MakeList":       workflow.KindFunc(makeList),
		"Compare":        workflow.KindFunc(compare),
		"Branch":         workflow.KindFunc(branch),
		"Switch":         workflow.KindFunc(switchOn),
		"Select":         workflow.KindFunc(selectFirst),
		"Expression":     workflow.KindFunc(expression),
		"Math":           workflow.KindFunc(mathNode),
		"Random":         workflow.KindFunc(random),
		"LLMCompletion":  completion{o.Schema},
		"AssemblePrompt": workflow.KindFunc(assemblePrompt),
		"CallTool":       workflow.KindFunc(callTool),
	}
	for _, spec := range o.Tools {
		kinds[KindOf(spec.Name)] = toolKind(spec)
	}
	if o.ParseTAM != nil {
		kinds["TAMParse"] = tamParse(o.ParseTAM)
	}
	return kinds
}
