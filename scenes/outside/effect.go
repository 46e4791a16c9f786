package outside

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/tinylib/msgp/msgp"

	"tavernsim/engine/agent"
	"tavernsim/protocol"
)

// suffix ends the ids of these journals. No scene has an id with "!".
const suffix = "!effects"

// JournalID names the journal of a scene's effects in the scene's store.
func JournalID(scene string) string { return scene + suffix }

// SceneOf is the scene of such a journal; false for the journal of a scene.
func SceneOf(journal string) (scene string, ok bool) { return strings.CutSuffix(journal, suffix) }

// Question is a hash of a whole request, in hexadecimal.
type Question string

// Hash hashes an encoded question. Equal questions must have equal bytes.
func Hash(b []byte) Question {
	sum := sha256.Sum256(b)
	return Question(hex.EncodeToString(sum[:16]))
}

// Effect is one request to the outside.
type Effect struct {
	Agent     string // instance id
	Turn      uint64 // of the agent, from 1
	Request   int    // number within the turn; of the kind "model" by itself
	Kind      string // of the executor
	To        string // its name, for people
	Question  Question
	MayRepeat bool          // as the executor says
	At        protocol.Time // of the scene's clock
}

func (e *Effect) turn() turnKey   { return turnKey{e.Agent, e.Turn} }
func (e *Effect) place() placeKey { return placeKey{e.Kind, e.Request} }

func (e *Effect) unknown(why string) error {
	return protocol.Errorf(protocol.KindUnknownOutcome,
		"%s request %d of turn %d to %s: %s; it must not be repeated, so it is not asked again", e.Kind, e.Request, e.Turn, e.To, why)
}

// appendQuestion encodes the question to an executor; equal questions give equal bytes.
// Time, chance and the asking agent are not part of it.
func appendQuestion(b []byte, to string, ask *agent.Ask) []byte {
	b = msgp.AppendString(b, to)
	if ask.Kind != agent.KindModel {
		return appendAny(msgp.AppendString(b, ask.Call.Tool), ask.Call.Params)
	}
	q := &ask.Model
	b = msgp.AppendString(b, q.Model)
	b = msgp.AppendArrayHeader(b, uint32(len(q.Messages)))
	for i := range q.Messages {
		m := &q.Messages[i]
		b = msgp.AppendString(msgp.AppendString(msgp.AppendString(b, string(m.Role)), m.CallID), m.Text)
		b = msgp.AppendArrayHeader(b, uint32(len(m.Calls)))
		for k := range m.Calls {
			b = msgp.AppendString(msgp.AppendString(b, m.Calls[k].ID), m.Calls[k].Tool)
			b = appendAny(b, m.Calls[k].Params)
		}
	}
	b = msgp.AppendArrayHeader(b, uint32(len(q.Tools)))
	for i := range q.Tools {
		b = msgp.AppendString(msgp.AppendString(b, q.Tools[i].Name), q.Tools[i].Description)
		b = appendAny(b, q.Tools[i].Parameters)
	}
	b = msgp.AppendBool(msgp.AppendInt(b, q.MaxTokens), q.JSON)
	if q.Temperature != nil {
		b = msgp.AppendFloat64(b, *q.Temperature)
	}
	return protocol.AppendStrings(b, q.Stop)
}

// appendAny encodes a value; anything else by its text.
func appendAny(b []byte, v any) []byte {
	n, err := protocol.Normalize(v)
	if err != nil {
		return msgp.AppendString(b, err.Error())
	}
	return protocol.AppendValue(b, n)
}
