package statecmd

import (
	"github.com/tinylib/msgp/msgp"

	"tavernsim/engine/statecmd/command"
	"tavernsim/engine/statecmd/ledger"
	"tavernsim/engine/world"
	"tavernsim/protocol"
)

// The fact of a batch writes and reads its msgpack form by hand: lists, as the
// codec would write them, at a fraction of the cost.

const (
	committedFields = 11
	partFields      = 6
	keyFields       = 4
	timerFields     = 6
	recordFields    = 20
	inspectedFields = 4
)

// AppendMsg implements protocol.Appender.
func (c *Committed) AppendMsg(b []byte) []byte {
	b = msgp.AppendArrayHeader(b, committedFields)
	b = protocol.AppendInt(b, int64(c.Time))
	for _, s := range [...]string{c.BatchID, c.TurnID, c.By} {
		b = msgp.AppendString(b, s)
	}
	b = protocol.AppendInt(b, c.Seq)
	b = msgp.AppendArrayHeader(b, uint32(len(c.Parts)))
	for i := range c.Parts {
		b = c.Parts[i].appendMsg(b)
	}
	b = msgp.AppendArrayHeader(b, uint32(len(c.Audit)))
	for i := range c.Audit {
		b = c.Audit[i].appendMsg(b)
	}
	b = msgp.AppendBool(msgp.AppendString(b, c.Request), c.Answer)
	b = command.AppendWarnings(b, c.Warnings)
	b = msgp.AppendArrayHeader(b, uint32(len(c.Debug)))
	for i := range c.Debug {
		b = c.Debug[i].appendMsg(b)
	}
	return b
}

// ReadCommitted decodes the fact. What it holds shares the bytes.
func ReadCommitted(raw protocol.Raw) (*Committed, error) {
	r := protocol.NewReader(raw, FactCommitted, committedFields)
	c := &Committed{Time: protocol.Time(r.Int()), BatchID: r.String(), TurnID: r.String(), By: r.Word(), Seq: r.Int()}
	for n, _ := r.Count(partFields); len(c.Parts) < n && r.Err() == nil; {
		c.Parts = append(c.Parts, readPart(r))
	}
	if n, _ := r.Count(recordFields); n > 0 {
		c.Audit = make([]Record, n)
		for i := range c.Audit {
			c.Audit[i].read(r)
		}
	}
	c.Request, c.Answer, c.Warnings = r.String(), r.Bool(), command.ReadWarnings(r)
	for n, _ := r.Count(inspectedFields); len(c.Debug) < n && r.Err() == nil; {
		d, err := readInspected(r)
		if err != nil {
			return nil, err
		}
		c.Debug = append(c.Debug, d)
	}
	return c, r.End()
}

func (p *Part) appendMsg(b []byte) []byte {
	b = msgp.AppendArrayHeader(b, partFields)
	b = msgp.AppendString(b, p.Document)
	b = protocol.AppendInt(protocol.AppendInt(b, p.Before), p.After)
	b = msgp.AppendArrayHeader(b, uint32(len(p.Changes)))
	for i := range p.Changes {
		b = p.Changes[i].AppendMsg(b)
	}
	b = msgp.AppendArrayHeader(b, uint32(len(p.Keys)))
	for i := range p.Keys {
		b = appendKey(b, &p.Keys[i])
	}
	return appendTimers(b, p.Timers)
}

func readPart(r *protocol.Reader) (p Part) {
	r.Fields("part", partFields)
	p.Document, p.Before, p.After = r.Word(), r.Int(), r.Int()
	if n, _ := r.Count(1); n > 0 {
		p.Changes = make([]world.Change, n)
		for i := range p.Changes {
			p.Changes[i] = world.ReadChange(r)
		}
	}
	p.Keys, p.Timers = readKeys(r), readTimers(r)
	return p
}

func appendKey(b []byte, k *ledger.KeyRecord) []byte {
	b = msgp.AppendArrayHeader(b, keyFields)
	b = protocol.AppendInt(msgp.AppendString(b, k.ID), k.Payload)
	return protocol.AppendInt(msgp.AppendString(b, k.OpID), int64(k.Time))
}

