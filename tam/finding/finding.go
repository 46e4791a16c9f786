// Package finding has the diagnostics of both text grammars, and shows them to
// people. It finds nothing itself.
package finding

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Code names a kind of diagnostic. Consumers tolerate codes they do not know.
type Code string

// Severity ranks a diagnostic.
type Severity string

const (
	Error   Severity = "error"   // the call does not run
	Warning Severity = "warning" // read, with a repair
	Info    Severity = "info"
)

// Diagnostic is one finding. Its message names what was received and what was
// expected.
type Diagnostic struct {
	Code     Code     `json:"code"`
	Severity Severity `json:"severity"`
	Message  string   `json:"message"`
	Offset   int      `json:"offset"`         // bytes from the start of the source
	Line     int      `json:"line"`           // from 1
	Col      int      `json:"col"`            // characters, from 1
	Key      string   `json:"key,omitempty"`  // TAM: of the field that it is about
	Tool     int      `json:"tool,omitempty"` // ToolsXML: index of the tool that it is about

	End int `json:"-"` // end of what the finding is about, for underlining
}

// String reads "line 3, col 13: missing_close: …".
func (d Diagnostic) String() string {
	return fmt.Sprintf("line %d, col %d: %s: %s", d.Line, d.Col, d.Code, d.Message)
}

// Place sorts each list by Offset and fills in lines and columns, in one pass
// over the source from at on.
func Place(src string, at int, lists ...[]Diagnostic) {
	var all []*Diagnostic
	for _, list := range lists {
		slices.SortStableFunc(list, func(a, b Diagnostic) int { return cmp.Compare(a.Offset, b.Offset) })
		for i := range list {
			all = append(all, &list[i])
		}
	}
	slices.SortStableFunc(all, func(a, b *Diagnostic) int { return cmp.Compare(a.Offset, b.Offset) })
	line, col := 1, 1
	for _, d := range all {
		if n := strings.Count(src[at:d.Offset], "\n"); n > 0 {
			line, col = line+n, 1
			at += strings.LastIndexByte(src[at:d.Offset], '\n') + 1
		}
		col += utf8.RuneCountInString(src[at:d.Offset])
		at, d.Line, d.Col = d.Offset, line, col
	}
}

// Codes lists the distinct codes of warnings and errors in order.
func Codes(all []Diagnostic) (codes []Code) {
	for _, d := range all {
		if d.Severity != Info && !slices.Contains(codes, d.Code) {
			codes = append(codes, d.Code)
		}
	}
	return codes
}

// JSON is v as JSON. It leaves the choice of escaping < and > to the encoder
// around it.
func JSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
