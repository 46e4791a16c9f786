package shell

import (
	"strings"

	"tavernsim/protocol"
	"tavernsim/tam/toolsxml"
	"tavernsim/tools"
	"tavernsim/tools/manifest"
)

// reference begins the place of a secret: $KARYI{NAME}.
const reference = "$KARYI{"

// keysOf is what input and ctrl type.
func keysOf(c *tools.Call, content string) ([]byte, error) {
	if list, ok := c.Params["bytes"].([]any); ok && len(list) > 0 {
		b := make([]byte, 0, len(list))
		for _, v := range list {
			n, ok := v.(int64)
			if !ok || n < 0 || n > 255 {
				return nil, protocol.Errorf(protocol.KindInvalid, "bytes: want numbers from 0 to 255")
			}
			b = append(b, byte(n))
		}
		return b, nil
	}
	if c.Tool.ID == manifest.Ctrl {
		b, ok := toolsxml.Control(content)
		if !ok {
			return nil, protocol.Errorf(protocol.KindInvalid, "%q is no key; want a letter, one of [ \\ ] ^ _ ?, or a name such as esc, tab, enter", protocol.Short(content, 40))
		}
		return b, nil
	}
	if enter, _ := c.Params["enter"].(bool); enter {
		content += "\n"
	}
	return []byte(insert(content, c.Secrets)), nil
}

// insert puts secrets into a text that no shell reads. No value is read again.
func insert(text string, secrets map[string]string) string {
	var b strings.Builder
	for {
		i := strings.Index(text, reference)
		if i < 0 {
			b.WriteString(text)
			return b.String()
		}
		name, _, closed := strings.Cut(text[i+len(reference):], "}")
		value, known := secrets[name]
		switch {
		case i > 0 && text[i-1] == '$': // $$KARYI{ is the text $KARYI{
			b.WriteString(text[:i-1] + reference)
			text = text[i+len(reference):]
		case closed && known:
			b.WriteString(text[:i] + value)
			text = text[i+len(reference)+len(name)+1:]
		default:
			b.WriteString(text[:i] + reference)
			text = text[i+len(reference):]
		}
	}
}
