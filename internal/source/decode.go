package source

import (
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"tavernsim/protocol"
)

// Decoder fills definition structs from nodes. It is not safe for concurrent
// use.
//
// A field that is absent or null keeps its zero value. Fields of type any and
// map[string]any are free and take what stands there as plain values.
type Decoder struct {
	Rules Rules
	// Shorthand names, for a struct type, the field that a bare text stands for, or a bare
	// list if the field is a list.
	Shorthand map[reflect.Type]string
	// Elsewhere suggests where a field belongs that a struct does not have, by both names as in Rules.
	Elsewhere map[string]string
	Report    *Report

	fields map[reflect.Type][]Field
}

// Decode fills the struct that into points to from the whole document. The key
// "$schema" at the top is for editors and is passed over. It reports whether it
// found no fault.
func (d *Decoder) Decode(doc *Document, into any) bool {
	before := d.Report.Total()
	w := &walk{Decoder: d, doc: doc}
	w.value(doc.Root, reflect.ValueOf(into).Elem(), Rule{}, nil)
	return d.Report.Total() == before
}

func (d *Decoder) fieldsOf(t reflect.Type) []Field {
	list, ok := d.fields[t]
	if !ok {
		if d.fields == nil {
			d.fields = map[reflect.Type][]Field{}
		}
		list = Fields(t)
		d.fields[t] = list
	}
	return list
}

type walk struct {
	*Decoder
	doc *Document
}

func (w *walk) fault(n *Node, p *trail, suggestion, format string, args ...any) {
	w.Report.At(w.doc, n.Pos, p.String(), fmt.Sprintf(format, args...), suggestion)
}

func (w *walk) value(n *Node, v reflect.Value, rule Rule, p *trail) {
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	if u, ok := reflect.TypeAssert[encoding.TextUnmarshaler](v.Addr()); ok {
		w.textual(n, u, v, rule, p)
		return
	}
	if u, ok := reflect.TypeAssert[json.Unmarshaler](v.Addr()); ok {
		w.custom(n, u, rule, p)
		return
	}
	switch v.Kind() {
	case reflect.Interface:
		if x := n.Value(); x != nil {
			v.Set(reflect.ValueOf(x))
		}
	case reflect.Struct:
		w.structure(n, v, p)
	case reflect.Slice:
		w.list(n, v, rule, p)
	case reflect.Map:
		w.object(n, v, rule, p)
	default:
		w.scalar(n, v, rule, p)
	}
}

// mismatch reports a value of the wrong type.
func (w *walk) mismatch(n *Node, p *trail, want string) {
	got, suggestion := n.Kind.String(), ""
	switch n.Kind {
	case Text:
		got = w.doc.limits.quote("text "+strconv.Quote(clip(n.Literal)), got)
		if _, err := strconv.ParseFloat(n.Literal, 64); err == nil && strings.Contains(want, "number") {
			suggestion = "remove the quotes"
		}
	case Bool, Integer, Float:
		got = w.doc.limits.quote(got+" "+clip(n.Literal), got)
		if want == aDuration && n.Kind != Bool {
			suggestion = w.doc.limits.quote(unitHint(n.Literal), Units)
		} else if want == "text" {
			suggestion = "write " + w.doc.limits.quote(strconv.Quote(clip(n.Literal)), "it") + " in quotes"
		}
	case Object, List:
		if want == "a list" && n.Kind == Object {
			suggestion = "put it in [ ]"
		}
	}
	w.fault(n, p, suggestion, "want %s, got %s", want, got)
}

func (w *walk) structure(n *Node, v reflect.Value, p *trail) {
	t := v.Type()
	want := "an object"
	if short, given := shortOf(w.fieldsOf(t), w.Shorthand[t]); short != nil {
		if n.Kind == given {
			w.value(n, v.FieldByIndex(short.Index), w.Rules.Of(t, short.Name), p)
			return
		}
		want = given.String() + " or an object"
	}
	if n.Kind != Object {
		w.mismatch(n, p, want)
		return
	}
	fields := w.fieldsOf(t)
	given := make([]bool, len(fields))
	for i, k := range n.Keys() {
		at := slices.IndexFunc(fields, func(f Field) bool { return f.Name == k.Name })
		if at < 0 {
			if p != nil || k.Name != "$schema" {
				w.unknown(k, n.Elem(i), t, fields, p)
			}
			continue
		}
		if e := n.Elem(i); e.Kind != Null {
			given[at] = true
			f := fields[at]
			w.value(e, v.FieldByIndex(f.Index), w.Rules.Of(t, f.Name), p.key(f.Name))
		}
	}
	for i, f := range fields {
		if !given[i] && w.Rules.Of(t, f.Name).Required {
			w.fault(n, p, "", "missing required field %q", f.Name)
		}
	}
}

// shortOf is the field that a bare text, or a bare list, stands for; nil = none does.
func shortOf(fields []Field, name string) (*Field, Kind) {
	i := slices.IndexFunc(fields, func(f Field) bool { return f.Name == name })
	switch {
	case i < 0:
		return nil, Null
	case fields[i].Type.Kind() == reflect.Slice:
		return &fields[i], List
	}
	return &fields[i], Text
}

