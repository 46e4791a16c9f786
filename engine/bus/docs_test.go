package bus

import (
	"encoding/json"
	"errors"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"tavernsim/engine/expr"
	"tavernsim/internal/doctest"
	"tavernsim/protocol"
)

func examples(t *testing.T, kind string) []string {
	return doctest.Examples(t, "formats/events.md", kind)
}

func decoded(t *testing.T, text string) any { return doctest.Value(t, text) }

// TestDocs runs the examples of docs/formats/events.md.
func TestDocs(t *testing.T) {
	t.Run("event", docsEvents)
	t.Run("subscriptions", docsSubscriptions)
	t.Run("filters", docsFilters)
	t.Run("refused", docsRefused)
}

// draftOf reads the wire form of an event strictly: an example that names a field
// of which EventValue knows nothing is a mistake of the page.
func draftOf(t *testing.T, v any) *protocol.Draft {
	t.Helper()
	var w struct {
		ID       string         `json:"id"`
		Type     string         `json:"type"`
		Source   string         `json:"source_agent_instance_id"`
		Time     *time.Time     `json:"timestamp"`
		Payload  any            `json:"payload"`
		Metadata map[string]any `json:"metadata"`
	}
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(strings.NewReader(string(text)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&w); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	d := &protocol.Draft{EventHeader: protocol.EventHeader{ID: w.ID, Type: w.Type, Source: w.Source}}
	if w.Time != nil {
		d.Time = protocol.TimeOf(*w.Time)
	}
	payload, err := protocol.Normalize(w.Payload)
	if err != nil {
		t.Fatal(err)
	}
	d.Body = protocol.Encode(payload)
	for name, x := range w.Metadata {
		switch name {
		case "priority":
			if d.Priority, err = protocol.ParsePriority(x.(string)); err != nil {
				t.Fatal(err)
			}
		case "trace_id":
			d.TraceID = x.(string)
		case "task_id":
			d.TaskID = x.(string)
		case "ephemeral":
			d.Ephemeral = x.(bool)
		case "requires_ack":
			d.RequiresAck = x.(bool)
		case "expects_reply":
			d.ExpectsReply = x.(bool)
		case "ttl_seconds":
			d.TTL = time.Duration(x.(float64) * float64(time.Second))
		case "target_agent_instance_id":
			if one, ok := x.(string); ok {
				x = []any{one}
			}
			for _, target := range x.([]any) {
				d.Targets = append(d.Targets, target.(string))
			}
		case "source_chain":
			for _, link := range x.([]any) {
				l := link.(map[string]any)
				d.Chain = append(d.Chain, protocol.Link{Agent: l["source_agent_instance_id"].(string), Type: l["type"].(string)})
			}
		default:
			t.Fatalf("%s: metadata has no field %q", text, name)
		}
	}
	return d
}

func docsEvents(t *testing.T) {
	for _, text := range examples(t, "event") {
		draftOf(t, decoded(t, text))
	}
	whole := decoded(t, examples(t, "event")[0])
	d := draftOf(t, whole)
	e := &protocol.Envelope{EventHeader: d.EventHeader, Expires: d.Time.Add(d.TTL), Body: protocol.NewBody(d.Body)}
	if !protocol.Equal(protocol.EventValue(e), whole) {
		t.Errorf("written as %v", protocol.EventValue(e))
	}
}

func docsSubscriptions(t *testing.T) {
	var subs []Subscription
	for _, v := range decoded(t, examples(t, "subscriptions")[0]).([]any) {
		sub := Subscription{}
		switch x := v.(type) {
		case string:
			sub.Type = x
		case map[string]any:
			sub.Type = x["type"].(string)
			sub.FilterCondition, _ = x["filter_condition"].(string)
			sub.Path, _ = x["path"].(string)
			quiet, _ := protocol.Number(x["debounce_seconds"])
			most, _ := protocol.Number(x["debounce_max_seconds"])
			mode, _ := x["debounce"].(string)
			sub.Debounce, sub.Quiet, sub.Most = DebounceMode(mode), time.Duration(quiet)*time.Second, time.Duration(most)*time.Second
		}
		subs = append(subs, sub)
	}
	if _, err := New(Config{}, List([]Subscriber{{InstanceID: "elara", Subscriptions: subs}})); err != nil || len(subs) < 5 {
		t.Errorf("%d subscriptions: %v", len(subs), err)
	}
}

func docsFilters(t *testing.T) {
	event := decoded(t, examples(t, "event")[0]).(map[string]any)
	env := expr.Map{"event": event, "payload": event["payload"], "self": map[string]any{"instance_id": "elara", "profile_id": "herbalist"}}
	for line := range strings.Lines(examples(t, "filters")[0]) {
		src, want, ok := strings.Cut(strings.TrimSpace(line), " // ")
		if !ok {
			t.Fatalf("%q says no result", line)
		}
		verdict, detail, _ := strings.Cut(want, ": ")
		got, message := "refused", ""
		p, err := expr.Compile(src, "payload", "event", "self")
		if err == nil {
			var holds bool
			holds, err = p.EvalBool(env)
			got = map[bool]string{true: "true", false: "false"}[holds]
			if err != nil {
				got = "fails"
			}
		}
		if e, ok := errors.AsType[*expr.Error](err); ok {
			message = strings.TrimSpace(e.Message + "; " + e.Hint)
		}
		if got != verdict || verdict != "false" && !strings.HasPrefix(message, detail) {
			t.Errorf("%s\n got %s: %s\nwant %s", src, got, message, want)
		}
	}
}

func docsRefused(t *testing.T) {
	s := channel(t, Config{}, map[string][]string{"a": {"*"}})
	for reason, v := range decoded(t, examples(t, "refused")[0]).(map[string]any) {
		f, _ := publish(t, s, draftOf(t, v))
		if got := heard(s, f); got != "refused: "+reason {
			t.Errorf("%v: %s, want %s", v, got, reason)
		}
	}
}

// TestDocsListEveryField: the table of facts has as many fields as the structs.
func TestDocsListEveryField(t *testing.T) {
	for _, f := range []any{Routed{}, Refused{}, SubscriptionChanged{}, ThrottleChanged{}, NotDone{}} {
		fields := len(protocol.FieldNames(reflect.TypeOf(f)))
		page := doctest.Page(t, "formats/events.md")
		kind := reflect.New(reflect.TypeOf(f)).Interface().(protocol.Fact).FactKind()
		row := regexp.MustCompile("\\| `" + regexp.QuoteMeta(kind) + "` \\| (.*) \\|").FindStringSubmatch(page)
		if row == nil {
			t.Fatalf("no row for %s", kind)
		}
		flat := regexp.MustCompile(`\([^)]*\)|\[[^\]]*\]`).ReplaceAllString(row[1], "")
		if got := len(strings.Split(flat, ",")); got != fields {
			t.Errorf("%s: %d fields on the page, %d in the struct", kind, got, fields)
		}
	}
}
