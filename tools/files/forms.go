package files

import (
	"strings"

	"tavernsim/tam/answer"
)

// form is one way to read a pair.
type form struct{ find, replace, how string }

// forms are the ways to read a pair, in the order in which a text is tried for them.
func (p *pair) forms(text string) []form {
	list := []form{{p.find, p.replace, ""}}
	if p.findOther != "" {
		list = append(list, form{p.findOther, p.replaceOther, "found with the other reading of its entities"})
	}
	list = append(list, form{trimmed(p.find), trimmed(p.replace), "found without the line breaks at its ends"})
	for i, f := range list {
		plain := form{unjoined(f.find), unjoined(f.replace), strings.TrimPrefix(f.how+"; "+leftOut, "; ")}
		if plain.find != f.find {
			list = append(list, plain)
		}
		if plain.replace != f.replace && unjoined(text) == text { // else the joiner may be one of the file
			list[i].replace, list[i].how = plain.replace, plain.how
		}
	}
	return list
}

// leftOut is said of a pair with joiners.
const leftOut = "the joiners that read shows in markers were left out"

// trimmed is a text without one line break at both ends.
func trimmed(s string) string { return strings.TrimSuffix(strings.TrimPrefix(s, "\n"), "\n") }

// joined begins what [answer.Neutralise] makes of a marker.
const joined = "<\u200d"

// maxMarker is how much of a text shows whether it begins with a marker, in bytes.
const maxMarker = 64

// unjoined takes the joiners out of the markers in a text that an agent copied from a result.
func unjoined(text string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, joined)
		b.WriteString(before)
		switch {
		case !found:
			return b.String()
		case strings.HasPrefix(answer.Neutralise("<"+rest[:min(len(rest), maxMarker)]), joined):
			b.WriteString("<")
		default:
			b.WriteString(joined)
		}
		text = rest
	}
}

// place is where a text begins for the nth time in another one in which it is, and how often it is there, at most nth times; 0
// = all. Places may overlap.
func place(text, find string, nth int64) (at int, n int64) {
	step := period(find)
	for at = strings.Index(text, find); ; {
		if n++; n == nth {
			return at, n
		}
		next := at + step
		if end := next + len(find); end > len(text) || text[at+len(find):end] != find[len(find)-step:] {
			i := strings.Index(text[min(next, len(text)):], find)
			if i < 0 {
				return at, n
			}
			next += i
		}
		at = next
	}
}

// period is after how many bytes a text can begin again in itself, at the earliest.
func period(text string) int {
	borders := make([]int32, len(text)) // of each beginning: the longest text that both begins and ends it
	k := int32(0)
	for i := 1; i < len(text); i++ {
		for k > 0 && text[i] != text[k] {
			k = borders[k-1]
		}
		if text[i] == text[k] {
			k++
		}
		borders[i] = k
	}
	return len(text) - int(k)
}
