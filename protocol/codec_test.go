package protocol

import (
	"bytes"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/tinylib/msgp/msgp"
	"pgregory.net/rapid"
)

// value draws a value: what JSON can say, with both kinds of numbers.
func value(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		most := 5
		if depth > 0 {
			most = 7
		}
		switch rapid.IntRange(0, most).Draw(t, "kind") {
		case 0:
			return nil
		case 1:
			return rapid.Bool().Draw(t, "bool")
		case 2:
			return rapid.Int64().Draw(t, "int")
		case 3:
			f := rapid.Float64().Draw(t, "float")
			if math.IsNaN(f) || math.IsInf(f, 0) {
				return 0.5
			}
			return f
		case 4, 5:
			return rapid.String().Draw(t, "text")
		case 6:
			list := rapid.SliceOfN(value(depth-1), 0, 4).Draw(t, "list")
			if list == nil {
				list = []any{}
			}
			return list
		}
		return rapid.MapOfN(rapid.String(), value(depth-1), 0, 4).Draw(t, "object")
	})
}

// Bytes: a value comes back as it was, equal values have equal bytes, and what
// Check accepts is what ReadValue reads.
func TestValueRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := value(4).Draw(t, "value")
		raw := Encode(v)
		back, rest, err := ReadValue(raw)
		if err != nil || len(rest) > 0 || !Equal(v, back) {
			t.Fatalf("%v became %v, %d bytes left, %v", v, back, len(rest), err)
		}
		if again := Encode(back); !bytes.Equal(raw, again) {
			t.Fatalf("%x, the second time %x", raw, again)
		}
		if err := Check(raw); err != nil {
			t.Fatal(err)
		}
		if n, err := Normalize(v); err != nil || !Equal(n, v) {
			t.Fatalf("normalized %v, %v", n, err)
		}
		for cut := range len(raw) {
			if _, err := raw[:cut].Value(); err == nil && cut > 0 {
				t.Fatalf("the first %d of %d bytes are a value, too", cut, len(raw))
			}
		}
	})
}

func TestEncodePanicsOnNoValue(t *testing.T) {
	defer func() {
		if p := recover(); p == nil || !strings.Contains(p.(string), "struct {} is no value") {
			t.Error(p)
		}
	}()
	Encode(map[string]any{"a": struct{}{}})
}

// Limits: bytes that lie about their length, nest too deep or are too long are
// errors before anything is allocated.
func TestBytesThatLie(t *testing.T) {
	deep := bytes.Repeat([]byte{0x91}, MaxDepth+2)
	for name, raw := range map[string]Raw{
		"list of four thousand millions":   {0xdd, 0xff, 0xff, 0xff, 0xff},
		"object of four thousand millions": {0xdf, 0xff, 0xff, 0xff, 0xff},
		"text of four thousand millions":   {0xdb, 0xff, 0xff, 0xff, 0xff},
		"too deep":                         append(deep, 0xc0),
		"binary":                           {0xc4, 0x01, 0x00},
		"extension":                        {0xd4, 0x01, 0x00},
		"reserved":                         {0xc1},
		"two values":                       {0xc0, 0xc0},
		"key that is no text":              {0x81, 0x01, 0x01},
		"unsigned beyond 63 bits":          msgp.AppendUint64(nil, math.MaxUint64),
	} {
		if v, err := raw.Value(); err == nil || KindOf(err) != KindCorrupt {
			t.Errorf("%s: %v, %v", name, v, err)
		}
	}
	if err := Check(make(Raw, MaxBytes+1)); KindOf(err) != KindLimit {
		t.Error(err)
	}
	if v, err := Raw(nil).Value(); v != nil || err != nil {
		t.Error(v, err)
	}
}

type sample struct {
	Name   string
	N      int64
	Raw    Raw
	Words  []string
	Counts map[string]any
}

