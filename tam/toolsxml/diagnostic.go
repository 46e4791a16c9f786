package toolsxml

import (
	"fmt"
	"strconv"
	"strings"

	"tavernsim/protocol"
	"tavernsim/tam/finding"
)

type (
	Code       = finding.Code
	Diagnostic = finding.Diagnostic
)

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
	OpenHereDoc        Code = "open_here_document"   // a here document of a command has no end, or not surely its own
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

// Show writes the source with its problems underlined, for people, and a summary.
func Show(src string, r Result) string {
	run, errors, warnings := 0, 0, 0
	for _, t := range r.Tools {
		if t.Executable {
			run++
		}
	}
	for _, d := range r.Diagnostics {
		switch d.Severity {
		case finding.Error:
			errors++
		case finding.Warning:
			warnings++
		}
	}
	shown := ""
	if len(src) <= MaxSource {
		shown = finding.Show(src, r.Diagnostics)
	}
	return shown + fmt.Sprintf("%d tools, %d may run; %d errors, %d warnings\n", len(r.Tools), run, errors, warnings)
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
