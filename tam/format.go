package tam

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"tavernsim/protocol"
)

// Reformat writes the blocks of a source anew in the canonical form and leaves
// everything else as it is: one field a line, »»» and «««, parameters sorted by
// name, step numbers only where they are needed. A block stays as it was written
// if it does not run, has orphans, or would not be read as the same calls again.
// The whole source stays if a value that is open before a block would end in it.
//
// Values hold anything. Where »»» and ««« would not be safe a longer run is
// taken; where trimming would change the value the raw form 「始RAW」 is.
func Reformat(source string) string {
	var b strings.Builder
	from, read := 0, Parse(source)
	for _, blk := range read.Blocks {
		if !blk.Executable || len(blk.Orphans) > 0 {
			continue
		}
		text := blk.canonical()
		if r := Parse(text); r.Text != "" || len(r.Blocks) != 1 || !blk.means(&r.Blocks[0]) {
			continue
		}
		b.WriteString(source[from:blk.Span.Start])
		b.WriteString(text)
		from = blk.Span.End
	}
	b.WriteString(source[from:])
	if !reflect.DeepEqual(Parse(b.String()).Calls(), read.Calls()) {
		return source
	}
	return b.String()
}

// means reports whether both blocks say the same.
func (b *Block) means(o *Block) bool {
	return slices.Equal(b.Notes, o.Notes) && maps.Equal(b.Common, o.Common) && reflect.DeepEqual(b.calls(0), o.calls(0))
}

// formatter writes one block.
type formatter struct {
	strings.Builder
	plain bool // one step whose fields need no number
}

func (b *Block) canonical() string {
	f := formatter{plain: len(b.Commands) == 1 && b.Commands[0].plain()}
	f.WriteString(startMarker + "\n")
	if b.RequestID != "" {
		f.field("request_id", string(b.RequestID))
	}
	for _, name := range slices.Sorted(maps.Keys(b.Common)) {
		f.field("common_"+name, b.Common[name])
	}
	for _, n := range b.Notes {
		f.note(n)
	}
	for i := range b.Commands {
		f.step(&b.Commands[i])
	}
	f.WriteString(endMarker)
	return f.String()
}

// plain reports whether every name is read as it is without a number.
func (c *Command) plain() bool {
	reads := func(prefix string, names Texts, want role, but []string) bool {
		for name := range names {
			s := slotOf(prefix+name, defaultIndex)
			if (s.how != unsuffixed || s.role != want || s.name != name) && !slices.Contains(but, name) {
				return false
			}
		}
		return true
	}
	return c.Index == 1 && reads("", c.Params, roleParam, c.Inherited) && reads("uri_", c.URIs, roleURI, nil) &&
		reads("type_hint_", c.TypeHints, roleHint, nil)
}

func (f *formatter) step(c *Command) {
	number := ""
	if !f.plain {
		number = "_" + strconv.Itoa(c.Index)
		f.WriteByte('\n')
	}
	f.field("command"+number, c.ToolID)
	if c.OnError == protocol.OnErrorContinue {
		f.field("on_error"+number, string(c.OnError))
	}
	if c.Retry > 0 {
		f.field("retry"+number, strconv.Itoa(c.Retry))
	}
	for _, name := range slices.Sorted(maps.Keys(c.TypeHints)) {
		f.field("type_hint_"+name+number, c.TypeHints[name])
	}
	for _, name := range slices.Sorted(maps.Keys(c.URIs)) {
		f.field("uri_"+name+number, c.URIs[name])
	}
	for _, name := range slices.Sorted(maps.Keys(c.Params)) {
		if !slices.Contains(c.Inherited, name) {
			f.field(name+number, c.Params[name])
		}
	}
}

func (f *formatter) note(n string) {
	if strings.TrimSpace(strings.TrimLeft(n, "#/ \t")) != n || strings.ContainsAny(n, "\n\r") || n == "" || hasDelimiters(n) {
		f.field("comment", n)
	} else {
		f.WriteString("# " + n + "\n")
	}
}

func (f *formatter) field(key, value string) {
	open, end := delimitersFor(value)
	f.WriteString(key + ":" + open + value + end + "\n")
}

// delimitersFor chooses the plainest delimiters between which value stays whole.
func delimitersFor(value string) (open, end string) {
	clean := cleanValue([]byte(value), 0, class{fam: famStd}) == value
	edges := strings.HasPrefix(value, runeRaquo) || strings.HasSuffix(value, runeLaquo) // they would lengthen the run
	if clean && !edges {
		if !hasDelimiters(value) {
			return "»»»", "«««"
		}
		if n := freeRun(value); n > 0 {
			return strings.Repeat(runeRaquo, n), strings.Repeat(runeLaquo, n)
		}
	}
	for n := uint16(0); ; n++ { // a value within its limit cannot hold all of them
		tag := "RAW" + tagNumber(n) + cornerEnd
		if !containsFold(value, cornerOpen+wordEnd+tag) && !containsFold(value, cornerOpen+wordStart+tag) {
			return cornerOpen + wordStart + tag, cornerOpen + wordEnd + tag
		}
	}
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
