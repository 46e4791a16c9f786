package answer

import (
	"slices"
	"strings"

	"tavernsim/tam/toolsxml"
)

// The grammars of texts with calls.
const (
	TAM      = "tam"
	ToolsXML = "toolsxml"
)

// Finding is what a problem of an answer is counted as.
type Finding struct {
	Format string // TAM or ToolsXML
	Code   string // of the diagnostic
	Error  bool   // a call does not run
}

// FindingOf reads a text of [Answer.Problems]; false = it is none.
func FindingOf(problem string) (f Finding, is bool) {
	f.Format = TAM
	rest, xml := strings.CutPrefix(problem, ToolsXML+": ")
	if block, after, _ := strings.Cut(rest, ": "); !xml && strings.HasPrefix(block, "block ") {
		rest, f.Error = after, strings.HasSuffix(block, " (not run)")
	}
	place, rest, _ := strings.Cut(rest, ": ")
	if f.Code, _, is = strings.Cut(rest, ": "); !is || !strings.HasPrefix(place, "line ") {
		return Finding{}, false
	}
	if xml {
		f.Format, f.Error = ToolsXML, !slices.Contains(warnings(), toolsxml.Code(f.Code))
	}
	return f, true
}

// warnings are the codes of ToolsXML with which a tool runs; the texts do not say it. Not_available is
// an error but for an attribute of files.
func warnings() []toolsxml.Code {
	return []toolsxml.Code{
		toolsxml.MissingRoot, toolsxml.MissingRootClose, toolsxml.EmptyRoot, toolsxml.MissingClose, toolsxml.StrayClose, toolsxml.IgnoredText,
		toolsxml.DuplicateAttribute, toolsxml.UnknownAttribute, toolsxml.InputNoNewline, toolsxml.UnclosedTag, toolsxml.UnclosedQuote, toolsxml.UnclosedCDATA,
		toolsxml.UnclosedComment, toolsxml.MalformedReference, toolsxml.JSONRepaired, toolsxml.TooManyDiagnostics,
	}
}