func TestCodec(t *testing.T) {
	c := NewCodec()
	rapid.Check(t, func(t *rapid.T) {
		in := sample{Name: rapid.String().Draw(t, "name"), N: rapid.Int64().Draw(t, "n"), Raw: Encode(value(2).Draw(t, "raw"))}
		in.Counts = map[string]any{"b": int64(1), "a": "x", "c": nil}
		raw, err := c.Marshal(&in)
		if err != nil {
			t.Fatal(err)
		}
		var out sample
		if err := c.Unmarshal(raw, &out); err != nil {
			t.Fatal(err)
		}
		if again, _ := c.Marshal(&out); !bytes.Equal(raw, again) {
			t.Fatalf("%x became %x", raw, again)
		}
		appended, err := c.Append([]byte("before"), &in)
		if err != nil || !bytes.Equal(appended, append([]byte("before"), raw...)) {
			t.Fatalf("appended %x, %v; marshalled %x", appended, err, raw)
		}
	})
	var out sample
	for _, bad := range []Raw{nil, {0xc1}, {0x91, 0xff}, {0xdd, 0xff, 0xff, 0xff, 0xff}} {
		if err := c.Unmarshal(bad, &out); err == nil {
			t.Errorf("%x was read", []byte(bad))
		}
	}
	if _, err := c.Marshal(func() {}); KindOf(err) != KindInternal {
		t.Error(err)
	}
}

// fact is one whose bytes the codec makes.
type fact struct {
	Text string
}

func (fact) FactKind() string { return "test.fact" }

// Equal counts are equal bytes, in the order of the names, and read back.
func TestCounts(t *testing.T) {
	type counted struct{ All, None Counts }
	c, v := NewCodec(), counted{All: Counts{"c": 3, "a": 1, "b": -200, "d": 1 << 40}}
	raw, err := c.Marshal(&v)
	if want := "\x92\x84\xa1a\x01\xa1b\xd1\xff\x38\xa1c\x03\xa1d\xcf\x00\x00\x01\x00\x00\x00\x00\x00\xc0"; err != nil || string(raw) != want {
		t.Errorf("%q, %v", raw, err)
	}
	var read counted
	if err := c.Unmarshal(raw, &read); err != nil || !reflect.DeepEqual(read, v) {
		t.Errorf("%v, %v; want %v", read, err, v)
	}
}

// What Keep gave stays as it is, whatever is encoded or appended afterwards.
func TestKeep(t *testing.T) {
	c := NewCodec()
	rapid.Check(t, func(t *rapid.T) {
		var facts []Fact
		for _, text := range rapid.SliceOfN(rapid.String(), 0, 4).Draw(t, "facts") {
			facts = append(facts, fact{Text: text})
		}
		var requests []Sequenced
		for _, to := range rapid.SliceOfN(rapid.SampledFrom([]string{"world", "events", "elsewhere"}), 0, 4).Draw(t, "requests") {
			requests = append(requests, Sequenced{To: to, Data: Encode(value(2).Draw(t, "data"))})
		}
		kept, asked, err := c.Keep(facts, requests)
		if err != nil || len(kept) != len(facts) || len(asked) != len(requests) {
			t.Fatalf("%+v, %+v, %v", kept, asked, err)
		}
		if _, _, err := c.Keep([]Fact{fact{Text: "another decision, in the same buffer"}}, nil); err != nil {
			t.Fatal(err)
		}
		for i := range kept {
			_ = append(kept[i].Data, "behind"...)
		}
		for i := range asked {
			_ = append(asked[i].Data, "behind"...)
		}
		for i, f := range kept {
			if want, _ := c.Marshal(facts[i]); f.Kind != "test.fact" || !bytes.Equal(f.Data, want) {
				t.Fatalf("fact %d is %s %x", i, f.Kind, []byte(f.Data))
			}
		}
		for i, r := range asked {
			if r.To != requests[i].To || !bytes.Equal(r.Data, requests[i].Data) {
				t.Fatalf("request %d is %+v", i, r)
			}
		}
	})
}

