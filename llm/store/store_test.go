package store

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"tavernsim/llm/replay"
	"tavernsim/protocol"
)

// memory is a database in a map.
type memory struct {
	mu     sync.Mutex
	values map[string][]byte
	bytes  uint64
	broken error
}

func (m *memory) Get(key, buf []byte) ([]byte, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.values[string(key)]
	return append(buf, v...), ok, m.broken
}

func (m *memory) Set(key, value []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.values == nil {
		m.values = map[string][]byte{}
	}
	m.values[string(key)] = value
	return nil
}

func (m *memory) Bytes() uint64 { return m.bytes }
func (m *memory) Close() error  { return nil }

func answer(text string) *replay.Entry {
	cost := int64(7)
	return &replay.Entry{
		Question: "h", Model: "m", Text: text, Finish: protocol.FinishToolCalls, Latency: 5e6, Usage: replay.Usage{Input: 3, Output: 4},
		Calls:  []replay.Call{{ID: "1", Tool: "SayTool", Params: map[string]any{"n": int64(3), "f": 0.5}}},
		Origin: replay.Origin{Endpoint: "cloud", Attempts: 1, Cost: &cost},
	}
}

// Promises 1, 2 and 3: which run is given which answer.
func TestWhoSeesWhat(t *testing.T) {
	db := &memory{}
	q := Question{"h", "openai", "small"}
	first := New(db, Options{})
	first.Put(q, "run 1", answer("one"))
	first.Put(q, "run 2", answer("two"))
	if _, ok := first.Get(q, "run 3"); ok {
		t.Error("a process sees what it kept itself")
	}
	second := New(db, Options{})
	e, ok := second.Get(q, "run 3")
	if !ok || !reflect.DeepEqual(e, answer("one")) {
		t.Errorf("%+v", e)
	}
	if _, ok := second.Get(q, "run 1"); ok {
		t.Error("a run sees its own answer")
	}
	for _, other := range []Question{{"i", "openai", "small"}, {"h", "anthropic", "small"}, {"h", "openai", "large"}} {
		if _, ok := second.Get(other, "run 3"); ok {
			t.Errorf("%+v has an answer", other)
		}
	}
}

// Promise 4: what is not kept.
func TestWhatIsNotKept(t *testing.T) {
	filtered, failed, secret, params := answer("no"), answer(""), answer("the password: hunter22"), answer("x")
	filtered.Finish, failed.Error = protocol.FinishFiltered, "late"
	params.Calls[0].Params["api_key"] = "k"
	for name, e := range map[string]*replay.Entry{"filtered": filtered, "failed": failed, "secret": secret, "secret parameter": params, "large": answer(strings.Repeat("x", MaxAnswer))} {
		db := &memory{}
		New(db, Options{}).Put(Question{"h", "", ""}, "r", e)
		if len(db.values) != 0 {
			t.Errorf("%s: it was kept", name)
		}
	}
}

// Promise 5: a store that is full or damaged says so once, and nobody fails.
func TestFullAndDamaged(t *testing.T) {
	var told []string
	tell := func(s string) { told = append(told, s) }
	db := &memory{bytes: 3 << 20}
	s := New(db, Options{Name: "dir", Max: 2 << 20, Tell: tell})
	s.Put(Question{"h", "", ""}, "r", answer("x"))
	if len(db.values) != 0 || len(told) != 1 || !strings.Contains(told[0], "store dir: it has 3 MiB and takes no more answers (at most 2)") {
		t.Errorf("%q", told)
	}
	for name, spoil := range map[string]func(*memory){
		"no JSON": func(m *memory) {
			for k := range m.values {
				m.values[k] = []byte("{")
			}
		},
		"unreadable": func(m *memory) { m.broken = errors.New("checksum") },
	} {
		told = nil
		db := &memory{}
		New(db, Options{}).Put(Question{"h", "", ""}, "r", answer("x"))
		spoil(db)
		s := New(db, Options{Name: "dir", Tell: tell})
		for range 3 {
			if _, ok := s.Get(Question{"h", "", ""}, "other"); ok {
				t.Errorf("%s: an answer", name)
			}
		}
		s.Put(Question{"i", "", ""}, "r", answer("y"))
		if len(told) != 1 || !strings.Contains(told[0], "not used any more") || len(db.values) != 1 {
			t.Errorf("%s: %q", name, told)
		}
	}
}

// Many at once keep one answer to a question.
func TestConcurrentPuts(t *testing.T) {
	db := &memory{}
	s := New(db, Options{})
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			s.Put(Question{"h", "", fmt.Sprint(i % 5)}, "r", answer(fmt.Sprint(i)))
			s.Get(Question{"h", "", fmt.Sprint(i % 5)}, "other")
		})
	}
	all.Wait()
	if len(db.values) != 5 {
		t.Errorf("%d answers", len(db.values))
	}
}
