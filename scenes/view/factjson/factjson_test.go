package factjson

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"tavernsim/engine/bus"
	"tavernsim/engine/bus/throttle"
	"tavernsim/engine/secret"
	"tavernsim/engine/space"
	"tavernsim/engine/statecmd/command"
	"tavernsim/engine/world"
	"tavernsim/engine/worldstate"
	"tavernsim/protocol"
)

// Every kind of request is shown with the names of its fields.
func TestSequenced(t *testing.T) {
	path, err := world.ParsePath("vault.gold")
	if err != nil {
		t.Fatal(err)
	}
	change := world.Request{ID: "r1", By: "kim", Op: world.OpSet, Path: path, Value: protocol.Encode(int64(7))}
	for _, c := range []struct {
		to   string
		data interface{ AppendMsg([]byte) []byte }
		want string
	}{
		{worldstate.Service, &change, `"path":"vault.gold","op":"set","value":7`},
		{worldstate.Service, &worldstate.Request{Change: change, Always: true}, `"always":true`},
		{worldstate.Service, &worldstate.Request{Kind: worldstate.Commands, Change: world.Request{ID: "r2", By: "kim"}, Turn: "3", Batch: &command.Batch{}}, `"kind":"commands"`},
		{worldstate.Service, &worldstate.Request{Kind: worldstate.Commands, Change: world.Request{ID: "r4", By: "kim"}, Batch: &command.Batch{Entries: []command.Entry{{Action: command.Set, Key: "world.safe.api_key", Value: "k2", HasValue: true, HasKey: true}}}}, `"key":"world.safe.api_key","value":"[redacted]"`},
		{worldstate.Service, &worldstate.Request{Kind: worldstate.Commands, Change: world.Request{ID: "r5", By: "kim"}, Batch: &command.Batch{Entries: []command.Entry{{Action: command.Set, Key: "world.safe", Value: map[string]any{"api_key": "k2", "n": 1.0}, HasValue: true, HasKey: true}}}}, `"key":"world.safe","value":{"api_key":"[redacted]","n":1.0}`},
		{space.Service, &space.Request{ID: "r6", By: "kim", Agent: "kim", To: "well", Reason: "password: k2"}, `"reason":"password: [redacted]"`},
		{worldstate.Service, &worldstate.Request{Kind: worldstate.Lock, Change: world.Request{ID: "r3", By: "kim"}, Lease: "l1", Paths: []world.Path{path}, For: time.Minute}, `"lease":"l1","paths":["vault.gold"],"for":"1m0s"`},
		{worldstate.Service, &worldstate.Request{Kind: worldstate.Unlock, Change: world.Request{ID: "r4", By: "kim"}, Lease: "l1"}, `"kind":"unlock"`},
		{bus.Service, &protocol.Draft{EventHeader: protocol.EventHeader{Type: "told"}, Body: protocol.Encode(map[string]any{"n": int64(1)})}, `"type":"told"`},
		{bus.Service, &bus.Change{Agent: "kim", Add: []bus.Subscription{{Type: "told"}}}, `"add":[{"type":"told"`},
		{bus.Service, &bus.Force{By: "$scene", Rule: throttle.Rule{Type: "told", Max: 3}}, `"rule":{"type":"told"`},
		{bus.Service, &bus.WorldUpdated{Before: 1, After: 2, Changes: []bus.WorldChange{{Path: "vault"}}}, `"changes":[{"path":"vault"`},
	} {
		raw, err := json.Marshal(Sequenced(protocol.Sequenced{To: c.to, Data: c.data.AppendMsg(nil)}))
		if err != nil || !strings.Contains(string(raw), c.want) {
			t.Errorf("%T: %v\ngot  %s\nwant %s", c.data, err, raw, c.want)
		}
	}
}

// Maps of any kind hide what stands under the name of a secret, and keep an order.
func TestMaps(t *testing.T) {
	for want, v := range map[string]any{
		`{"a":["b"],"password":"[redacted]"}`: map[string][]string{"password": {"k2"}, "a": {"b"}},
		`{"1":"api_key: [redacted]"}`:         map[int]string{1: "api_key: k2"},
		`[{"password":"[redacted]"}]`:         []any{map[string]any{"password": "k2"}},
		`null`:                                map[string]any(nil),
	} {
		if got, err := json.Marshal(Encoded(v)); err != nil || string(got) != want {
			t.Errorf("%v: %s %v, want %s", v, got, err, want)
		}
	}
}

// A value at a path through the name of a secret is hidden.
func TestPaths(t *testing.T) {
	for path, want := range map[string]bool{"vault.password": true, "vault.password.deep[0]": true, "api_key": true, `a["apiKey"].b`: true, "passwords": false, "vault": false, "": false} {
		if secret.OnPath(path) != want {
			t.Errorf("%q: %v", path, !want)
		}
	}
}
