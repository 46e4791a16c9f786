package tam

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"tavernsim/protocol"
)

// Manifest is one block to write.
type Manifest struct {
	RequestID string
	Notes     []string          // written as comments
	Common    map[string]string // shared parameters; a call need not repeat them
	Calls     []protocol.Call   // by rising Index
}

// Format writes blocks in the canonical form: one field a line, »»» and «««,
// parameters sorted by name, step numbers only where they are needed. Parse
// gives the same blocks back. What cannot be written is refused with the reason:
// a name that Parse would change, an empty tool, a step out of order, a size
// beyond the limits.
//
// Values hold anything. Where »»» and ««« would not be safe a longer run is
// taken; where trimming would change the value the raw form 「始RAW」 is.
// Parameters that are not texts are written as JSON with type_hint json.
func Format(blocks ...Manifest) (string, error) {
	var b strings.Builder
	for i := range blocks {
		f := formatter{m: &blocks[i], limits: DefaultLimits(), number: i + 1}
		if err := f.block(); err != nil {
			return "", err
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(f.out.String())
	}
	return b.String(), nil
}

// Manifest gives the block back as it would be written.
func (b *Block) Manifest() Manifest {
	m := Manifest{RequestID: string(b.RequestID), Notes: b.Notes, Common: b.Common}
	for i := range b.Commands {
		m.Calls = append(m.Calls, b.call(0, i))
	}
	return m
}

// Reformat writes the blocks of a source anew and leaves everything else as it
// is. Blocks that do not run, and blocks with orphans, stay as they were written.
func Reformat(source string) string {
	var b strings.Builder
	from := 0
	for _, blk := range Parse(source).Blocks {
		text, err := Format(blk.Manifest())
		if !blk.Executable || len(blk.Orphans) > 0 || err != nil {
			continue
		}
		b.WriteString(source[from:blk.Span.Start])
		b.WriteString(strings.TrimSuffix(text, "\n"))
		from = blk.Span.End
	}
	b.WriteString(source[from:])
	return b.String()
}

type formatter struct {
	m      *Manifest
	limits Limits
	number int
	out    strings.Builder
	fields int
	common map[string]string
	plain  bool // one step whose fields need no number
}

func (f *formatter) block() error {
	if err := f.check(); err != nil {
		return err
	}
	f.out.WriteString(startMarker + "\n")
	if f.m.RequestID != "" {
		if err := f.field("request_id", f.m.RequestID); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.common)) {
		if err := f.field("common_"+name, f.common[name]); err != nil {
			return err
		}
	}
	for _, n := range f.m.Notes {
		if err := f.note(n); err != nil {
			return err
		}
	}
	for i := range f.m.Calls {
		if err := f.step(&f.m.Calls[i]); err != nil {
			return err
		}
	}
	f.out.WriteString(endMarker + "\n")
	if f.fields > f.limits.Fields || f.out.Len() > f.limits.Block {
		return f.refuse(protocol.KindLimit, "%d fields and %d bytes; want at most %d and %d: use several blocks or uri_ parameters", f.fields, f.out.Len(), f.limits.Fields, f.limits.Block)
	}
	return nil
}

func (f *formatter) refuse(kind protocol.ErrorKind, format string, args ...any) error {
	return protocol.Errorf(kind, "tam: format block "+strconv.Itoa(f.number)+": "+format, args...)
}

// check refuses what no field can say, and moves parameters whose plain names
// have another meaning to the shared ones.
func (f *formatter) check() error {
	if len(f.m.Calls) == 0 {
		return f.refuse(protocol.KindInvalid, "no calls; want at least one")
	}
	if len(f.m.Calls) > f.limits.Steps {
		return f.refuse(protocol.KindLimit, "%d steps; want at most %d", len(f.m.Calls), f.limits.Steps)
	}
	f.common = maps.Clone(f.m.Common)
	for _, name := range slices.Sorted(maps.Keys(f.common)) {
		if !isName(name) || slotOf("common_"+name, f.limits.Index).role != roleCommon {
			return f.refuse(protocol.KindInvalid, "common parameter %q: want a name in normal form (%q) that is not a number", name, NormaliseKey(name))
		}
	}
	for i := range f.m.Calls {
		if err := f.checkCall(i); err != nil {
			return err
		}
	}
	f.plain = len(f.m.Calls) == 1 && f.m.Calls[0].Index == 1 && f.plainNames(&f.m.Calls[0])
	return nil
}

