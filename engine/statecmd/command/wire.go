package command

import (
	"github.com/tinylib/msgp/msgp"

	"tavernsim/internal/lenient"
	"tavernsim/protocol"
)

// The form in which a batch travels from the one who read it to the one who
// carries it out: msgpack lists. Faults and warnings of the reading travel with
// it, so that nothing is read twice or told twice.

const (
	batchFields   = 7
	entryFields   = 8
	warningFields = 3
)

// Flags of an entry.
const (
	flagValue = 1 << iota
	flagKey
	flagNoText
)

// AppendMsg appends the batch.
func (b *Batch) AppendMsg(out []byte) []byte {
	out = msgp.AppendArrayHeader(out, batchFields)
	out = msgp.AppendArrayHeader(out, uint32(len(b.Entries)))
	for i := range b.Entries {
		out = b.Entries[i].appendMsg(out)
	}
	out = protocol.AppendStrings(out, b.Inspect)
	out = msgp.AppendBool(out, b.Options.Transaction)
	out = msgp.AppendString(out, b.Options.BatchID)
	out = msgp.AppendString(out, b.Options.TurnID)
	out = msgp.AppendArrayHeader(out, uint32(len(b.Options.Reads)))
	for _, r := range b.Options.Reads {
		out = msgp.AppendArrayHeader(out, 2)
		out = protocol.AppendInt(msgp.AppendString(out, r.Key), r.Version)
	}
	return AppendWarnings(out, b.Warnings)
}

func (e *Entry) appendMsg(out []byte) []byte {
	out = msgp.AppendArrayHeader(out, entryFields)
	out = msgp.AppendString(out, string(e.Action))
	out = msgp.AppendString(out, e.Key)
	out = protocol.AppendInt(out, e.flags())
	out = protocol.AppendValue(out, e.Value)
	if e.Options == nil {
		out = msgp.AppendNil(out)
	} else {
		out = protocol.AppendValue(out, e.Options.Given)
	}
	out = AppendWarnings(out, e.Warnings)
	out = appendFault(out, e.Malformed)
	return appendFault(out, e.BadOption)
}

func (e *Entry) flags() (flags int64) {
	if e.HasValue {
		flags |= flagValue
	}
	if e.HasKey {
		flags |= flagKey
	}
	if e.KeyIsNoText {
		flags |= flagNoText
	}
	return flags
}

func appendFault(out []byte, f *Fault) []byte {
	if f == nil {
		return msgp.AppendNil(out)
	}
	out = msgp.AppendArrayHeader(out, 2)
	return msgp.AppendString(msgp.AppendString(out, string(f.Code)), f.Message)
}

// AppendWarnings appends a list of warnings.
func AppendWarnings(out []byte, list []Warning) []byte {
	if list == nil {
		return msgp.AppendNil(out)
	}
	out = msgp.AppendArrayHeader(out, uint32(len(list)))
	for _, w := range list {
		out = msgp.AppendArrayHeader(out, warningFields)
		out = protocol.AppendInt(out, int64(w.Index))
		out = msgp.AppendString(msgp.AppendString(out, string(w.Code)), w.Message)
	}
	return out
}

// ReadWarnings reads what AppendWarnings wrote.
func ReadWarnings(r *protocol.Reader) []Warning {
	n, ok := r.Count(warningFields)
	if !ok {
		return nil
	}
	list := make([]Warning, n)
	for i := range list {
		r.Fields("warning", warningFields)
		list[i] = Warning{Index: int(r.Int()), Code: Code(r.Word()), Message: r.String()}
	}
	return list
}

// ReadBatch reads what AppendMsg wrote.
func ReadBatch(raw protocol.Raw) (Batch, error) {
	r := protocol.NewReader(raw, "batch of commands", batchFields)
	var b Batch
	if n, ok := r.Count(entryFields); ok {
		b.Entries = make([]Entry, n)
		for i := range b.Entries {
			if err := b.Entries[i].read(r, i); err != nil {
				return b, err
			}
		}
	}
	b.Inspect = r.Strings()
	b.Options = BatchOptions{Transaction: r.Bool(), BatchID: r.String(), TurnID: r.String()}
	if n, ok := r.Count(3); ok && n > 0 {
		b.Options.Reads = make([]Read, n)
		for i := range b.Options.Reads {
			r.Fields("read", 2)
			b.Options.Reads[i] = Read{Key: r.String(), Version: r.Int()}
		}
	}
	b.Warnings = ReadWarnings(r)
	return b, r.End()
}

func (e *Entry) read(r *protocol.Reader, index int) error {
	r.Fields("entry", entryFields)
	e.Index, e.Action, e.Key = index, Action(r.Word()), r.String()
	flags := r.Int()
	e.HasValue, e.HasKey, e.KeyIsNoText = flags&flagValue != 0, flags&flagKey != 0, flags&flagNoText != 0
	value, err := r.Raw().Value()
	if err != nil {
		return err
	}
	given, err := r.Raw().Value()
	if err != nil {
		return err
	}
	e.Value = value
	if m, ok := given.(map[string]any); ok {
		e.regain(m)
	}
	e.Warnings, e.Malformed, e.BadOption = ReadWarnings(r), readFault(r), readFault(r)
	return r.Err()
}

// regain reads the options once more from what was given; the faults and
// warnings of the first time stand.
func (e *Entry) regain(given map[string]any) {
	members := make([]lenient.Member, 0, len(given))
	for _, name := range protocol.SortedKeys(given) {
		members = append(members, lenient.Member{Key: name, Value: lenient.Ordered(given[name])})
	}
	e.readOptions(members)
}

func readFault(r *protocol.Reader) *Fault {
	if n, ok := r.Count(2); !ok || n != 2 {
		return nil
	}
	return &Fault{Code: Code(r.Word()), Message: r.String()}
}
