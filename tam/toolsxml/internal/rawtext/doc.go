// Package rawtext reads and writes the values between ToolsXML tags: entities
// and CDATA, the layout of scripts and input, here documents, references to
// secrets, closers by their name, escapes, names of control
// characters, and the characters and fences around tags. Plain functions on
// strings; each is linear in its argument.
package rawtext
