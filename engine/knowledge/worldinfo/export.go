package worldinfo

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"tavernsim/engine/knowledge"
	"tavernsim/engine/knowledge/choose"
	"tavernsim/engine/knowledge/criteria"
	"tavernsim/engine/template"
	"tavernsim/protocol"
)

// Export makes the text of a file of a base. An entry that was imported keeps what it had, but for what
// was changed here. The notes say what the format has no place for. Retired entries are left out; lines
// have all entries as the base has them, and need no notes.
func Export(def *knowledge.KnowledgeBase, f Format) ([]byte, []string, error) {
	var n notes
	if f == JSONL {
		var b bytes.Buffer
		for i := range def.Entries {
			line, err := json.Marshal(def.Entries[i].Value())
			if err != nil {
				return nil, nil, protocol.Errorf(protocol.KindInvalid, "entry %s: %w", def.Entries[i].ID, err)
			}
			b.Write(append(line, '\n'))
		}
		return b.Bytes(), nil, nil
	}
	if f != WorldInfo && f != CharBook {
		return nil, nil, protocol.Errorf(protocol.KindInvalid, "format %q is not known; want worldinfo, charbook or jsonl", f)
	}
	top, _ := def.CustomMetadata[string(f)].(map[string]any)
	top = maps.Clone(top)
	if top == nil {
		top = map[string]any{}
		if def.Name != "" {
			top["name"] = def.Name
		}
	}
	n.defaults(top, def.Activation)
	keyed, list := map[string]any{}, []any{}
	taken := map[string]bool{}
	for i := range def.Entries {
		taken[def.Entries[i].ID] = true
	}
	next := 0
	for i := range def.Entries {
		e := &def.Entries[i]
		if e.SupersededBy != "" || e.Disabled && e.Source == knowledge.SourceAgent {
			continue
		}
		if e.Goal != nil {
			n.add("entry %s: a goal is written as its text", e.ID)
		}
		key := e.ID
		if _, err := strconv.Atoi(key); err != nil && f == WorldInfo {
			for taken[strconv.Itoa(next)] {
				next++
			}
			key = strconv.Itoa(next)
			taken[key] = true
		}
		o := n.export(f, key, e, top)
		keyed[key], list = o, append(list, o)
	}
	if top["entries"] = any(keyed); f == CharBook {
		top["entries"] = list
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(top); err != nil {
		return nil, nil, protocol.Errorf(protocol.KindInvalid, "%w", err)
	}
	return b.Bytes(), n, nil
}

// export makes one entry of a file: what it was, with what was changed since.
func (n *notes) export(f Format, key string, e *knowledge.Entry, top map[string]any) map[string]any {
	in := f.names()
	o, imported := e.CustomMetadata[string(f)].(map[string]any)
	var was *knowledge.Entry
	if imported {
		var none notes
		var err error
		if was, err = none.entry(f, key, o, top); err != nil {
			imported = false
		}
	}
	if !imported {
		o, was = fresh(f, key), &knowledge.Entry{}
	}
	o = maps.Clone(o)
	set := func(field string, now, before any) {
		if !reflect.DeepEqual(now, before) {
			o[field] = now
		}
	}
	set("content", textOf(e), textOf(was))
	set("comment", e.Title, was.Title)
	set(in.order, e.Priority, was.Priority)
	if f == CharBook {
		set("enabled", !e.Disabled, !was.Disabled)
	} else {
		set("disable", e.Disabled, was.Disabled)
	}
	n.criteria(in, o, e, was, set)
	return o
}

// criteria writes when an entry is active.
func (n *notes) criteria(in names, o map[string]any, e, was *knowledge.Entry, set func(string, any, any)) {
	now, before := criteriaOf(e), criteriaOf(was)
	if reflect.DeepEqual(now, before) {
		return
	}
	set("constant", now.Always, before.Always)
	set(in.caseless, now.CaseSensitive, before.CaseSensitive)
	if now.WholeWords != nil {
		o["matchWholeWords"] = *now.WholeWords
	}
	if now.Chance != before.Chance {
		o["probability"], o["useProbability"] = cmp.Or(now.Chance, choose.DefaultChance), true
	}
	if now.Group != before.Group || now.Weight != before.Weight || now.Choose != before.Choose {
		o["group"], o["groupWeight"], o["groupOverride"] = now.Group, cmp.Or(now.Weight, choose.DefaultWeight), now.Choose == choose.ByPriority
	}
	n.timed(o, e.ID, &now, &before, set)
	keys := slices.Clone(now.Keywords)
	for _, p := range now.Patterns {
		keys = append(keys, slashed(p))
	}
	set(in.keys, protocol.ListOf(keys), nil)
	if o["use_regex"] == true {
		o["use_regex"] = false // patterns are between slashes
	}
	second, logic, kinds := []string{}, andAny, 0
	for l, list := range [][]string{andAny: now.AlsoKeywords, notAll: now.NotAllKeywords, notAny: now.ExcludeKeywords, andAll: now.AllKeywords} {
		if len(list) > 0 {
			second, logic, kinds = list, l, kinds+1
		}
	}
	if kinds > 1 {
		second, logic = now.ExcludeKeywords, notAny
		n.add("entry %s: only its exclude_keywords are written; the other form has one list beside the keys", e.ID)
	}
	set(in.secondary, protocol.ListOf(second), nil)
	o["selective"] = len(second) > 0
	o["selectiveLogic"] = logic
	if now.Condition != "" || len(now.Tags)+len(now.EventTypes) > 0 {
		n.add("entry %s: condition, tags and event_types have no place in the other form", e.ID)
	}
}

// defaults writes what holds for all entries, if it is not what the file said.
func (n *notes) defaults(top map[string]any, now *criteria.Defaults) {
	var none notes
	before := none.whole(top)
	if now == nil {
		now = &criteria.Defaults{}
	}
	if before == nil {
		before = &criteria.Defaults{}
	}
	if now.Tokens != before.Tokens {
		top["token_budget"] = now.Tokens
	}
	if !reflect.DeepEqual(now.Scan, before.Scan) {
		if n.depth("the base", now.Scan) {
			top["scan_depth"] = now.Scan.History
		} else {
			delete(top, "scan_depth")
		}
	}
	if now.Limit+now.MinEntries+now.MaxSteps > 0 {
		n.add("activation: limit, min_entries and max_steps have no place in the other form")
	}
}

// depth reports a scan that the other form has.
func (n *notes) depth(of string, s *criteria.Scan) bool {
	if s == nil {
		return false
	}
	if !reflect.DeepEqual(s, scanOf(int64(s.History))) || s.History == 0 {
		n.add("%s: scan: the other form has the depth of the history alone", of)
	}
	return s.History > 0
}

// timed writes what needs turns, other texts, and who it is for.
func (n *notes) timed(o map[string]any, id string, now, before *criteria.Activation, set func(string, any, any)) {
	set("sticky", now.Sticky, before.Sticky)
	set("cooldown", now.Cooldown, before.Cooldown)
	set("delay", now.Delay, before.Delay)
	set("ignoreBudget", now.OutsideBudget, before.OutsideBudget)
	set("excludeRecursion", now.WokenBy != "", before.WokenBy != "")
	set("delayUntilRecursion", now.Level, before.Level)
	set("useGroupScoring", now.Choose == choose.ByMatches, before.Choose == choose.ByMatches)
	if !reflect.DeepEqual(now.Scan, before.Scan) {
		if o["scanDepth"] = 0; n.depth("entry "+id, now.Scan) {
			o["scanDepth"] = now.Scan.History
		}
	}
	if !reflect.DeepEqual(now.Scope, before.Scope) {
		filter := map[string]any{"isExclude": false, "names": []any{}, "tags": []any{}}
		if s := now.Scope; s != nil {
			filter["isExclude"], filter["names"] = s.Except, protocol.ListOf(s.Agents)
			if len(s.Profiles)+len(s.Roles)+len(s.Places) > 0 {
				n.add("entry %s: scope: only its agents are written", id)
			}
		}
		o["characterFilter"] = filter
	}
	if now.Slot != before.Slot {
		position := beforeCharacter
		if now.Slot == "constant" {
			position = afterCharacter
		} else if now.Slot == slotEnd {
			position, o["depth"] = atDepth, 0
		} else if now.Slot != "" {
			n.add("entry %s: slot %s has no place in the other form", id, now.Slot)
		}
		if ext, _ := o["extensions"].(map[string]any); ext["position"] != nil {
			ext = maps.Clone(ext)
			ext["position"], o["extensions"] = position, ext
		} else {
			o["position"] = position
		}
	}
	if now.Wakes != before.Wakes {
		o["preventRecursion"] = !now.Wakes
		n.add("entry %s: wakes: the other form wakes by the texts of all entries, or of none", id)
	}
	if now.Similar != nil || len(now.Purposes) > 0 || now.Order != 0 {
		n.add("entry %s: similar, purposes and order have no place in the other form", id)
	}
}

func criteriaOf(e *knowledge.Entry) criteria.Activation {
	if e.ActivationCriteria == nil {
		return criteria.Activation{}
	}
	return *e.ActivationCriteria
}

// fresh is an entry that never was in a file.
func fresh(f Format, key string) map[string]any {
	in := f.names()
	o := map[string]any{in.keys: []any{}, in.secondary: []any{}, "content": "", "comment": "", in.order: 0, "constant": false, "selective": false}
	if f == CharBook {
		o["enabled"], o["extensions"] = true, map[string]any{}
		return o
	}
	o["disable"] = false
	o["uid"], _ = strconv.Atoi(key)
	return o
}

func textOf(e *knowledge.Entry) string {
	switch c := e.Content.(type) {
	case nil:
		if e.Goal != nil {
			return e.Description()
		}
		return ""
	case string:
		return c
	default:
		return string(template.AppendText(nil, c))
	}
}

// slashed is a pattern as a key.
func slashed(p string) string {
	flags := "i"
	if rest, ok := strings.CutPrefix(p, "(?"); ok {
		if mode, after, ok := strings.Cut(rest, ")"); ok && strings.Trim(mode, "ims-") == "" {
			flags, p = mode, after
			if mode == "-i" {
				flags = ""
			}
		}
	}
	return "/" + strings.ReplaceAll(p, "/", `\/`) + "/" + flags
}
