package setup_test

import (
	"testing"

	"tavernsim/engine/prompt"
	"tavernsim/tam/toolsxml"
)

// What a prompt tells a model of ToolsXML can be read as such.
func TestToolsXMLOfPrompts(t *testing.T) {
	var tools []any
	want := []toolsxml.Type{toolsxml.Command, toolsxml.Edit, toolsxml.Read, toolsxml.GetValue, toolsxml.Input, toolsxml.Ctrl}
	for _, name := range append([]toolsxml.Type{"PublishEventTool"}, want...) {
		tools = append(tools, map[string]any{"name": string(name)})
	}
	text, others := prompt.ToolsXML(tools)
	r := toolsxml.Parse(text, toolsxml.Options{})
	if len(r.Tools) != len(want) || len(others) != 1 {
		t.Fatalf("%d tools of\n%s\nand beside it %v", len(r.Tools), text, others)
	}
	for i := range want {
		if x := &r.Tools[i]; x.Type != want[i] || !x.Executable {
			t.Errorf("%+v", x)
		}
	}
	if text, _ := prompt.ToolsXML(tools[:1]); text != "" {
		t.Errorf("nothing can be written, and the prompt says\n%s", text)
	}
}
