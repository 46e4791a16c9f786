package toolsxml

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"tavernsim/protocol"
)

// Code names a kind of diagnostic. Consumers tolerate codes they do not know.
type Code string

const (
	MissingRoot        Code = "missing_root"         // a tool tag outside <tools>
	MissingRootClose   Code = "missing_root_close"   // no </tools>
	EmptyRoot          Code = "empty_root"           // a closed root without a tool
	Mention            Code = "mention"              // info: an open <tools> in prose
	MissingClose       Code = "missing_close"        // a closer was left out, the next tag ends the element
	StrayClose         Code = "stray_close"          // a closer without its opener
	Truncated          Code = "truncated"            // the text ends inside a tool
	RootIncomplete     Code = "root_incomplete"      // held back: a later tool of the root was cut
	IgnoredText        Code = "ignored_text"         // text between elements
	UnknownTool        Code = "unknown_tool"         //
	NotAvailable       Code = "not_available"        // a reserved tag
	MissingAttribute   Code = "missing_attribute"    //
	DuplicateAttribute Code = "duplicate_attribute"  // the first counts
	UnknownAttribute   Code = "unknown_attribute"    // ignored
	InvalidAttribute   Code = "invalid_attribute"    //
	MissingElement     Code = "missing_element"      //
	UnexpectedElement  Code = "unexpected_element"   //
	EmptyValue         Code = "empty_value"          //
	UnknownControl     Code = "unknown_control"      //
	InputNoNewline     Code = "input_no_newline"     // the program may go on waiting
	UnclosedTag        Code = "unclosed_tag"         // a tag without ">"
	UnclosedQuote      Code = "unclosed_quote"       //
	UnclosedCDATA      Code = "unclosed_cdata"       //
	UnclosedComment    Code = "unclosed_comment"     // everything after it is a comment
	MalformedReference Code = "malformed_reference"  // "$KARYI{" that is no reference stays text
	ValueNotReady      Code = "value_not_ready"      // the value is asked for in the same answer
	JSONRepaired       Code = "json_repaired"        // the JSON around the tools was not valid
	InReasoning        Code = "in_reasoning"         // info: a root inside reasoning does not run
	InComment          Code = "in_comment"           // info: a root inside a comment does not run
	LimitExceeded      Code = "limit_exceeded"       //
	TooManyDiagnostics Code = "too_many_diagnostics" // more were found than are listed
)

// Severity ranks a diagnostic.
type Severity string

const (
	SeverityError   Severity = "error"   // the tool does not run
	SeverityWarning Severity = "warning" // read, with a repair
	SeverityInfo    Severity = "info"    // not in Result.Warnings
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
	Tool     int      `json:"tool,omitempty"` // index of the tool it is about

	End int `json:"-"` // end of what the finding is about, for underlining
}

// String reads "line 3, col 13: missing_close: …".
func (d Diagnostic) String() string {
	return fmt.Sprintf("line %d, col %d: %s: %s", d.Line, d.Col, d.Code, d.Message)
}

// place fills Line and Col of diagnostics that are sorted by Offset, in one pass
// over the source.
func place(src string, diags []Diagnostic) {
	line, col, at := 1, 1, 0
	for i := range diags {
		d := &diags[i]
		for {
			nl := strings.IndexByte(src[at:d.Offset], '\n')
			if nl < 0 {
				break
			}
			line, col, at = line+1, 1, at+nl+1
		}
		col += utf8.RuneCountInString(src[at:d.Offset])
		at = d.Offset
		d.Line, d.Col = line, col
	}
}

func sortDiagnostics(diags []Diagnostic) {
	slices.SortStableFunc(diags, func(a, b Diagnostic) int { return cmp.Compare(a.Offset, b.Offset) })
}

// codes lists the distinct codes in order, infos left out.
func codes(diags []Diagnostic) []Code {
	list := []Code{}
	for _, d := range diags {
		if d.Severity != SeverityInfo && !slices.Contains(list, d.Code) {
			list = append(list, d.Code)
		}
	}
	return list
}

// quoted is a received text for a message. It is cut to one short line only when
// it is printed: most diagnostics of a hostile text are not kept.
type quoted string

func cut(s string) quoted { return quoted(s) }

func (q quoted) String() string {
	line, _, more := strings.Cut(strings.TrimSpace(string(q)), "\n")
	short := protocol.Short(line, 60)
	if more && short == line {
		short += "…"
	}
	return strconv.Quote(short)
}
