package shell

import (
	"bytes"

	"tavernsim/protocol"
	"tavernsim/tam/toolsxml"
	"tavernsim/tools"
	"tavernsim/tools/manifest"
	"tavernsim/tools/shell/quoting"
)

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
	return []byte(quoting.Text(content, c.Secrets)), nil
}

// maxLine is how much of a line a terminal keeps until it ends, in bytes.
const maxLine = 4095

// oddLines says what is odd about keys for a program that reads lines; "" = nothing.
func oddLines(b []byte) string {
	for line := range bytes.FieldsFuncSeq(b, func(r rune) bool { return r == '\n' || r == '\r' || r == 4 }) {
		if len(line) > maxLine {
			return "line_too_long: a terminal keeps 4095 bytes of a line, and the rest was lost; use shorter lines, or write a file with edit"
		}
	}
	if b[len(b)-1] >= ' ' {
		return "input_no_newline: nothing ends the line, so the program may not get it; a line ends with \\n"
	}
	return ""
}
