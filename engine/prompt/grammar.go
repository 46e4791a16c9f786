package prompt

import (
	"slices"
	"strings"
)

// TAM tells a model how to write calls in its text.
const TAM = `To act, write a block of calls into your answer. One block may have several calls; number them. Everything outside of blocks is said aloud.

<|[REQUEST_TOOL]|>
command_1: »»»NameOfTheTool«««
name_of_a_parameter_1: »»»its value«««
<|[END_TOOL]|>

Write a value that is a number, a list or an object as JSON. A parameter with a star must be there.`

// ToolsXML tells a model how to write in its text those of the tools that have a form in
// ToolsXML, and gives the others. "" = none has.
func ToolsXML(tools []any) (form string, others []any) {
	var b strings.Builder
	for _, f := range xmlForms() {
		if slices.ContainsFunc(tools, func(t any) bool { return nameOf(t) == f[0] }) {
			b.WriteString("\n  " + f[1])
		}
	}
	others = slices.DeleteFunc(slices.Clone(tools), func(t any) bool {
		return slices.ContainsFunc(xmlForms(), func(f [2]string) bool { return nameOf(t) == f[0] })
	})
	if b.Len() == 0 {
		return "", others
	}
	return "To act, write one block of tags into your answer. What stands between tags is taken as it is: escape nothing. Everything outside of the block is said aloud.\n\n<tools>" + b.String() + "\n</tools>", others
}

// xmlForms are the tools of ToolsXML with an example of each.
func xmlForms() [][2]string {
	return [][2]string{
		{"command", "<command>a shell script</command>"},
		{"edit", `<edit><file src="path/of/a/file"><find>text that is there once</find><replace>text in its place</replace></file></edit>`},
		{"read", `<read><file src="path/of/a/file"/></read>`},
		{"get_value", `<get_value key="NAME_OF_A_SECRET" reason="what for"/>`},
		{"input", "<input>text for the running command\\n</input>"},
		{"ctrl", "<ctrl>c</ctrl>"},
	}
}

func nameOf(tool any) string {
	m, _ := tool.(map[string]any)
	return text(m, "name")
}
