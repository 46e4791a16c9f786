package grown_test

import (
	"bytes"
	"reflect"
	"testing"

	"pgregory.net/rapid"

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

// stored has a field of each kind that [grown.Append] and [grown.Read] treat in their own way.
type stored struct {
	Raw    protocol.Raw
	Number uint64
	Count  int64
	Parts  []newPart
	Last   *newPart
	Text   string
}

func (s *stored) fields() []any {
	return []any{&s.Raw, &s.Number, &s.Count, &s.Parts, &s.Last, &s.Text}
}

// A struct that is given by its fields has the bytes of the codec, and comes back from them; one of
// fewer fields, too. Damaged bytes are refused by both or by none, and no reader panics.
func TestFields(t *testing.T) {
	codec := protocol.NewCodec()
	rapid.Check(t, func(t *rapid.T) {
		s := stored{
			Number: rapid.Uint64().Draw(t, "number"), Count: rapid.Int64().Draw(t, "count"), Text: rapid.String().Draw(t, "text"),
		}
		if rapid.Bool().Draw(t, "raw") {
			s.Raw = protocol.Encode(rapid.String().Draw(t, "value"))
		}
		for range rapid.IntRange(0, 3).Draw(t, "parts") {
			s.Parts = append(s.Parts, newPart{Name: rapid.String().Draw(t, "name"), Fine: rapid.Bool().Draw(t, "fine")})
		}
		if len(s.Parts) == 0 && rapid.Bool().Draw(t, "empty") {
			s.Parts = []newPart{}
		}
		if rapid.Bool().Draw(t, "last") {
			s.Last = &newPart{Marks: []string{"m"}}
		}
		want, err := codec.Marshal(&s)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := grown.Append(codec, nil, s.fields()...)
		if err != nil || !bytes.Equal(raw, want) {
			t.Fatalf("% x, want % x (%v)", raw, want, err)
		}
		n := rapid.IntRange(0, 6).Draw(t, "fields")
		older, err := grown.Append(codec, nil, s.fields()[:n]...)
		if err != nil {
			t.Fatal(err)
		}
		var got, whole stored
		if err := grown.Read(codec, older, got.fields()...); err != nil {
			t.Fatal(err)
		}
		again, err := grown.Append(codec, nil, got.fields()[:n]...)
		if err != nil || !bytes.Equal(again, older) {
			t.Fatalf("% x, want % x (%v)", again, older, err)
		}
		i := rapid.IntRange(0, len(raw)-1).Draw(t, "at")
		raw[i] = rapid.Byte().Draw(t, "byte")
		if one, other := grown.Read(codec, raw, new(stored).fields()...), grown.Unmarshal(codec, raw, &whole); one == nil && other != nil {
			t.Fatalf("% x is refused as a whole (%v) and not by its fields", raw, other)
		}
	})
	if err := grown.Read(codec, protocol.Encode([]any{nil, nil}), new(uint64)); err == nil {
		t.Error("a struct of more fields is read")
	}
}
