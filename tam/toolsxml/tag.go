package toolsxml

import (
	"strings"

	"tavernsim/tam/toolsxml/internal/rawtext"
)

// tag is a known tag name.
type tag uint8

const (
	tagNone tag = iota
	tagCommand
	tagInput
	tagCtrl
	tagFind
	tagReplace
	tagTools
	tagEdit
	tagRead
	tagGetValue
	tagFile
	tagSearch
	tagMCP
	tagThink

	tagCount
	rawTags = int(tagReplace) + 1 // size of tables over the raw-text tags
)

func (t tag) String() string {
	switch t {
	case tagCommand:
		return "command"
	case tagInput:
		return "input"
	case tagCtrl:
		return "ctrl"
	case tagFind:
		return "find"
	case tagReplace:
		return "replace"
	case tagTools:
		return "tools"
	case tagEdit:
		return "edit"
	case tagRead:
		return "read"
	case tagGetValue:
		return "get_value"
	case tagFile:
		return "file"
	case tagSearch:
		return "search"
	case tagMCP:
		return "mcp"
	case tagThink:
		return "think"
	}
	return ""
}

// raw tells whether the content is text in which tags mean nothing.
func (t tag) raw() bool { return t >= tagCommand && t <= tagReplace }

// shell tells whether the content goes to the terminal.
func (t tag) shell() bool { return t >= tagCommand && t <= tagCtrl }

// tool tells whether the tag may stand directly in a root.
func (t tag) tool() bool {
	switch t {
	case tagCommand, tagInput, tagCtrl, tagEdit, tagRead, tagGetValue, tagMCP, tagSearch:
		return true
	}
	return false
}

func tagOf(name string) tag {
	switch len(name) {
	case 3:
		return match(name, tagMCP)
	case 4:
		return match(name, tagFile, tagFind, tagRead, tagEdit, tagCtrl)
	case 5:
		return match(name, tagTools, tagInput, tagThink)
	case 6:
		return match(name, tagSearch)
	case 7:
		return match(name, tagCommand, tagReplace)
	case 8:
		if strings.EqualFold(name, "thinking") {
			return tagThink
		}
	case 9:
		return match(name, tagGetValue)
	}
	return tagNone
}

func match(name string, among ...tag) tag {
	for _, t := range among {
		if strings.EqualFold(name, t.String()) {
			return t
		}
	}
	return tagNone
}

// lexTag reads a known tag at s[p] == '<'. For an opener end is the first byte
// after the name, for a closer the first byte after ">". A closer has nothing
// but blanks in it; anything else, and a tag that is cut by the end, is text.
func lexTag(s string, p int) (t tag, closer bool, end int) {
	i := p + 1
	if i < len(s) && s[i] == '/' {
		closer = true
		for i++; i < len(s) && rawtext.Blank(s[i]); i++ {
		}
	}
	j := i
	for j < len(s) && j-i < 10 && rawtext.Letter(s[j]) {
		j++
	}
	if t = tagOf(s[i:j]); t == tagNone {
		return tagNone, false, 0
	}
	if !closer {
		if j < len(s) && (s[j] == '>' || s[j] == '/' || rawtext.Blank(s[j])) {
			return t, false, j
		}
		return tagNone, false, 0
	}
	for ; j < len(s) && rawtext.Blank(s[j]); j++ {
	}
	if j < len(s) && s[j] == '>' {
		return t, true, j + 1
	}
	return tagNone, false, 0
}
