package toolsxml

import (
	"fmt"
	"strings"

	"tavernsim/protocol"
	"tavernsim/tam/toolsxml/internal/rawtext"
)

// Format writes tools as canonical ToolsXML: one root, entities where needed, no
// CDATA. Parse gives the same tools again. It refuses what the text cannot carry:
// a type of no builtin tool, a command with an indentation that all its lines
// share or with blanks around it, a key that is no name, an unknown control
// character, empty texts.
func Format(tools []Tool) (string, error) {
	var b strings.Builder
	b.WriteString("<tools>\n")
	for i := range tools {
		if err := formatTool(&b, &tools[i]); err != nil {
			return "", protocol.Errorf(protocol.KindInvalid, "toolsxml: format tool %d: %w", i+1, err)
		}
	}
	b.WriteString("</tools>\n")
	return b.String(), nil
}

func formatTool(b *strings.Builder, t *Tool) error {
	switch t.Type {
	case Command:
		if rawtext.BlankLine(t.Content) || rawtext.LayoutScript("\n"+t.Content+"\n") != t.Content {
			return fmt.Errorf("command %s: expected text at the left margin", cut(t.Content))
		}
		fmt.Fprintf(b, "  <command>\n%s\n</command>\n", rawtext.EscapeText(t.Content))
	case Input:
		if t.Content == "" {
			return fmt.Errorf("input: expected text")
		}
		fmt.Fprintf(b, "  <input>%s</input>\n", rawtext.EscapeText(rawtext.EncodeEscapes(t.Content)))
	case Ctrl:
		name, _, ok := rawtext.Control(t.Content)
		if !ok {
			return fmt.Errorf("ctrl %s: expected the name of a control character", cut(t.Content))
		}
		fmt.Fprintf(b, "  <ctrl>%s</ctrl>\n", name)
	case GetValue:
		if t.Key == "" || nameLength(t.Key) != len(t.Key) || strings.TrimSpace(t.Reason) == "" {
			return fmt.Errorf("get_value %s: expected a name and a reason", cut(t.Key))
		}
		fmt.Fprintf(b, "  <get_value key=\"%s\" reason=\"%s\"", t.Key, rawtext.EscapeAttribute(t.Reason))
		if t.Note != "" {
			fmt.Fprintf(b, " note=\"%s\"", rawtext.EscapeAttribute(t.Note))
		}
		b.WriteString("/>\n")
	case Read, Edit:
		return formatFiles(b, t)
	default:
		return fmt.Errorf("type %s: expected one of %s", cut(string(t.Type)), toolList)
	}
	return nil
}

func formatFiles(b *strings.Builder, t *Tool) error {
	if len(t.Files) == 0 {
		return fmt.Errorf("%s: expected a file", t.Type)
	}
	fmt.Fprintf(b, "  <%s>\n", t.Type)
	for _, f := range t.Files {
		if f.Src == "" || strings.TrimSpace(f.Src) != f.Src {
			return fmt.Errorf("%s: src %s: expected a path without blanks around it", t.Type, cut(f.Src))
		}
		if t.Type == Read {
			fmt.Fprintf(b, "    <file src=\"%s\"/>\n", rawtext.EscapeAttribute(f.Src))
			continue
		}
		if len(f.Edits) == 0 {
			return fmt.Errorf("edit %s: expected find and replace", cut(f.Src))
		}
		fmt.Fprintf(b, "    <file src=\"%s\">\n", rawtext.EscapeAttribute(f.Src))
		for _, e := range f.Edits {
			fmt.Fprintf(b, "      <find%s>%s</find>\n", occurrenceAttribute(e), rawtext.EscapeText(e.Find))
			fmt.Fprintf(b, "      <replace>%s</replace>\n", rawtext.EscapeText(e.Replace))
		}
		b.WriteString("    </file>\n")
	}
	fmt.Fprintf(b, "  </%s>\n", t.Type)
	return nil
}

func occurrenceAttribute(e Pair) string {
	switch {
	case e.All:
		return ` all="true"`
	case e.Nth > 0:
		return fmt.Sprintf(` nth="%d"`, e.Nth)
	}
	return ""
}
