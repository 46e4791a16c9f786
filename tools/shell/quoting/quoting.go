// Package quoting replaces references to secrets in scripts, $KARYI{NAME}, by shell variables. It keeps
// no state.
//
// # Promises
//
//  1. A script contains no value, only a variable that is quoted as its place requires.
//  2. No value is parsed again, whatever it contains.
//
// # Not here
//
// Which agents have which secrets (tools/secrets), and setting the variables (tools/shell).
package quoting

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"tavernsim/protocol"
)

// reference begins the place of a secret.
const reference = "$KARYI{"

// variable begins the names of variables that hold secrets while a command runs.
const variable = "__simd_secret_"

const maxScript = 64 << 10 // bytes

// Script puts variables into a script where it refers to secrets, each quoted as its
// place wants it: a value stands in no script. used are the variables with their values.
func Script(script string, secrets map[string]string) (out string, used map[string]string, err error) {
	if !strings.Contains(script, reference) {
		return script, nil, nil
	}
	if len(script) > maxScript {
		return "", nil, protocol.Errorf(protocol.KindLimit, "a script that refers to secrets has at most %d bytes", maxScript)
	}
	file, err := syntax.NewParser(syntax.KeepComments(true)).Parse(strings.NewReader(script), "")
	if err != nil {
		return "", nil, protocol.Errorf(protocol.KindInvalid, "the script refers to a secret and cannot be read as one of bash, so nobody knows how to quote it: %w", err)
	}
	var b strings.Builder
	at := 0
	used = map[string]string{}
	for {
		i := strings.Index(script[at:], reference)
		if i < 0 {
			b.WriteString(script[at:])
			return b.String(), used, nil
		}
		i += at
		name, _, closed := strings.Cut(script[i+len(reference):], "}")
		place := placeOf(file, i)
		_, known := secrets[name]
		switch {
		case i > at && script[i-1] == '$': // $$KARYI{ is the text $KARYI{
			b.WriteString(script[at:i-1] + place.dollar() + reference[1:])
			at = i + len(reference)
		case !closed || !known || place == comment || i > 0 && script[i-1] == '\\' && place != single:
			b.WriteString(script[at : i+len(reference)])
			at = i + len(reference)
		case place == document:
			return "", nil, protocol.Errorf(protocol.KindInvalid, "$KARYI{%s} stands in a here document that is taken as it is; write its delimiter without quotes", name)
		default:
			b.WriteString(script[at:i] + place.quote("${"+variable+name+"}"))
			used[variable+name] = secrets[name]
			at = i + len(reference) + len(name) + 1
		}
	}
}

// place is what surrounds a part of a script.
type place int

const (
	bare     place = iota
	double         // "…", or a here document in which variables are read
	single         // '…'
	ansi           // $'…'
	document       // a here document that is taken as it is
	comment
)

func (p place) quote(variable string) string {
	switch p {
	case single:
		return `'"` + variable + `"'`
	case ansi:
		return `'"` + variable + `"$'`
	case double:
		return variable
	case bare, document, comment:
	}
	return `"` + variable + `"`
}

// dollar is a dollar sign that is no variable.
func (p place) dollar() string {
	if p == bare || p == double {
		return `\$`
	}
	return "$"
}

// placeOf finds the innermost place of a byte.
func placeOf(file *syntax.File, at int) (is place) {
	within := func(n syntax.Node) bool {
		return n.Pos().IsValid() && int(n.Pos().Offset()) <= at && at < int(n.End().Offset())
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch x := n.(type) {
		case nil:
			return true
		case *syntax.Redirect:
			if x.Hdoc != nil && within(x.Hdoc) {
				if is = double; quoted(x.Word) {
					is = document
				}
			}
			return true // the node ends before its document
		case *syntax.Comment:
			if within(x) {
				is = comment
			}
		case *syntax.SglQuoted:
			if within(x) {
				if is = single; x.Dollar {
					is = ansi
				}
			}
		case *syntax.DblQuoted:
			if within(x) {
				is = double
			}
		case *syntax.CmdSubst, *syntax.ProcSubst:
			if within(x) {
				is = bare
			}
		}
		return true
	})
	return is
}

// quoted reports whether some part of a delimiter is quoted.
func quoted(w *syntax.Word) bool {
	for _, p := range w.Parts {
		lit, isLit := p.(*syntax.Lit)
		if !isLit || strings.Contains(lit.Value, `\`) {
			return true
		}
	}
	return false
}

// Text puts secrets into a text that no shell reads. No value is read again.
func Text(text string, secrets map[string]string) string {
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