func (w *walk) unknown(k Key, value *Node, t reflect.Type, fields []Field, p *trail) {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Name
	}
	suggestion := Suggest(k.Name, names)
	switch {
	case suggestion != "":
	case w.Elsewhere[t.String()+"."+k.Name] != "":
		suggestion = w.Elsewhere[t.String()+"."+k.Name]
	case slices.Contains(names, "custom_metadata"):
		suggestion = "data of your own goes under custom_metadata"
	case len(names) <= 12:
		suggestion = "known: " + strings.Join(names, ", ")
	}
	message := "unknown field"
	if !w.doc.limits.Secret || value.Kind != Null { // a text in { } is a name without a value
		message += " " + strconv.Quote(clip(k.Name))
	}
	w.Report.At(w.doc, k.Pos, p.String(), message, suggestion)
}

func (w *walk) list(n *Node, v reflect.Value, rule Rule, p *trail) {
	if n.Kind != List {
		w.mismatch(n, p, "a list")
		return
	}
	w.length(n, rule, p)
	w.notEmpty(n, rule, p)
	v.Set(reflect.MakeSlice(v.Type(), n.Len(), n.Len()))
	for i := range n.Len() {
		e := n.Elem(i)
		if e.Kind == Null && v.Type().Elem().Kind() != reflect.Interface {
			w.fault(e, p.item(i), "remove it", "null is no element of this list")
			continue
		}
		w.value(e, v.Index(i), elemRule(rule), p.item(i))
	}
}

func (w *walk) notEmpty(n *Node, rule Rule, p *trail) {
	if rule.Strict && n.Kind == List && n.Len() == 0 {
		w.older(n, p, rule, "the list is empty")
	}
}

// elemRule is what a rule of a list says about its elements.
func elemRule(rule Rule) Rule {
	return Rule{Enum: rule.Enum, Required: true}
}

func (w *walk) object(n *Node, v reflect.Value, rule Rule, p *trail) {
	if n.Kind != Object {
		w.mismatch(n, p, "an object")
		return
	}
	w.length(n, rule, p)
	v.Set(reflect.MakeMapWithSize(v.Type(), n.Len()))
	for i, k := range n.Keys() {
		e := n.Elem(i)
		elem := reflect.New(v.Type().Elem()).Elem()
		if e.Kind == Null && elem.Kind() != reflect.Interface {
			at := p.key(k.Name)
			if w.doc.limits.Secret { // a text in { } is a name without a value
				at = p
			}
			w.fault(e, at, "remove it", "null is no value here")
			continue
		}
		w.value(e, elem, elemRule(rule), p.key(k.Name))
		v.SetMapIndex(reflect.ValueOf(k.Name).Convert(v.Type().Key()), elem)
	}
}

func (w *walk) length(n *Node, rule Rule, p *trail) {
	if rule.MaxItems > 0 && n.Len() > rule.MaxItems {
		w.fault(n, p, "", "%d entries; the limit is %d", n.Len(), rule.MaxItems)
	}
}

func (w *walk) scalar(n *Node, v reflect.Value, rule Rule, p *trail) {
	switch v.Kind() {
	case reflect.Bool:
		if n.Kind != Bool {
			w.mismatch(n, p, "true or false")
			return
		}
		v.SetBool(n.scalar.(bool))
	case reflect.String:
		w.text(n, v, rule, p)
	case reflect.Int, reflect.Int64, reflect.Int32, reflect.Uint64, reflect.Uint32:
		w.whole(n, v, rule, p)
	case reflect.Float64:
		if n.Kind != Integer && n.Kind != Float {
			w.mismatch(n, p, "a number")
			return
		}
		f := number(n)
		w.inRange(n, f, rule, p)
		v.SetFloat(f)
	default:
		panic(fmt.Sprintf("source: no definition field may have the type %s", v.Type()))
	}
}

func number(n *Node) float64 {
	if i, ok := n.scalar.(int64); ok {
		return float64(i)
	}
	return n.scalar.(float64)
}

func (w *walk) text(n *Node, v reflect.Value, rule Rule, p *trail) {
	if n.Kind != Text {
		want := "text"
		if rule.Duration {
			want = aDuration
		}
		w.mismatch(n, p, want)
		return
	}
	s := n.Text()
	v.SetString(s)
	switch {
	case rule.Required && s == "":
		w.fault(n, p, "", "must not be empty")
	case len(rule.Enum) > 0 && s == "":
		w.older(n, p, rule, `"" is not allowed; want `+strings.Join(rule.Enum, ", "))
	case len(rule.Enum) > 0 && !slices.Contains(rule.Enum, s):
		suggestion := ""
		if len(rule.Enum) > 1 {
			suggestion = Suggest(s, rule.Enum)
		}
		w.fault(n, p, suggestion, "%s is not allowed; want %s", w.doc.limits.quote(strconv.Quote(clip(s)), "this text"), strings.Join(rule.Enum, ", "))
	}
}

