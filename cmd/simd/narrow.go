package main

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"tavernsim/internal/terminal"
)

// helpWidth is the most columns of a line of a help.
const helpWidth = 80

// narrow breaks the lines of a help that are too wide, between words. A paragraph is filled anew, and so is what describes a
// flag or another entry of a list: it goes on below where it began.
func narrow(page string) string {
	entry := regexp.MustCompile(`^ +\S.*? {2,}`)
	var out []string
	for lines := strings.Split(page, "\n"); len(lines) > 0; {
		begins := entry.FindString(lines[0])
		n, indent := 1, strings.Repeat(" ", min(len(begins), helpWidth/2))
		switch {
		case begins != "":
			for n < len(lines) && len(lines[n])-len(strings.TrimLeft(lines[n], " ")) == len(begins) {
				n++
			}
		case strings.HasPrefix(lines[0], " "):
			indent = lines[0][:len(lines[0])-len(strings.TrimLeft(lines[0], " "))]
		default:
			n = paragraph(lines)
		}
		if slices.ContainsFunc(lines[:n], wide) {
			for i := range lines[1:n] {
				lines[i+1] = strings.TrimLeft(lines[i+1], " ")
			}
			out = append(out, broken(strings.Join(lines[:n], " "), indent))
		} else {
			out = append(out, lines[:n]...)
		}
		lines = lines[n:]
	}
	return strings.Join(out, "\n")
}

func wide(line string) bool { return utf8.RuneCountInString(line) > helpWidth }

// paragraph counts the lines of text with which lines begin; an empty line is one of its own.
func paragraph(lines []string) int {
	n := slices.IndexFunc(lines, func(s string) bool { return s == "" || s[0] == ' ' })
	if n < 0 {
		return len(lines)
	}
	return max(n, 1)
}

// broken breaks a line; what follows is indented. The lines are as wide as they may be, or a little narrower where
// else the last word were alone.
func broken(line, indent string) string {
	text := terminal.Fill(line, indent, helpWidth)
	for width := helpWidth - 1; strings.Contains(text, "\n") && width > helpWidth/2; width-- {
		last := strings.TrimSpace(text[strings.LastIndex(text, "\n"):])
		narrower := terminal.Fill(line, indent, width)
		if strings.Contains(last, " ") || strings.Count(narrower, "\n") > strings.Count(text, "\n") {
			break
		}
		text = narrower
	}
	return text
}
