package grown_test

import (
	"reflect"
	"testing"

	"tavernsim/protocol"
	"tavernsim/protocol/grown"
)

type oldPart struct{ Name string }

type oldState struct {
	Count int64
	Parts []oldPart
	Last  *oldPart
	Raw   protocol.Raw
	Value any
}

type newPart struct {
	Name  string
	Marks []string
	Fine  bool
}

type newState struct {
	Count  int64
	Parts  []newPart
	Last   *newPart
	Raw    protocol.Raw
	Value  any
	Number uint32
	Text   string
	More   newPart
	Names  map[string]int64
	Then   protocol.Time
	Rest   protocol.Raw
}

// Bytes of an older program are read: fields that were added at the end, at any depth,
// are zero. Bytes of a newer one, and damaged ones, are refused as by Unmarshal.
func TestUnmarshal(t *testing.T) {
	codec := protocol.NewCodec()
	raw, err := codec.Marshal(&oldState{Count: 3, Parts: []oldPart{{"a"}, {"b"}}, Last: &oldPart{"c"}, Raw: protocol.Encode([]any{int64(1)}), Value: []any{"x"}})
	if err != nil {
		t.Fatal(err)
	}
	var got newState
	if err := grown.Unmarshal(codec, raw, &got); err != nil {
		t.Fatal(err)
	}
	got.Rest = nil // a nil is a value to whoever keeps bytes
	want := newState{Count: 3, Parts: []newPart{{Name: "a"}, {Name: "b"}}, Last: &newPart{Name: "c"}, Raw: protocol.Encode([]any{int64(1)}), Value: []any{"x"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	newer, err := codec.Marshal(&want)
	if err != nil {
		t.Fatal(err)
	}
	if err := grown.Unmarshal(codec, newer, &oldState{}); protocol.KindOf(err) != protocol.KindCorrupt {
		t.Error("of a newer program: ", err)
	}
	for cut := range raw {
		if err := grown.Unmarshal(codec, raw[:cut], &newState{}); protocol.KindOf(err) != protocol.KindCorrupt {
			t.Errorf("the first %d bytes: %v", cut, err)
		}
	}
}

// The first fields of a struct are what an older program wrote, to the byte.
func TestMarshal(t *testing.T) {
	codec := protocol.NewCodec()
	old := oldPart{"a"}
	want, err := codec.Marshal(&old)
	if err != nil {
		t.Fatal(err)
	}
	got, err := grown.Marshal(codec, &newPart{Name: "a", Marks: []string{"b"}, Fine: true}, 1)
	if err != nil || string(got) != string(want) {
		t.Errorf("%x, %v, want %x", got, err, want)
	}
	var read newPart
	if err := grown.Unmarshal(codec, got, &read); err != nil || !reflect.DeepEqual(read, newPart{Name: "a"}) {
		t.Errorf("%+v, %v", read, err)
	}
}