// isName reports a name that a key can carry as it is.
func isName(s string) bool { return isKey([]byte(s)) && NormaliseKey(s) == s }

func (f *formatter) checkCall(i int) error {
	c := &f.m.Calls[i]
	switch {
	case c.Tool == "":
		return f.refuse(protocol.KindInvalid, "step %d: empty tool; want a tool id", c.Index)
	case c.Index < 0 || c.Index >= f.limits.Index:
		return f.refuse(protocol.KindInvalid, "step %d: want a number from 0 to %d", c.Index, f.limits.Index-1)
	case i > 0 && c.Index <= f.m.Calls[i-1].Index:
		return f.refuse(protocol.KindInvalid, "step %d after step %d: want rising numbers", c.Index, f.m.Calls[i-1].Index)
	case c.Retry < 0 || c.Retry > f.limits.Retry:
		return f.refuse(protocol.KindInvalid, "step %d: retry %d; want 0 to %d", c.Index, c.Retry, f.limits.Retry)
	case c.OnError != "" && c.OnError != protocol.OnErrorStop && c.OnError != protocol.OnErrorContinue:
		return f.refuse(protocol.KindInvalid, "step %d: on_error %q; want stop or continue", c.Index, c.OnError)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Params)) {
		if err := f.checkParam(i, name); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.URIs)) {
		if _, both := c.Params[name]; both || !isName(name) || slotOf("uri_"+name+"_1", f.limits.Index).role != roleURI {
			return f.refuse(protocol.KindInvalid, "step %d: uri of %q; want a name in normal form that is no parameter too and no number", c.Index, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.TypeHints)) {
		_, param := c.Params[name]
		_, ref := c.URIs[name]
		if !param && !ref || !slices.Contains(KnownHints(), c.TypeHints[name]) || slotOf("type_hint_"+name+"_1", f.limits.Index).role != roleHint {
			return f.refuse(protocol.KindInvalid, "step %d: type hint %q of %q; want one of %s for a parameter of the step whose name is no number", c.Index, c.TypeHints[name], name, strings.Join(KnownHints(), ", "))
		}
	}
	return nil
}

// checkParam moves a parameter called command, retry, uri_x, … to the shared
// ones: common_command says what command_1 cannot.
func (f *formatter) checkParam(i int, name string) error {
	c := &f.m.Calls[i]
	if !isName(name) {
		return f.refuse(protocol.KindInvalid, "step %d: parameter %q; want the name in normal form, %q", c.Index, name, NormaliseKey(name))
	}
	if !f.reserved(name) {
		return nil
	}
	text, isText := c.Params[name].(string)
	if shared, ok := f.common[name]; ok && isText && shared == text {
		return nil
	}
	for k := range f.m.Calls {
		if v, ok := f.m.Calls[k].Params[name].(string); !isText || !ok || v != text {
			return f.refuse(protocol.KindInvalid, "step %d: parameter %q has a reserved name; it can be written only as a text that all steps share", c.Index, name)
		}
	}
	if f.common == nil {
		f.common = map[string]string{}
	}
	f.common[name] = text
	return nil
}

// reserved names mean something else with a step number behind them.
func (f *formatter) reserved(name string) bool {
	s := slotOf(name+"_1", f.limits.Index)
	return s.role != roleParam || s.name != name
}

// plainNames reports whether every name is read as it is without a number.
func (f *formatter) plainNames(c *protocol.Call) bool {
	plain := func(prefix, name string, want role) bool {
		s := slotOf(prefix+name, f.limits.Index)
		return s.how == unsuffixed && s.role == want && s.name == name
	}
	for name := range c.Params {
		if _, shared := f.common[name]; !shared && !plain("", name, roleParam) {
			return false
		}
	}
	for name := range c.URIs {
		if !plain("uri_", name, roleURI) {
			return false
		}
	}
	for name := range c.TypeHints {
		if !plain("type_hint_", name, roleHint) {
			return false
		}
	}
	return true
}

