package main

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// helpWidth is the most columns of a line of a help.
const helpWidth = 80

// narrow breaks the lines of a help that are too wide, between words. A paragraph is filled anew; what describes a flag
// goes on below where it began.
func narrow(page string) string {
	entry := regexp.MustCompile(`^(?: +(?:-.*?|[a-z-]+) {2,}| +)`)
	var out []string
	lines := strings.Split(page, "\n")
	for len(lines) > 0 {
		if n := paragraph(lines); slices.ContainsFunc(lines[:n], wide) {
			out = append(out, broken(strings.Join(lines[:n], " "), ""))
			lines = lines[n:]
			continue
		}
		indent := min(len(entry.FindString(lines[0])), helpWidth/2)
		out = append(out, broken(lines[0], strings.Repeat(" ", indent)))
		lines = lines[1:]
	}
	return strings.Join(out, "\n")
}

func wide(line string) bool { return utf8.RuneCountInString(line) > helpWidth }

// paragraph counts the lines of text with which lines begin.
func paragraph(lines []string) int {
	n := slices.IndexFunc(lines, func(s string) bool { return s == "" || s[0] == ' ' })
	if n < 0 {
		return len(lines)
	}
	return n
}

// broken breaks a line; what follows is indented. A word that is too long has a line of its own.
func broken(line, indent string) string {
	var b strings.Builder
	for wide(line) {
		begins := len(line) - len(strings.TrimLeft(line, " "))
		cut := strings.LastIndex(line[:len(string([]rune(line)[:helpWidth+1]))], " ")
		if cut < begins {
			if cut = strings.Index(line[begins:], " ") + begins; cut < begins {
				break
			}
		}
		b.WriteString(strings.TrimRight(line[:cut], " ") + "\n")
		line = indent + line[cut+1:]
	}
	return b.String() + line
}
