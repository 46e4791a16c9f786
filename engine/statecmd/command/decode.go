package command

import (
	"fmt"
	"slices"
	"strings"

	"tavernsim/internal/lenient"
	"tavernsim/protocol"
)

// Decode reads a batch from text.
func Decode(text string) (Batch, error) {
	t, err := lenient.Read(text, lenient.Options{Exact: true, Wanted: isBatch})
	if err != nil {
		return Batch{}, protocol.Errorf(protocol.KindInvalid, "commands: %w", err)
	}
	d := decoder{}
	if len(t.Around) > 0 {
		d.warn(WarnEmbedded, "the commands were found inside other text")
	}
	if len(t.Repairs) > 0 {
		d.warn(WarnRepaired, "the JSON was repaired: "+repairs(t.Repairs))
	}
	return d.batch(t.Value)
}

func repairs(list []lenient.Repair) string {
	said := make([]string, len(list))
	for i, r := range list {
		said[i] = r.String()
	}
	return strings.Join(said, "; ")
}

// DecodeValue reads a batch from a protocol value. A map has lost the order of
// its keys: `{key: value}` sections come in byte order.
func DecodeValue(v any) (Batch, error) {
	if text, ok := v.(string); ok {
		return Decode(text)
	}
	d := decoder{}
	return d.batch(lenient.Ordered(v))
}

// DecodeCall reads the commands of a call of a tool, in any of their forms: there is one, and not
// too many.
func DecodeCall(v any) (Batch, error) {
	batch, err := DecodeValue(v)
	if err != nil {
		return batch, err
	}
	if len(batch.Entries)+len(batch.Inspect) == 0 {
		return batch, protocol.Errorf(protocol.KindInvalid, "commands: there is no command in it")
	}
	if len(batch.Entries) > MaxEntries {
		return batch, protocol.Errorf(protocol.KindLimit, "commands: %d in one call; the limit is %d", len(batch.Entries), MaxEntries)
	}
	return batch, nil
}

// DecodeParsed reads a batch from a value that lenient.Read gave.
func DecodeParsed(v any) (Batch, error) {
	if text, ok := v.(string); ok {
		return Decode(text)
	}
	d := decoder{}
	return d.batch(v)
}

// isBatch tells commands from other JSON in a text.
func isBatch(v any) bool {
	switch x := v.(type) {
	case []any:
		if len(x) == 0 {
			return false
		}
		o, ok := x[0].(*lenient.Object)
		return ok && isEntry(o)
	case *lenient.Object:
		for _, m := range x.Members {
			if m.Key == "tavern_commands" || m.Key == "commands" || m.Key == "tavern_inspect" || section(m.Key) != "" {
				return true
			}
		}
		return isEntry(x)
	}
	return false
}

// isEntry tells one command from a section of keys and values.
func isEntry(o *lenient.Object) bool {
	if key, ok := o.Get("key"); ok {
		_, isText := key.(string)
		_, hasValue := o.Get("value")
		return isText || hasValue
	}
	action, ok := o.Get("action")
	_, isText := action.(string)
	return ok && isText
}

// section reads a section's name; "" when it is none.
func section(name string) Action {
	for _, a := range Actions() {
		if strings.EqualFold(strings.TrimSpace(name), string(a)) {
			return a
		}
	}
	return ""
}

type decoder struct {
	out Batch
}

// warn warns of the whole batch.
func (d *decoder) warn(code Code, message string) {
	if len(d.out.Warnings) < 2*MaxEntries {
		d.out.Warnings = append(d.out.Warnings, Warning{-1, code, message})
	}
}

func (d *decoder) batch(v any) (Batch, error) {
	if err := d.top(v, 0); err != nil {
		return Batch{}, err
	}
	for i := range d.out.Entries {
		e := &d.out.Entries[i]
		e.Index = i
		for k := range e.Warnings {
			e.Warnings[k].Index = i
		}
	}
	if len(d.out.Entries)+len(d.out.Inspect) == 0 {
		d.warn(WarnNoCommands, "there is no command in it")
	}
	return d.out, nil
}

func (d *decoder) top(v any, depth int) error {
	switch x := v.(type) {
	case []any:
		d.out.Entries = slices.Grow(d.out.Entries, len(x))
		for _, item := range x {
			d.entry(item, "")
		}
		return nil
	case *lenient.Object:
		return d.object(x, depth)
	case string:
		if depth > 0 && depth < 3 {
			return d.nested(x)
		}
	case nil:
		if depth > 0 {
			return nil
		}
	}
	return protocol.Errorf(protocol.KindInvalid, "commands: %s is no batch; want an array of entries or an object keyed by action", typeName(v))
}

