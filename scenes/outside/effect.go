package outside

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/tinylib/msgp/msgp"

	"tavernsim/engine/agent/effect"
	"tavernsim/llm"
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
func Hash(b []byte) Question { return Question(llm.Hash(b)) }

// Effect is one request to the outside.
type Effect struct {
	Agent     string // instance id
	Turn      uint64 // of the agent, from 1
	Of        string // as in From
	Request   int    // number within the turn; of the kind "model" by itself
	Kind      string // of the executor
	To        string // its name, for people
	Question  Question
	MayRepeat bool          // as the executor says
	At        protocol.Time // of the scene's clock
	Most      *Most         // that it takes; nil = it is under no budget
	Ahead     bool          // a shadow asks: the turn itself has not begun, or asks later

	room   []byte // for the facts of it; nil = there is none yet
	of     *call
	became func(Fate) // of a shadow
}

// other is the question of a turn as a shadow has it, and that of a shadow as the turn does.
func (e *Effect) other() Question {
	switch c := e.of; {
	case c == nil:
		return e.Question
	case e.Ahead:
		return Hash(appendQuestion(nil, c.to.Name(), &c.ask))
	default:
		return c.to.foretold(&c.ask, c.from.Barred)
	}
}

// noted reports whether a request is kept before it leaves. Who asks again after a kill needs no note of a call that may
// be repeated, but a budget charges what was out, and of a model people count what was asked twice.
func (e *Effect) noted() bool {
	return !e.MayRepeat || e.Kind == effect.KindModel || e.Most != nil || e.Ahead
}

func (e *Effect) turn() turnKey   { return turnKey{e.Agent, e.Turn} }
func (e *Effect) place() placeKey { return placeKey{e.Kind, e.Request} }

func (e *Effect) unknown(why string) error {
	return protocol.Errorf(protocol.KindUnknownOutcome, "%s request %s to %s: %s; it must not be repeated, so it is not asked again", e.Kind, cmp.Or(e.Of, fmt.Sprintf("%d of turn %d", e.Request, e.Turn)), e.To, why)
}

// Bytes of an encoded question, usually; its facts fit in, too.
const (
	questionSize = 1024 // to a model
	callSize     = 256  // to a tool
)

// appendQuestion encodes the question to an executor; equal questions give equal bytes.
// Time, chance and the asking agent are not part of it.
func appendQuestion(b []byte, to string, ask *effect.Ask) []byte {
	b = msgp.AppendString(b, to)
	if ask.Kind == effect.KindModel {
		return llm.AppendQuestion(b, &ask.Model)
	}
	return llm.AppendAny(msgp.AppendString(b, ask.Call.Tool), ask.Call.Params)
}
