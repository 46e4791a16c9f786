// Package worldinfo reads and writes knowledge bases in foreign formats: world info of
// role-playing programs, the character_book of character cards, and lines of JSON (agent
// architecture §3.4).
//
// [Import] makes a base of a file, and [Export] a file of a base. Both also give notes about
// features that only one of the formats has, each with the entry and the field.
//
// # Promises
//
//  1. A file that is imported and exported again is the same value: custom_metadata keeps each
//     original entry, and the original file, in a field named after the format.
//  2. Nothing is left out silently: a field that has no effect here makes
//     a note.
//  3. An imported base is valid, or the error names its faults.
//
// # Not here
//
// Files, and the meaning of a base: package engine/knowledge.
package worldinfo

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tavernsim/engine/knowledge"
	"tavernsim/engine/knowledge/criteria"
	"tavernsim/protocol"
)

// Format is a form of files. For [Import] "" is a form too: the file tells which.
type Format string

// Formats of other programs, and of lines.
const (
	WorldInfo Format = "worldinfo" // {"entries": {"0": {"key": […], "content": …}}}
	CharBook  Format = "charbook"  // {"entries": [{"keys": […], "content": …}]}
	JSONL     Format = "jsonl"     // an entry of a base in each line
)

// Formats lists the formats by name.
func Formats() []string { return []string{string(WorldInfo), string(CharBook), string(JSONL)} }

// Limits of one conversion.
const (
	MaxBytes = 256 << 20 // of a file that is imported; more is an error of kind limit
	MaxNotes = 1000      // of more, one last note says that there are more
)

// notes are what is told about a conversion.
type notes []string

func (n *notes) add(format string, args ...any) {
	switch len(*n) {
	case MaxNotes:
		*n = append(*n, fmt.Sprintf("there are more notes; these are the first %d", MaxNotes))
	case MaxNotes + 1:
	default:
		*n = append(*n, fmt.Sprintf(format, args...))
	}
}

// Import makes a base with an id of the text of a file. The notes say what the base has no place for.
// A file that is none of the format is an error, and so is one whose base would be invalid.
func Import(data []byte, f Format, id string) (*knowledge.KnowledgeBase, []string, error) {
	if len(data) > MaxBytes {
		return nil, nil, protocol.Errorf(protocol.KindLimit, "%d bytes; the limit is %d", len(data), MaxBytes)
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	def := &knowledge.KnowledgeBase{ID: id, SchemaVersion: "1.0"}
	var n notes
	var err error
	if f == JSONL {
		err = lines(data, def)
	} else {
		err = n.read(data, f, def)
	}
	if err != nil {
		return nil, nil, err
	}
	if faults := knowledge.Validate(def); len(faults) > 0 {
		return nil, nil, protocol.Errorf(protocol.KindInvalid, "%s: %s", faults[0].Path, faults[0].Message)
	}
	return def, n, nil
}

// lines reads entries, one a line; "text" is another name of content.
func lines(data []byte, def *knowledge.KnowledgeBase) error {
	for i, line := range bytes.Split(data, []byte("\n")) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		v, err := decode(line)
		m, ok := v.(map[string]any)
		if err == nil && !ok {
			err = errors.New("want an object: {id, entry_type, content, …}")
		}
		var e *knowledge.Entry
		if err == nil {
			e, err = lineOf(m, i)
		}
		if err != nil {
			return protocol.Errorf(protocol.KindInvalid, "line %d: %w", i+1, err)
		}
		def.Entries = append(def.Entries, *e)
	}
	if len(def.Entries) == 0 {
		return protocol.Errorf(protocol.KindInvalid, "no line has an entry; want objects {id, entry_type, content, …}")
	}
	return nil
}

func lineOf(m map[string]any, i int) (*knowledge.Entry, error) {
	m = maps.Clone(m)
	if text, ok := m["text"]; ok {
		if _, both := m["content"]; both {
			return nil, errors.New("text and content are the same; give one")
		}
		m["content"] = text
		delete(m, "text")
	}
	if m["id"] == nil {
		m["id"] = "line-" + strconv.Itoa(i+1)
	}
	if m["entry_type"] == nil {
		m["entry_type"] = "lore"
	}
	return knowledge.EntryOf(m)
}