// nested reads a wrapper whose content was encoded twice.
func (d *decoder) nested(text string) error {
	inner, err := Decode(text)
	if err != nil {
		return err
	}
	d.warn(WarnRepaired, "the commands were JSON inside a text")
	d.out.Entries = append(d.out.Entries, inner.Entries...)
	d.out.Inspect = append(d.out.Inspect, inner.Inspect...)
	d.out.Options.Transaction = d.out.Options.Transaction || inner.Options.Transaction
	d.out.Warnings = append(d.out.Warnings, inner.Warnings...)
	return nil
}

func (d *decoder) object(o *lenient.Object, depth int) error {
	for _, wrapper := range []string{"tavern_commands", "commands"} {
		if _, ok := o.Get(wrapper); ok {
			return d.wrapper(o, wrapper, depth)
		}
	}
	if isEntry(o) {
		d.entry(o, "")
		return nil
	}
	return d.sections(o)
}

// wrapper reads {tavern_commands|commands, options, tavern_inspect}; the rest
// of a model's answer is not ours.
func (d *decoder) wrapper(o *lenient.Object, name string, depth int) error {
	for _, m := range o.Members {
		switch m.Key {
		case name:
			if err := d.top(m.Value, depth+1); err != nil {
				return err
			}
		case "options":
			d.batchOptions(m.Value)
		case "tavern_inspect":
			d.inspect(m.Value)
		}
	}
	return nil
}

// sections reads the keyed form. Sections that come twice are joined.
func (d *decoder) sections(o *lenient.Object) error {
	parts := map[Action][]any{}
	cut := o.Cut
	for i, m := range o.Members {
		name := section(m.Key)
		switch {
		case name != "":
			parts[name] = append(parts[name], m.Value)
		case m.Key == "options":
			d.batchOptions(m.Value)
		case m.Key == "tavern_inspect":
			d.inspect(m.Value)
		case m.Key != "text" || i > 0:
			d.warn(WarnUnknownField, fmt.Sprintf("%q is no action and was ignored%s", m.Key, Hint(Nearest(m.Key, actionNames()))))
		}
	}
	for _, a := range Actions() {
		for _, v := range parts[a] {
			d.section(a, v)
		}
	}
	if cut && len(d.out.Entries) == 0 {
		d.warn(WarnRepaired, "the text ended before any command was complete")
	}
	return nil
}

func actionNames() []string {
	var out []string
	for _, a := range Actions() {
		out = append(out, string(a))
	}
	return out
}

func (d *decoder) section(a Action, v any) {
	switch x := v.(type) {
	case []any:
		for _, item := range x {
			d.entry(item, a)
		}
	case *lenient.Object:
		if isEntry(x) {
			d.entry(x, a)
			return
		}
		for i, m := range x.Members {
			e := Entry{Action: a, Key: m.Key, HasKey: true}
			e.take(m.Value)
			if x.Cut && i == len(x.Members)-1 {
				e.Malformed = &Fault{Truncated, "the text ended inside this command; write it again"}
			}
			d.out.Entries = append(d.out.Entries, e)
		}
	default:
		d.entry(v, a)
	}
}

// take stores a value, or the reason why it is none.
func (e *Entry) take(v any) {
	plain, err := lenient.Plain(v)
	if err != nil {
		e.BadOption = &Fault{InvalidValue, err.Error()}
		return
	}
	e.Value, e.HasValue = plain, true
}

func (d *decoder) entry(v any, inherited Action) {
	e := Entry{Action: inherited}
	switch x := v.(type) {
	case *lenient.Object:
		d.fields(&e, x, inherited)
		if x.Cut {
			e.Malformed = &Fault{Truncated, "the text ended inside this command; write it again"}
		}
	case string:
		if inherited == Delete {
			e.Key, e.HasKey = x, true
			break
		}
		e.Malformed = &Fault{InvalidEntry, fmt.Sprintf("a bare text is a command under \"delete\" only; want {action, key, value}, got %.60q", x)}
	default:
		e.Malformed = &Fault{InvalidEntry, fmt.Sprintf("an entry is an object {action, key, value, options}; got %s", typeName(v))}
	}
	d.out.Entries = append(d.out.Entries, e)
}

