package outside

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"tavernsim/protocol"
)

// suffix ends the ids of these journals. No scene has an id with "!".
const suffix = "!effects"

// JournalID names the journal of a scene's effects in the scene's store.
func JournalID(scene string) string { return scene + suffix }

// SceneOf is the scene of such a journal; false for the journal of a scene.
func SceneOf(journal string) (scene string, ok bool) { return strings.CutSuffix(journal, suffix) }

// Question stands for everything that was asked: a hash, in hexadecimal.
type Question string

// Hash hashes what is asked, in a form in which equal questions are equal bytes.
func Hash(b []byte) Question {
	sum := sha256.Sum256(b)
	return Question(hex.EncodeToString(sum[:16]))
}

// Effect is one request to the outside.
type Effect struct {
	Agent     string // instance id
	Turn      uint64 // of the agent, from 1
	Request   int    // number within the turn and kind
	Kind      string // "model"; the name of a tool
	To        string // the provider, for people
	Question  Question
	MayRepeat bool          // the word of whoever carries it out
	At        protocol.Time // of the scene's clock
}

func (e *Effect) turn() turnKey   { return turnKey{e.Agent, e.Turn} }
func (e *Effect) place() placeKey { return placeKey{e.Kind, e.Request} }

func (e *Effect) unknown(why string) error {
	return protocol.Errorf(protocol.KindUnknownOutcome,
		"%s request %d of turn %d to %s: %s; it must not be repeated, so it is not asked again", e.Kind, e.Request, e.Turn, e.To, why)
}
