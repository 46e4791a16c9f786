package inspect

import (
	"errors"
	"strings"
	"testing"

	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/run/runner"
	"tavernsim/scenes/view/deadletters"
)

// counted counts what is read of a journal.
type counted struct {
	journal
	read uint64
}

func (j *counted) Scan(q persistence.Query, yield func(protocol.Record) error) error {
	return j.journal.Scan(q, func(r protocol.Record) error {
		j.read++
		return yield(r)
	})
}

// Promise 2: a list is passed on while it is read, so its first line comes early, and
// reading ends with its reader.
func TestListsArePassedOn(t *testing.T) {
	s := opened(t, ran(t, runner.Options{}, false))
	all, enough := s.journal.Durable().Last, errors.New("enough")
	for name, list := range map[string]func() error{
		"facts":  func() error { return s.Facts(FactQuery{}, func(FactLine) error { return enough }) },
		"events": func() error { return s.Events(EventQuery{}, func(EventLine) error { return enough }) },
		"dead letters": func() error {
			return s.DeadLetters(DeadLetterQuery{}, func(deadletters.Letter) error { return enough })
		},
	} {
		j := &counted{journal: s.journal}
		s.journal = j
		if err := list(); !errors.Is(err, enough) || j.read == 0 || j.read > all/2 {
			t.Errorf("%s: %d of %d facts were read; %v", name, j.read, all, err)
		}
		s.journal = j.journal
	}
}

// Promise 4: each kind of name that does not exist is told with those that are near it.
func TestNamesThatDoNotExist(t *testing.T) {
	s := opened(t, ran(t, runner.Options{}, false))
	for want, look := range map[string]func() error{
		`no scene "offcie"; the run has office`: func() error { _, err := s.run.Scene("offcie"); return err },
		`no agent "adda"; near it are ada`:      func() error { _, err := s.Agent("adda", ""); return err },
		`no profile "persn"; the scene has per`: func() error { _, err := s.Agents(AgentQuery{Profile: "persn"}); return err },
		`no path "bxo"; near it are box`:        func() error { _, err := s.World("bxo", "", false); return err },
		`no event "bo/1.e9"; near it are bo/1.`: func() error { _, err := s.Trace("bo/1.e9", TraceOptions{}); return err },
		`agent bo has no deliberation 99; its`:  func() error { _, err := s.Deliberation("bo/99"); return err },
		`wave:999: the last wave is `:           func() error { _, err := s.World("", "wave:999", false); return err },
	} {
		if err := look(); protocol.KindOf(err) != protocol.KindNotFound || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
}
