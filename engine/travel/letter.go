package travel

import (
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"tavernsim/protocol"
)

// By names the orders that are letters.
const By = "$travel"

// Kinds of letters, as the changes of an order.
const (
	Arrive = "arrive"
	Reach  = "reach"
	Return = "return"
)

// MaxLetter bounds the changes of an order that is a letter, in bytes.
const MaxLetter = 16 << 20

// IsLetter reports whether the id of an order is that of a letter.
func IsLetter(id string) bool { return strings.HasPrefix(id, By+"/") }

// Letter is what one scene tells another about a ticket.
type Letter struct {
	Kind    string
	Scene   string // the other scene of the ticket: whence an agent arrives, whither the one went that is answered
	Number  uint64
	Closed  uint64       // Arrive: as in Departed
	Agent   string       // Arrive: instance id
	Profile string       // Arrive
	State   protocol.Raw // Arrive
	Turns   uint64       // Arrive: that it had, wherever
	Parcel  []Item       // Arrive of no agent: what the scene tells
	Error   string       // Return: why it was not taken
}

// ID is that of the letter's order in the scene that reads it.
func (l *Letter) ID() string { return fmt.Sprintf("%s/%s/%s/%d", By, l.Kind, l.Scene, l.Number) }

// Do is the letter as the changes of an order. The state is a text in base64: it may hold
// bytes, which are no value.
func (l *Letter) Do() protocol.Raw {
	fields := map[string]any{"scene": l.Scene, "number": int64(l.Number)}
	switch l.Kind {
	case Arrive:
		if l.Agent == "" {
			parcel := make([]any, len(l.Parcel))
			for i, f := range l.Parcel {
				parcel[i] = []any{f.Kind, base64.StdEncoding.EncodeToString(f.Data)}
			}
			fields["closed"], fields["parcel"] = int64(l.Closed), parcel
			break
		}
		fields["closed"], fields["agent"], fields["profile"], fields["state"], fields["turns"] = int64(l.Closed), l.Agent, l.Profile, base64.StdEncoding.EncodeToString(l.State), int64(l.Turns)
	case Return:
		fields["error"] = l.Error
	}
	return protocol.Encode([]any{map[string]any{l.Kind: fields}})
}

// Read reads a change of an order that may be a letter; nil = it is none.
func Read(change any) (*Letter, error) {
	m, _ := change.(map[string]any)
	for _, kind := range []string{Arrive, Reach, Return} {
		fields, ok := m[kind].(map[string]any)
		if !ok || len(m) != 1 {
			continue
		}
		l := &Letter{Kind: kind, Number: number(fields["number"]), Closed: number(fields["closed"]), Turns: number(fields["turns"])}
		l.Scene, _ = fields["scene"].(string)
		l.Agent, _ = fields["agent"].(string)
		l.Profile, _ = fields["profile"].(string)
		l.Error, _ = fields["error"].(string)
		if kind == Arrive {
			var err error
			if l.State, err = bytes(fields["state"]); err != nil {
				return nil, protocol.Errorf(protocol.KindCorrupt, "the state in a letter %s: %w", kind, err)
			}
			if l.Parcel, err = parcel(fields["parcel"]); err != nil {
				return nil, protocol.Errorf(protocol.KindCorrupt, "the parcel in a letter %s: %w", kind, err)
			}
		}
		if l.Scene == "" || l.Number == 0 || kind == Arrive && (l.Agent == "" && l.Parcel == nil || l.Closed >= l.Number) {
			return nil, protocol.Errorf(protocol.KindCorrupt, "a letter %s without its scene, number, agent or parcel", kind)
		}
		return l, nil
	}
	return nil, nil
}

func bytes(v any) (protocol.Raw, error) {
	text, _ := v.(string)
	return base64.StdEncoding.DecodeString(text)
}

func parcel(v any) (list []Item, err error) {
	all, _ := v.([]any)
	for _, x := range all {
		pair, _ := x.([]any)
		if len(pair) != 2 {
			return nil, fmt.Errorf("a parcel with %v; want pairs of kind and fact", x)
		}
		f := Item{}
		f.Kind, _ = pair[0].(string)
		if f.Data, err = bytes(pair[1]); err != nil {
			return nil, err
		}
		list = append(list, f)
	}
	return list, nil
}

func number(v any) uint64 {
	n, _ := v.(int64)
	return uint64(max(n, 0))
}

// Link leads from one scene to another.
type Link struct {
	To     string            `json:"to"` // scene id
	Travel protocol.Duration `json:"travel"`
}

// Times are when an agent arrives that leaves now, and when the scene that it left hears of it.
func (l *Link) Times(now protocol.Time) (arrives, answer protocol.Time) {
	d := time.Duration(l.Travel)
	return now.Add(d), now.Add(2 * d)
}
