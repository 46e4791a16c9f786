package scenes

import (
	"tavernsim/actors"
	"tavernsim/protocol"
)

// tell hands a decision to the scene.
func tell(to *actors.Ref, kind protocol.Kind, source string, d *protocol.Decided) {
	to.Tell(&protocol.Envelope{Kind: kind, Source: source, Body: protocol.NewBody(d.AppendMsg(nil))})
}

// encodeFacts puts facts into their wire form.
func encodeFacts(codec *protocol.Codec, facts []protocol.Fact) ([]protocol.KindData, error) {
	out := make([]protocol.KindData, len(facts))
	for i, f := range facts {
		raw, err := codec.Marshal(f)
		if err != nil {
			return nil, err
		}
		out[i] = protocol.KindData{Kind: f.FactKind(), Data: raw}
	}
	return out, nil
}