func (f *formatter) step(c *protocol.Call) error {
	var err error
	put := func(key, value string) {
		if err != nil {
			return
		}
		if !f.plain {
			key += "_" + strconv.Itoa(c.Index)
		}
		err = f.field(key, value)
	}
	if !f.plain {
		f.out.WriteByte('\n')
	}
	put("command", c.Tool)
	if c.OnError == protocol.OnErrorContinue {
		put("on_error", string(c.OnError))
	}
	if c.Retry > 0 {
		put("retry", strconv.Itoa(c.Retry))
	}
	for _, name := range slices.Sorted(maps.Keys(c.TypeHints)) {
		put("type_hint_"+name, c.TypeHints[name])
	}
	for _, name := range slices.Sorted(maps.Keys(c.URIs)) {
		put("uri_"+name, c.URIs[name])
	}
	for _, name := range slices.Sorted(maps.Keys(c.Params)) {
		text, isText := c.Params[name].(string)
		if shared, ok := f.common[name]; ok && isText && shared == text {
			continue
		}
		if !isText {
			raw, e := json.Marshal(c.Params[name])
			if e != nil {
				return f.refuse(protocol.KindInvalid, "step %d: parameter %q: %w", c.Index, name, e)
			}
			text = string(raw)
			if c.TypeHints[name] == "" {
				put("type_hint_"+name, "json")
			}
		}
		put(name, text)
	}
	return err
}

func (f *formatter) note(n string) error {
	if strings.TrimSpace(strings.TrimLeft(n, "#/ \t")) != n || strings.ContainsAny(n, "\n\r") || n == "" || hasDelimiters(n) {
		return f.field("comment", n)
	}
	f.out.WriteString("# " + n + "\n")
	return nil
}

func (f *formatter) field(key, value string) error {
	if len(value) > f.limits.Value {
		return f.refuse(protocol.KindLimit, "%s: %d bytes; want at most %d: pass it as uri_%s", key, len(value), f.limits.Value, key)
	}
	if len(key) > maxKey/2 {
		return f.refuse(protocol.KindLimit, "%s…: a name of %d bytes; want at most %d", key[:32], len(key), maxKey/2)
	}
	open, end, ok := delimitersFor(value)
	if !ok {
		return f.refuse(protocol.KindInvalid, "%s: the value holds every delimiter; pass it as uri_%s", key, key)
	}
	f.fields++
	f.out.WriteString(key + ":" + open + value + end + "\n")
	return nil
}

// delimitersFor chooses the plainest delimiters between which value stays whole.
func delimitersFor(value string) (open, end string, ok bool) {
	clean := cleanValue([]byte(value), 0, class{fam: famStd}) == value
	edges := strings.HasPrefix(value, runeRaquo) || strings.HasSuffix(value, runeLaquo) // they would lengthen the run
	if clean && !edges {
		if !hasDelimiters(value) {
			return "»»»", "«««", true
		}
		if n := freeRun(value); n > 0 {
			return strings.Repeat(runeRaquo, n), strings.Repeat(runeLaquo, n), true
		}
	}
	for n := range uint16(10000) {
		tag := "RAW" + tagNumber(n) + cornerEnd
		if !containsFold(value, cornerOpen+wordEnd+tag) && !containsFold(value, cornerOpen+wordStart+tag) {
			return cornerOpen + wordStart + tag, cornerOpen + wordEnd + tag, true
		}
	}
	return "", "", false
}

// hasDelimiters reports whether s holds anything that the lexer would look at.
func hasDelimiters(s string) bool {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch r {
		case '»', '«', '›', '‹', '》', '《', '>', '<', '「', '{':
			b := []byte(s[i:min(len(s), i+maxMarker)])
			if scanDelim(b, 0).kind != delimNone || r == '<' && scanMarker(b, 0).kind != markNone {
				return true
			}
		}
		i += n
	}
	return false
}

// freeRun is the shortest run of four or more that s holds neither of » nor of
// «, for an opener of the same run inside would ask for a closer of its own; 0
// if there is none that people could still read.
func freeRun(s string) int {
	used := map[int]bool{}
	for _, unit := range [...]string{runeLaquo, runeRaquo} {
		for i := 0; i < len(s); {
			n := 0
			for strings.HasPrefix(s[i:], unit) {
				i, n = i+len(unit), n+1
			}
			if n == 0 {
				i++
			}
			used[n] = true
		}
	}
	for n := 4; n <= 16; n++ {
		if !used[n] {
			return n
		}
	}
	return 0
}

func containsFold(s, sub string) bool {
	for i := 0; i+len(sub) <= len(s); i++ {
		k := strings.Index(s[i:], cornerOpen)
		if k < 0 {
			return false
		}
		i += k
		if i+len(sub) <= len(s) && strings.EqualFold(s[i:i+len(sub)], sub) {
			return true
		}
	}
	return false
}