// whole takes also 3.0 and 1e3, which JSON does not tell from 3 and 1000.
func (w *walk) whole(n *Node, v reflect.Value, rule Rule, p *trail) {
	i, ok := n.scalar.(int64)
	if f, isFloat := n.scalar.(float64); isFloat && f == math.Trunc(f) && math.Abs(f) <= 1<<53 {
		i, ok = int64(f), true
	}
	if !ok {
		w.mismatch(n, p, "a whole number")
		return
	}
	if !w.inRange(n, float64(i), rule, p) {
		return
	}
	if v.CanUint() {
		if i < 0 || v.OverflowUint(uint64(i)) {
			w.fault(n, p, "", "%s is out of range", w.doc.limits.quote(clip(n.Literal), "this number"))
			return
		}
		v.SetUint(uint64(i))
		return
	}
	if v.OverflowInt(i) {
		w.fault(n, p, "", "%s is out of range", w.doc.limits.quote(clip(n.Literal), "this number"))
		return
	}
	v.SetInt(i)
}

func (w *walk) inRange(n *Node, f float64, rule Rule, p *trail) bool {
	return w.within(n, f, (*Range).String, rule, p)
}

// within checks a range that a message shows in the units of the file.
func (w *walk) within(n *Node, f float64, shown func(*Range) string, rule Rule, p *trail) bool {
	r := rule.Range
	if r == nil || f >= r.Min && f <= r.Max && (!r.Open || f > r.Min) {
		return true
	}
	message := w.doc.limits.quote(clip(n.Literal), "this") + " is out of range; want " + shown(r)
	if rule.Strict && f == 0 {
		w.older(n, p, rule, message)
	} else {
		w.fault(n, p, rule.Hint, "%s", message)
	}
	return false
}

// older reports a value that older programs took for none.
func (w *walk) older(n *Node, p *trail, rule Rule, message string) {
	w.Report.Older(w.doc, n.Pos, p.String(), message, cmp.Or(rule.Hint, "leave it out for the default"))
}

// String reads "0 to 1", "more than 0", "at least 1".
func (r *Range) String() string { return r.text(protocol.Decimal) }

// Durations is String of a range of durations: "0s to 24h", "more than 0s".
func (r *Range) Durations() string { return r.text(duration) }

func (r *Range) text(shown func(float64) string) string {
	low := "at least "
	if r.Open {
		low = "more than "
	}
	switch {
	case math.IsInf(r.Max, 1):
		return low + shown(r.Min)
	case r.Open:
		return low + shown(r.Min) + ", at most " + shown(r.Max)
	}
	return shown(r.Min) + " to " + shown(r.Max)
}

// duration shows seconds without the minutes and seconds that are none: 24h, not 24h0m0s.
func duration(seconds float64) string {
	s := time.Duration(seconds * float64(time.Second)).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// textual fills types that read themselves from text: times and durations.
func (w *walk) textual(n *Node, u encoding.TextUnmarshaler, v reflect.Value, rule Rule, p *trail) {
	want := wantText(v.Type())
	if n.Kind != Text {
		w.mismatch(n, p, want)
		return
	}
	if err := u.UnmarshalText([]byte(n.Text())); err != nil {
		suggestion := ""
		if want == aDuration {
			suggestion = w.doc.limits.quote(unitHint(n.Text()), Units)
		}
		w.fault(n, p, suggestion, "want %s, got %s", want, w.doc.limits.quote(strconv.Quote(clip(n.Text())), "another text"))
		return
	}
	if v.Kind() == reflect.Int64 {
		w.within(n, time.Duration(v.Int()).Seconds(), (*Range).Durations, rule, p)
	}
}

const aDuration = `a duration such as "90s" or "1h30m"`

// Units are those of durations.
const Units = "units are ns, us, ms, s, m and h; a day is 24h"

// unitHint says what to write in place of a duration that is none.
func unitHint(text string) string {
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		return fmt.Sprintf("write %q for seconds; %s", clip(text+"s"), Units)
	}
	if regexp.MustCompile(`^[+-]?([0-9.]*[0-9](ns|us|µs|ms|s|m|h))+$`).MatchString(text) {
		return "the longest is 2562047h"
	}
	return Units
}

func wantText(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return `a time such as "2000-01-01T00:00:00Z"`
	case t.Kind() == reflect.Int64:
		return aDuration
	}
	return "text"
}

// custom fills types that read themselves from JSON; the position of a fault in
// them is that of the whole value.
func (w *walk) custom(n *Node, u json.Unmarshaler, rule Rule, p *trail) {
	w.notEmpty(n, rule, p)
	b, err := json.Marshal(n.Value())
	if err == nil {
		err = u.UnmarshalJSON(b)
	}
	if err != nil {
		w.fault(n, p, "", "%s", w.doc.limits.quote(strings.TrimPrefix(err.Error(), "json: "), "this cannot be read"))
	}
}
