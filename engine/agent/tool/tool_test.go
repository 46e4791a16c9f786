package tool

import (
	"encoding/json"
	"reflect"
	"testing"

	"tavernsim/protocol"
)

// FuzzBind: whatever a model gives a tool, as text or as values: binding and reading
// do not panic, what was given stays as it was, the same gives the same, and what is
// read wrong or not at all is reported.
func FuzzBind(f *testing.F) {
	for i, given := range []string{
		`{"path":"a.b","op":"set","value":"{\"x\":1}"}`, `{"value":"[1,2"}`, `{"payload":"1e400","type":"talk"}`,
		`{"seconds":" 7 ","wake_on":"high"}`, `{"commands":"{\"set\":{}}","answer":true}`, `{"value":null,"typo":[{}]}`,
	} {
		f.Add(uint8(i), uint8(i), "value", given)
	}
	f.Fuzz(func(t *testing.T, which, origin uint8, hinted, given string) {
		params, same := objectOf(given), objectOf(given)
		if params == nil {
			t.Skip()
		}
		specs := Catalog()
		spec := specs[int(which)%len(specs)]
		c := &protocol.Call{Tool: spec.Name, Params: params, TypeHints: map[string]string{hinted: []string{"json", "text", ""}[origin%3]},
			Origin: []protocol.Origin{protocol.OriginTAM, protocol.OriginToolsXML, protocol.OriginNative}[origin/3%3]}
		bound, err := Bind(c, spec)
		again, errAgain := Bind(c, spec)
		if !reflect.DeepEqual(c.Params, same) {
			t.Errorf("%s: what was given was changed to %v", given, c.Params)
		}
		if !reflect.DeepEqual(bound, again) || (err == nil) != (errAgain == nil) {
			t.Errorf("%s: bound to %v, %v, then to %v, %v", given, bound, err, again, errAgain)
		}
		if err != nil {
			if protocol.KindOf(err) != protocol.KindInvalid {
				t.Errorf("%s: %v", given, err)
			}
			return
		}
		if len(bound) != len(params) {
			t.Errorf("%s: bound to %v", given, bound)
		}
		readAll(t, bound)
	})
}

// objectOf reads parameters as they come from a model; nil = they are none.
func objectOf(text string) map[string]any {
	var v map[string]any
	if json.Unmarshal([]byte(text), &v) != nil {
		return nil
	}
	n, err := protocol.Normalize(v)
	if err != nil {
		return nil
	}
	m, _ := n.(map[string]any)
	return m
}

// readAll reads every parameter in every way.
func readAll(t *testing.T, bound map[string]any) {
	t.Helper()
	for name, v := range bound {
		p := Read(map[string]any{name: v})
		if !p.Unread() {
			t.Error("nothing was read, and nothing is left")
		}
		if p.Err("a tool") == nil {
			t.Errorf("%s: nobody read it, and nothing is reported", name)
		}
		reads := map[string]func(*Params){
			"text": func(p *Params) { p.Text(name) }, "texts": func(p *Params) { p.Texts(name) }, "number": func(p *Params) { p.Number(name, 1) },
			"integer": func(p *Params) { p.Integer(name) }, "flag": func(p *Params) { p.Flag(name) }, "object": func(p *Params) { p.Object(name) },
			"required": func(p *Params) { p.Required(name) }, "any": func(p *Params) { p.Any(name) }, "rest": func(p *Params) { p.Rest() },
		}
		for what, read := range reads {
			p.Reset(map[string]any{name: v})
			if read(p); p.Unread() {
				t.Errorf("%s: read as %s, and left", name, what)
			}
			if err := p.Err("a tool"); err != nil && protocol.KindOf(err) != protocol.KindInvalid {
				t.Errorf("%s as %s: %v", name, what, err)
			}
		}
	}
}
