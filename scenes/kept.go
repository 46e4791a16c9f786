package scenes

import (
	"tavernsim/protocol"

	"github.com/tinylib/msgp/msgp"
)

// keptAnswer says what became of a wave on its way to the disk.
type keptAnswer struct {
	wave    uint64
	failure error
}

func appendKept(wave uint64, err error) protocol.Raw {
	b := msgp.AppendUint64(nil, wave)
	if err == nil {
		return msgp.AppendString(msgp.AppendString(b, ""), "")
	}
	return msgp.AppendString(msgp.AppendString(b, string(protocol.KindOf(err))), err.Error())
}

func readKept(b protocol.Raw) (a keptAnswer, err error) {
	var rest []byte
	var kind, text string
	if a.wave, rest, err = msgp.ReadUint64Bytes(b); err == nil {
		kind, rest, err = msgp.ReadStringBytes(rest)
	}
	if err == nil {
		text, _, err = msgp.ReadStringBytes(rest)
	}
	if text != "" {
		a.failure = &protocol.Error{Kind: protocol.ErrorKind(kind), Message: text}
	}
	return a, err
}
