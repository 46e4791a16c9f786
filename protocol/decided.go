package protocol

// Decision is what a machine decided: facts to keep, effects to ask for.
type Decision struct {
	Facts    []Fact
	Effects  []Effect    // for the shell
	Requests []Sequenced // for the scene, when the facts are handed over
}

// Effect is a wish of a machine that its shell carries out, in the imperative.
type Effect interface{ EffectKind() string }

// Addressees of sequenced effects.
const (
	ToWorld     = "world"
	ToKnowledge = "knowledge"
	ToEvents    = "events"
)

// Sequenced is a request to another machine of the scene. The scene merges the
// requests of a wave in its fixed order before it passes them on.
type Sequenced struct {
	To   string
	Data Raw
}

// KindData is an encoded fact.
type KindData struct {
	Kind string
	Data Raw
	Fact Fact // the same, if it is at hand: read-only
}
