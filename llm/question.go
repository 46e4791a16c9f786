package llm

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/tinylib/msgp/msgp"

	"tavernsim/protocol"
)

// Hash is the name of an encoded question: 16 bytes of its SHA-256, in hexadecimal.
func Hash(question []byte) string {
	sum := sha256.Sum256(question)
	var text [32]byte
	hex.Encode(text[:], sum[:16])
	return string(text[:])
}

// AppendQuestion encodes what a model reads of a request; equal questions give equal
// bytes. Time, chance and the asking agent are not part of it.
func AppendQuestion(b []byte, q *protocol.ModelRequest) []byte {
	b = msgp.AppendString(b, q.Model)
	b = msgp.AppendArrayHeader(b, uint32(len(q.Messages)))
	for i := range q.Messages {
		m := &q.Messages[i]
		b = msgp.AppendString(msgp.AppendString(msgp.AppendString(b, string(m.Role)), m.CallID), m.Text)
		b = appendImages(b, m.Images)
		b = msgp.AppendArrayHeader(b, uint32(len(m.Calls)))
		for k := range m.Calls {
			c := &m.Calls[k]
			b = msgp.AppendString(msgp.AppendString(b, c.ID), c.Tool)
			if c.Broken != "" {
				b = msgp.AppendString(b, c.Broken)
			} else {
				b = AppendAny(b, c.Params)
			}
		}
	}
	b = msgp.AppendArrayHeader(b, uint32(len(q.Tools)))
	for i := range q.Tools {
		b = msgp.AppendString(msgp.AppendString(b, q.Tools[i].Name), q.Tools[i].Description)
		b = AppendAny(b, q.Tools[i].Parameters)
	}
	b = msgp.AppendBool(msgp.AppendInt(b, q.MaxTokens), q.JSON)
	if q.Temperature != nil {
		b = msgp.AppendFloat64(b, *q.Temperature)
	}
	b = protocol.AppendStrings(b, q.Stop)
	if q.Options != nil {
		b = appendOptions(b, q.Options)
	}
	return b
}

// appendImages writes a map, which nothing else of a message begins with, if there are any.
func appendImages(b []byte, list []protocol.Image) []byte {
	if len(list) == 0 {
		return b
	}
	b = msgp.AppendMapHeader(b, uint32(len(list)))
	for i := range list {
		b = msgp.AppendString(msgp.AppendString(msgp.AppendString(b, list[i].URI), list[i].Type), list[i].SHA256)
	}
	return b
}

func appendOptions(b []byte, o *protocol.ModelOptions) []byte {
	b = msgp.AppendString(msgp.AppendString(b, o.Effort), o.ToolChoice)
	b = msgp.AppendArrayHeader(b, 3)
	if o.TopP != nil {
		b = AppendAny(b, *o.TopP)
	} else {
		b = msgp.AppendNil(b)
	}
	if o.Seed != nil {
		b = AppendAny(b, *o.Seed)
	} else {
		b = msgp.AppendNil(b)
	}
	if o.Parallel != nil {
		b = AppendAny(b, *o.Parallel)
	} else {
		b = msgp.AppendNil(b)
	}
	return AppendAny(AppendAny(b, o.Schema), o.Extra)
}

// AppendAny encodes a value; anything else by its text.
func AppendAny(b []byte, v any) []byte {
	n, err := protocol.Normalize(v)
	if err != nil {
		return msgp.AppendString(b, err.Error())
	}
	return protocol.AppendValue(b, n)
}
