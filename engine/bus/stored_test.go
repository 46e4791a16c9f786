package bus_test

import (
	"encoding/hex"
	"os"
	"slices"
	"strings"
	"testing"

	"tavernsim/engine/bus"
	"tavernsim/protocol"
	"tavernsim/protocol/protocoltest"
)

type stored interface{ AppendMsg([]byte) []byte }

// reading gives a filled event of a form, and reads one.
func reading(form string) (full stored, read func(protocol.Raw) (stored, error)) {
	switch form {
	case "routed":
		return &bus.Routed{}, func(b protocol.Raw) (stored, error) { return bus.ReadRouted(b) }
	case "refused":
		return &bus.Refused{}, func(b protocol.Raw) (stored, error) { return bus.ReadRefused(b) }
	case "draft":
		return &protocol.Draft{}, func(b protocol.Raw) (stored, error) { return protocol.ReadDraft(b) }
	}
	return &protocol.Envelope{}, func(b protocol.Raw) (stored, error) { return protocol.ReadEnvelope(b) }
}

// Events that older programs stored read on, and lack what they lacked; the
// newest bytes are what is written today, with every field in them.
func TestStoredEvents(t *testing.T) {
	text, err := os.ReadFile("testdata/stored.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if f[0] == "#" {
			continue
		}
		raw, err := hex.DecodeString(f[2])
		if err != nil {
			t.Fatal(err)
		}
		full, read := reading(f[0])
		protocoltest.Fill(full)
		back, err := read(raw)
		if err != nil {
			t.Errorf("%s without %s: %v", f[0], f[1], err)
			continue
		}
		lacks := slices.DeleteFunc(protocoltest.Zero(back), func(name string) bool { return name == "Place" }) // never stored
		want := slices.DeleteFunc(strings.Split(f[1], ","), func(name string) bool { return name == "-" })
		if slices.Sort(lacks); !slices.Equal(lacks, slices.Sorted(slices.Values(want))) {
			t.Errorf("%s lacks %v, want %v", f[0], lacks, want)
		}
		if len(want) == 0 && (string(full.AppendMsg(nil)) != string(raw) || string(back.AppendMsg(nil)) != string(raw)) {
			t.Errorf("%s is written as\n%x\n%x, want\n%x", f[0], full.AppendMsg(nil), back.AppendMsg(nil), raw)
		}
		if _, err := read(raw[:len(raw)-1]); protocol.KindOf(err) != protocol.KindCorrupt {
			t.Errorf("%s, cut: %v", f[0], err)
		}
		if raw[0]&0xf0 == 0x90 {
			raw[0]--
			if _, err := read(raw); protocol.KindOf(err) != protocol.KindCorrupt {
				t.Errorf("%s of a length that never was: %v", f[0], err)
			}
		}
	}
}

// An event that is sent again has all that it was published with, but for the
// moment at which its time to live begins, and how far it reached: it reaches as its type does.
func TestNothingIsLostWhenSentAgain(t *testing.T) {
	refused, routed := &bus.Refused{}, &bus.Routed{}
	protocoltest.Fill(refused)
	protocoltest.Fill(routed)
	routed.Expires = routed.Time + 5
	for _, d := range []*protocol.Draft{refused.Draft(), routed.Draft("b")} {
		if zero := protocoltest.Zero(d); !slices.Equal(zero, []string{"Time", "Reach"}) {
			t.Errorf("lost: %v", zero)
		}
	}
	if d := routed.Draft("b"); d.TTL != 5 || !slices.Equal(d.Targets, []string{"b"}) {
		t.Errorf("%+v", d)
	}
}