func readKeys(r *protocol.Reader) []ledger.KeyRecord {
	n, _ := r.Count(keyFields)
	if n == 0 {
		return nil
	}
	list := make([]ledger.KeyRecord, n)
	for i := range list {
		r.Fields("key", keyFields)
		list[i] = ledger.KeyRecord{ID: r.String(), Payload: r.Int(), OpID: r.String(), Time: protocol.Time(r.Int())}
	}
	return list
}

func appendTimers(b []byte, list []ledger.TimerChange) []byte {
	b = msgp.AppendArrayHeader(b, uint32(len(list)))
	for i := range list {
		t := &list[i].Timer
		b = msgp.AppendArrayHeader(b, timerFields)
		b = t.Path.AppendMsg(msgp.AppendString(b, list[i].ID))
		b = protocol.AppendInt(protocol.AppendRaw(b, t.Element), int64(t.Until))
		b = msgp.AppendString(msgp.AppendString(b, t.Key), t.OpID)
	}
	return b
}

func readTimers(r *protocol.Reader) (list []ledger.TimerChange) {
	n, _ := r.Count(timerFields)
	for len(list) < n && r.Err() == nil {
		r.Fields("timer", timerFields)
		c := ledger.TimerChange{ID: r.String()}
		c.Timer.Path, c.Timer.Element, c.Timer.Until = world.ReadPath(r), r.Raw(), protocol.Time(r.Int())
		c.Timer.Key, c.Timer.OpID = r.String(), r.String()
		list = append(list, c)
	}
	return list
}

func (x *Record) appendMsg(b []byte) []byte {
	b = msgp.AppendArrayHeader(b, recordFields)
	b = protocol.AppendInt(msgp.AppendString(b, x.OpID), int64(x.Time))
	for _, s := range [...]string{x.Actor, string(x.Action), x.Key} {
		b = msgp.AppendString(b, s)
	}
	for _, raw := range [...]protocol.Raw{x.Before, x.After, x.Options} {
		b = protocol.AppendRaw(b, raw)
	}
	b = msgp.AppendString(msgp.AppendString(b, x.BatchID), x.TurnID)
	b = protocol.AppendInt(b, int64(x.Index))
	b = msgp.AppendString(msgp.AppendString(b, string(x.Status)), string(x.Code))
	b = msgp.AppendBool(msgp.AppendBool(b, x.BeforeExists), x.AfterExists)
	b = command.AppendWarnings(protocol.AppendInt(b, x.Version), x.Warnings)
	b = msgp.AppendString(msgp.AppendBool(b, x.Changed), x.Message)
	if x.Counter == nil {
		return msgp.AppendNil(b)
	}
	return protocol.AppendInt(b, *x.Counter)
}

func (x *Record) read(r *protocol.Reader) {
	r.Fields("record", recordFields)
	*x = Record{OpID: r.String(), Time: protocol.Time(r.Int()), Actor: r.Word(), Action: command.Action(r.Word()), Key: r.String(),
		Before: r.Raw(), After: r.Raw(), Options: r.Raw(), BatchID: r.Word(), TurnID: r.Word(), Index: int(r.Int()),
		Status: Status(r.Word()), Code: command.Code(r.Word()), BeforeExists: r.Bool(), AfterExists: r.Bool(), Version: r.Int(),
		Warnings: command.ReadWarnings(r), Changed: r.Bool(), Message: r.Word()}
	if raw := r.Raw(); raw != nil && r.Err() == nil {
		if v, err := raw.Value(); err == nil {
			n, _ := v.(int64)
			x.Counter = &n
		}
	}
}

func (x *Inspected) appendMsg(b []byte) []byte {
	b = msgp.AppendArrayHeader(b, inspectedFields)
	b = msgp.AppendBool(msgp.AppendString(b, x.Key), x.Exists)
	return msgp.AppendString(protocol.AppendValue(b, x.Value), x.Error)
}

func readInspected(r *protocol.Reader) (x Inspected, err error) {
	r.Fields("inspected", inspectedFields)
	x.Key, x.Exists = r.String(), r.Bool()
	if x.Value, err = r.Raw().Value(); err != nil {
		return x, err
	}
	x.Error = r.String()
	return x, r.Err()
}
