package toolsxml

import "tavernsim/internal/wirejson"

// Type is the tag name of a tool in lower case. An unknown tag keeps its name.
type Type string

const (
	Command  Type = "command"   // a script for the session's shell
	Edit     Type = "edit"      // find and replace in files
	Read     Type = "read"      // files and directories
	GetValue Type = "get_value" // ask the user for a secret
	Input    Type = "input"     // text for the running program
	Ctrl     Type = "ctrl"      // a control character for it
)

// Result is what a text says. It marshals to the JSON of docs/formats/toolsxml.md.
type Result struct {
	Tools       []Tool       `json:"tools"`       // document order, all roots
	Warnings    []Code       `json:"warnings"`    // distinct codes of warnings and errors, by position
	Diagnostics []Diagnostic `json:"diagnostics"` // by position
	Text        string       `json:"text"`        // prose without roots and reasoning

	Roots []Span `json:"-"` // where roots with tools stand in the source
}

// Tool is one tool of an answer. Which fields are set depends on the type.
type Tool struct {
	Index      int      // from 1, over all roots of the answer
	Type       Type     //
	Content    string   // command, input, ctrl; of an unknown tag its raw body
	Bytes      []byte   // ctrl; input that is not UTF-8
	Files      []File   // edit, read
	Key        string   // get_value
	Reason     string   // get_value
	Note       string   // get_value
	Executable bool     // nothing about it is of severity error
	Secrets    []string // names of references in any of its texts, in order, once each

	Span Span // of the element in the source; not marshalled
	Root int  // which root it stands in, from 1; not marshalled
}

// File is one file of an edit or a read.
type File struct {
	Src   string
	Edits []Pair // edit only, in order
}

// Pair is one find and replace.
type Pair struct {
	Find    string `json:"find"`
	Replace string `json:"replace"`
	All     bool   `json:"all,omitempty"` // replace every occurrence
	Nth     int    `json:"nth,omitempty"` // replace this occurrence, from 1

	// FindOther and ReplaceOther are the reading of the entities that was not
	// chosen: decoded when the texts above are raw, raw when they are decoded.
	// They equal Find and Replace when there is only one reading.
	FindOther    string `json:"-"`
	ReplaceOther string `json:"-"`
}

// Span is a range of bytes of the source.
type Span struct{ Start, End int }

// MarshalJSON writes the fields that belong to the type.
func (t Tool) MarshalJSON() ([]byte, error) {
	type head struct {
		Index int  `json:"index"`
		Type  Type `json:"type"`
	}
	type tail struct {
		Executable bool     `json:"executable"`
		Secrets    []string `json:"secrets"`
	}
	h, e := head{t.Index, t.Type}, tail{t.Executable, orEmpty(t.Secrets)}
	switch t.Type {
	case Edit, Read:
		return wirejson.AppendAny(nil, struct {
			head
			Files []any `json:"files"`
			tail
		}{h, t.fileShapes(), e})
	case GetValue:
		return wirejson.AppendAny(nil, struct {
			head
			Key    string `json:"key"`
			Reason string `json:"reason"`
			Note   string `json:"note"`
			tail
		}{h, t.Key, t.Reason, t.Note, e})
	default:
		return wirejson.AppendAny(nil, struct {
			head
			Content string `json:"content"`
			Bytes   []int  `json:"bytes,omitempty"`
			tail
		}{h, t.Content, numbers(t.Bytes), e})
	}
}

func (t Tool) fileShapes() []any {
	files := make([]any, 0, len(t.Files))
	for _, f := range t.Files {
		if t.Type == Read {
			files = append(files, struct {
				Src string `json:"src"`
			}{f.Src})
			continue
		}
		files = append(files, struct {
			Src   string `json:"src"`
			Edits []Pair `json:"edits"`
		}{f.Src, orEmpty(f.Edits)})
	}
	return files
}

func numbers(b []byte) []int {
	var n []int
	for _, c := range b {
		n = append(n, int(c))
	}
	return n
}

func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