func (d *decoder) fields(e *Entry, o *lenient.Object, inherited Action) {
	var options *lenient.Object
	var misplaced []lenient.Member
	for _, m := range o.Members {
		switch m.Key {
		case "action":
			e.readAction(m.Value, inherited)
		case "key":
			e.HasKey = true
			text, ok := m.Value.(string)
			e.Key, e.KeyIsNoText = text, !ok
		case "value":
			e.take(m.Value)
		case "options":
			if x, ok := m.Value.(*lenient.Object); ok {
				options = x
			} else if m.Value != nil {
				e.BadOption = &Fault{InvalidOption, fmt.Sprintf("options is %s; want an object", typeName(m.Value))}
			}
		default:
			if known(m.Key) {
				misplaced = append(misplaced, m)
				e.warn(WarnMisplaced, fmt.Sprintf("%q stands beside options and was read as one of them", m.Key))
			} else {
				e.warn(WarnUnknownField, fmt.Sprintf("field %q is unknown and was ignored%s", m.Key, Hint(Nearest(m.Key, []string{"action", "key", "value", "options"}))))
			}
		}
	}
	if e.Action == "" && e.Malformed == nil {
		e.Malformed = &Fault{UnknownAction, "the entry has no action; want one of " + strings.Join(actionNames(), ", ")}
	}
	if options != nil {
		misplaced = append(misplaced, options.Members...)
	}
	if len(misplaced) > 0 {
		e.readOptions(misplaced)
	}
}

func (e *Entry) warn(code Code, message string) {
	e.Warnings = append(e.Warnings, Warning{Code: code, Message: message})
}

func (e *Entry) readAction(v any, inherited Action) {
	text, ok := v.(string)
	if !ok && v == nil && inherited != "" {
		return
	}
	a := section(text)
	if !ok || a == "" {
		e.Malformed = &Fault{UnknownAction, fmt.Sprintf("action %.60q is unknown; want one of %s%s", fmt.Sprint(v), strings.Join(actionNames(), ", "), Hint(Nearest(text, actionNames())))}
		return
	}
	if inherited != "" && a != inherited {
		e.warn(WarnSection, fmt.Sprintf("the entry says %q inside the section %q; the entry wins", a, inherited))
	}
	e.Action = a
}

func (d *decoder) batchOptions(v any) {
	o, ok := v.(*lenient.Object)
	if !ok {
		d.warn(WarnIgnored, "the batch's options are "+typeName(v)+", not an object, and were ignored")
		return
	}
	for _, m := range o.Members {
		ok := true
		switch m.Key {
		case "transaction":
			d.out.Options.Transaction, ok = m.Value.(bool)
			if !ok { // an unreadable wish for safety is taken as one
				d.out.Options.Transaction = true
			}
		case "batchId":
			d.out.Options.BatchID, ok = m.Value.(string)
		case "turnId":
			d.out.Options.TurnID, ok = m.Value.(string)
		case "reads":
			ok = d.reads(m.Value)
		default:
			d.warn(WarnUnknownOption, fmt.Sprintf("batch option %q is unknown and was ignored%s", m.Key, Hint(Nearest(m.Key, []string{"transaction", "batchId", "turnId", "reads"}))))
		}
		if !ok {
			d.warn(WarnIgnored, fmt.Sprintf("batch option %q is %s", m.Key, typeName(m.Value)))
		}
	}
}

func (d *decoder) reads(v any) bool {
	list, ok := v.([]any)
	if !ok || len(list) > MaxReads {
		return false
	}
	for _, item := range list {
		o, ok := item.(*lenient.Object)
		if !ok {
			return false
		}
		key, _ := o.Get("key")
		version, _ := o.Get("version")
		text, okKey := key.(string)
		n, okVersion := version.(int64)
		if !okKey || !okVersion {
			return false
		}
		d.out.Options.Reads = append(d.out.Options.Reads, Read{text, n})
	}
	return true
}

// inspect reads tavern_inspect: a list of {key} or of keys.
func (d *decoder) inspect(v any) {
	items := []any{v}
	if list, ok := v.([]any); ok {
		items = list
	}
	for _, item := range items {
		if o, ok := item.(*lenient.Object); ok {
			item, _ = o.Get("key")
		}
		if key, ok := item.(string); ok && len(d.out.Inspect) < MaxEntries {
			d.out.Inspect = append(d.out.Inspect, key)
		} else {
			d.warn(WarnUnknownField, "an entry of tavern_inspect names no key and was ignored")
		}
	}
}

func typeName(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case int64, float64, lenient.Number:
		return "a number"
	case string:
		return "a text"
	case []any:
		return "an array"
	}
	return "an object"
}

func known(option string) bool {
	return slices.Contains(OptionNames(), option)
}