func TestEnvelopeRoundTrip(t *testing.T) {
	text := rapid.StringN(0, 12, -1)
	rapid.Check(t, func(t *rapid.T) {
		e := &Envelope{
			EventHeader: EventHeader{ID: text.Draw(t, "id"), Source: text.Draw(t, "source"), Targets: rapid.SliceOfN(text, 0, 3).Draw(t, "targets"), Type: text.Draw(t, "type"), Priority: Priority(rapid.IntRange(-1, 2).Draw(t, "priority")), TraceID: text.Draw(t, "trace"), Time: Time(rapid.Int64().Draw(t, "time")), Ephemeral: rapid.Bool().Draw(t, "ephemeral"), RequiresAck: rapid.Bool().Draw(t, "ack")}, Kind: Kind(rapid.IntRange(1, int(KindWaits)).Draw(t, "kind")), Scene: text.Draw(t, "scene"), Expires: Time(rapid.Int64().Draw(t, "expires")), Wave: rapid.Uint64().Draw(t, "wave"),
		}
		for range rapid.IntRange(0, 3).Draw(t, "depth") {
			e.Chain = append(e.Chain, Link{Agent: text.Draw(t, "agent"), Type: text.Draw(t, "link")})
		}
		e.Body = NewBody(Encode(value(2).Draw(t, "body")))
		raw := e.AppendMsg(nil)
		back, err := ReadEnvelope(raw)
		if err != nil {
			t.Fatal(err)
		}
		if again := back.AppendMsg(nil); !bytes.Equal(raw, again) {
			t.Fatalf("%x became %x", raw, again)
		}
		if back.Depth() != e.Depth() || back.Kind != e.Kind || back.Wave != e.Wave || back.Expires != e.Expires {
			t.Fatalf("%+v", back)
		}
		for cut := range len(raw) {
			if _, err := ReadEnvelope(raw[:cut]); err == nil {
				t.Fatalf("the first %d of %d bytes are an envelope", cut, len(raw))
			}
		}
	})
}

// A body is decoded once and its value shared.
func TestBody(t *testing.T) {
	b := NewBody(Encode(map[string]any{"a": int64(1)}))
	x, err := b.Value()
	y, _ := b.Value()
	x.(map[string]any)["seen"] = true
	if err != nil || y.(map[string]any)["seen"] != true {
		t.Error("it was decoded twice")
	}
	bad := NewBody(Raw{0xc1})
	if _, err := bad.Value(); err == nil {
		t.Error("no error")
	}
}

// The texts of a short value share one copy, those of a long one have their own;
// what was read stays what it was when the bytes are used again.
func TestTextsAreCopies(t *testing.T) {
	for _, n := range []int{1, maxShared / 2, maxShared, 3 * maxShared} {
		want := map[string]any{"k": strings.Repeat("x", n), "ключ": []any{"", "последний"}}
		raw := Encode(want)
		got, err := raw.Value()
		for i := range raw {
			raw[i] = 0xff
		}
		if err != nil || !bytes.Equal(Encode(got), Encode(want)) {
			t.Errorf("%d bytes: %v, %v", len(raw), got, err)
		}
	}
}

func TestNumbersWithoutAJSONFormAreRefused(t *testing.T) {
	for _, f := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		raw := Encode([]any{f})
		if v, err := raw.Value(); err == nil || Check(raw) == nil {
			t.Errorf("%v was read as %v, checked as %v", f, v, Check(raw))
		}
	}
}

func FuzzReadValue(f *testing.F) {
	for _, v := range []any{nil, true, int64(-7), 1.5, "text", []any{int64(1), "a"}, map[string]any{"k": []any{}}} {
		f.Add([]byte(Encode(v)))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := Raw(b).Value()
		if err != nil || len(b) == 0 {
			return
		}
		if err := Check(b); err != nil {
			t.Fatalf("it was read, but %v", err)
		}
		if own, rest, err := ReadValue(b); err != nil || len(rest) > 0 || !bytes.Equal(Encode(own), Encode(v)) {
			t.Fatalf("%v with texts of their own, %v with shared ones, %v", own, v, err)
		}
		raw := Encode(v)
		if back, err := raw.Value(); err != nil || !bytes.Equal(Encode(back), raw) {
			t.Fatalf("%v became %v, %v", v, back, err)
		}
	})
}

func FuzzReadEnvelope(f *testing.F) {
	e := &Envelope{EventHeader: EventHeader{ID: "e1", Type: "a.b", Targets: []string{"x"}, Chain: []Link{{"a", "b"}}}, Kind: KindEvent, Body: NewBody(Encode("hi"))}
	f.Add(e.AppendMsg(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := ReadEnvelope(b)
		if err != nil {
			return
		}
		raw := e.AppendMsg(nil)
		back, err := ReadEnvelope(raw)
		if err != nil || !bytes.Equal(back.AppendMsg(nil), raw) {
			t.Fatalf("%x, %v", raw, err)
		}
	})
}