// decode reads one JSON value.
func decode(data []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("no JSON: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("no JSON: something follows the value")
	}
	return protocol.Normalize(v)
}

// read reads world info or a book. A card is read by the book in it.
func (n *notes) read(data []byte, f Format, def *knowledge.KnowledgeBase) error {
	v, err := decode(data)
	if err != nil {
		return protocol.Errorf(protocol.KindInvalid, "%w", err)
	}
	m, _ := v.(map[string]any)
	if card, ok := m["data"].(map[string]any); ok && m["entries"] == nil {
		m = card
	}
	if book, ok := m["character_book"].(map[string]any); ok && m["entries"] == nil {
		n.add("a character card: only its character_book is read")
		m = book
	}
	var keys []string
	var list []any
	switch entries := m["entries"].(type) {
	case map[string]any:
		f = cmpOr(f, WorldInfo)
		keys = slices.SortedFunc(maps.Keys(entries), byNumber)
		for _, k := range keys {
			list = append(list, entries[k])
		}
	case []any:
		f = cmpOr(f, CharBook)
		for i := range entries {
			keys = append(keys, strconv.Itoa(i))
		}
		list = entries
	default:
		return protocol.Errorf(protocol.KindInvalid, "entries is missing; want world info {\"entries\": {…}}, a character_book {\"entries\": […]}, or --format jsonl")
	}
	if _, isList := m["entries"].([]any); isList != (f == CharBook) {
		return protocol.Errorf(protocol.KindInvalid, "entries is not of the format %s; leave the format out, and it is found out", f)
	}
	def.Name, _ = m["name"].(string)
	def.Description, _ = m["description"].(string)
	rest := maps.Clone(m)
	delete(rest, "entries")
	def.CustomMetadata = map[string]any{string(f): rest}
	def.Activation = n.whole(rest)
	for i, one := range list {
		o, ok := one.(map[string]any)
		if !ok {
			return protocol.Errorf(protocol.KindInvalid, "entries %s: want an object", keys[i])
		}
		e, err := n.entry(f, keys[i], o, rest)
		if err != nil {
			return protocol.Errorf(protocol.KindInvalid, "entries %s: %w", keys[i], err)
		}
		e.CustomMetadata = map[string]any{string(f): o}
		def.Entries = append(def.Entries, *e)
	}
	return nil
}

func cmpOr(f, def Format) Format {
	if f == "" {
		return def
	}
	return f
}

// byNumber orders keys of entries: numbers first, by their value.
func byNumber(a, b string) int {
	x, errX := strconv.Atoi(a)
	y, errY := strconv.Atoi(b)
	switch {
	case errX == nil && errY == nil && x != y:
		return x - y
	case (errX == nil) != (errY == nil):
		if errX == nil {
			return -1
		}
		return 1
	}
	return strings.Compare(a, b)
}

// whole reads settings of all entries; nil = there are none.
func (n *notes) whole(m map[string]any) *criteria.Defaults {
	d := &criteria.Defaults{}
	if m["scan_depth"] != nil {
		if v, ok := protocol.Number(m["scan_depth"]); ok && v >= 1 && v <= criteria.MaxHistory && v == float64(int64(v)) {
			d.Scan = scanOf(int64(v))
		} else {
			n.add("scan_depth %v: not applied: want 1 to %d", m["scan_depth"], criteria.MaxHistory)
		}
	}
	if m["token_budget"] != nil {
		if v, ok := protocol.Number(m["token_budget"]); ok && v >= 1 && v <= criteria.MaxTokens && v == float64(int64(v)) {
			d.Tokens = int(v)
		} else {
			n.add("token_budget %v: not applied: want 1 to %d", m["token_budget"], criteria.MaxTokens)
		}
	}
	if *d == (criteria.Defaults{}) {
		return nil
	}
	return d
}
