package tooltask

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tavernsim/protocol"
)

func assigned(id, agent string, within time.Duration, to ...string) Request {
	a := Assignment{Type: "part.do", To: to}
	return Request{Most: 3, Task: Task{ID: id, Agent: agent, Turn: 1, Kind: KindAgent, Tool: AskTool, Params: a.Encode(), URIs: EncodeURIs(nil, nil), Timeout: within}}
}

func report(id, by, status string) Request {
	return Request{Task: Task{ID: id, Agent: by}, Report: &Report{Status: status, Progress: -1, Note: "so", Result: protocol.Encode(nil)}}
}

// Promise 4, by hand: whose a task is, how it ends, and who is told.
func TestAssigned(t *testing.T) {
	s, r := State{}, Rules{Tick: time.Second}
	at := func(n int) protocol.Time { return protocol.Time(n) * protocol.Time(time.Second) }
	for _, c := range []struct {
		now      int
		requests []Request
		want     string
		told     string // of the ends
		work     string
	}{
		{1, []Request{assigned("a", "boss", 5*time.Second), assigned("b", "boss", 9*time.Second, "bo"), assigned("c", "boss", 9*time.Second), assigned("d", "boss", time.Second)}, "opened, opened, opened, ended d error", "[boss]", ""},
		{2, []Request{report("a", "bo", ReportAccepted), report("a", "ada", ReportDone), report("b", "ada", ReportAccepted), report("a", "bo", ReportProgress)}, "reported, refused, refused, reported", "", "a of bo progress"},
		{3, []Request{report("c", "boss", ReportDone)}, "refused", "", "a of bo progress"},
		{6, []Request{report("a", "bo", ReportDone)}, "ended a done", "[boss]", ""},
		{7, []Request{report("a", "bo", ReportDone), report("c", "ada", ReportAccepted)}, "refused, reported", "", "c of ada accepted"},
		{10, nil, "ended b timeout, ended c timeout", "[boss] [boss ada]", ""},
		{11, []Request{assigned("e", "boss", time.Minute), assigned("f", "boss", time.Minute), assigned("g", "bo", time.Minute)}, "opened, opened, opened", "", ""},
		{12, []Request{report("e", "ada", ReportAccepted), cancel("e", "boss"), cancel("f", "bo")}, "reported, ended e cancelled, refused", "[boss ada]", ""},
		{13, []Request{report("f", "ada", ReportAccepted)}, "reported", "", "f of ada accepted"},
		{14, []Request{{Leave: true, Task: Task{Agent: "ada"}}}, "ended f cancelled", "[boss]", ""},
		{15, []Request{report("g", "ada", ReportAccepted)}, "reported", "", "g of ada accepted"},
		{16, []Request{{Leave: true, Task: Task{Agent: "bo"}}, report("g", "ada", ReportDone)}, "ended g done", "[bo]", ""}, // it was reported in time
		{17, []Request{assigned("h", "boss", time.Minute, "cy"), assigned("i", "bo", time.Minute)}, "opened, opened", "", ""},
		{18, []Request{{Leave: true, Task: Task{Agent: "cy"}}, {Leave: true, Task: Task{Agent: "bo"}}}, "ended h cancelled, ended i cancelled", "[boss] []", ""},
	} {
		folded := s
		facts := s.Decide(r, at(c.now), c.requests, map[string]Told{"b": {Answer: &Answer{}}, "c": {Answer: &Answer{}}})
		told, work := []string{}, []string{}
		for _, f := range facts {
			folded.Apply(f.(Fact))
			if x, ok := f.(*Ended); ok {
				v, to := x.Finished()
				if v["task_id"] != x.ID || v["status"] != x.Status {
					t.Errorf("at %d: agents hear %v", c.now, v)
				}
				told = append(told, fmt.Sprint(to))
			}
		}
		for _, w := range s.Work() {
			work = append(work, w.ID+" of "+w.By+" "+w.Status)
		}
		if got := kinds(facts); got != c.want || strings.Join(told, " ") != c.told || strings.Join(work, " ") != c.work {
			t.Errorf("at %d: %s; told %s; work %s\nwant %s; %s; %s", c.now, got, told, work, c.want, c.told, c.work)
		}
		if !equal(folded, s) {
			t.Errorf("at %d: folded %+v, decided %+v", c.now, folded, s)
		}
	}
}

// Promises 2 and 4: whatever agents report, cancel and leave, a task ends once, only who took it
// ends it, and a fold and a restored state are the same.
func TestAnyReports(t *testing.T) {
	codec := protocol.NewCodec(Facts())
	rapid.Check(t, func(t *rapid.T) {
		s, folded, now, n := State{}, State{}, protocol.Time(1), 0
		ended, taken := map[string]int{}, map[string]string{}
		agents := rapid.SampledFrom([]string{"ada", "bo", "cy"})
		for range rapid.IntRange(1, 8).Draw(t, "waves") {
			now += protocol.Time(rapid.IntRange(1, 4).Draw(t, "later"))
			var requests []Request
			for range rapid.IntRange(0, 5).Draw(t, "requests") {
				who, which := agents.Draw(t, "who"), fmt.Sprint(rapid.IntRange(0, n).Draw(t, "which"))
				switch rapid.IntRange(0, 4).Draw(t, "what") {
				case 0, 1:
					requests = append(requests, assigned(fmt.Sprint(n), who, time.Duration(rapid.IntRange(0, 9).Draw(t, "within"))))
					n++
				case 2:
					requests = append(requests, report(which, who, rapid.SampledFrom([]string{ReportAccepted, ReportProgress, ReportDone, ReportFailed, ReportRefused}).Draw(t, "status")))
				case 3:
					requests = append(requests, cancel(which, who))
				case 4:
					requests = append(requests, Request{Leave: true, Task: Task{Agent: who}})
				}
			}
			travel(t, requests)
			for _, f := range s.Decide(Rules{Tick: 2}, now, requests, nil) {
				folded.Apply(readBack(t, codec, f))
				switch x := f.(type) {
				case *Opened:
					ended[x.Task.ID], taken[x.Task.ID] = 0, ""
				case *Reported:
					if was := taken[x.ID]; was != "" && was != x.By {
						t.Fatalf("%s was %s's and is %s's", x.ID, was, x.By)
					}
					taken[x.ID] = x.By
				case *Ended:
					ended[x.ID]++
					v, _ := x.Finished()
					if by, was := v["by"], taken[x.ID]; was != "" && by != was || ended[x.ID] > 1 {
						t.Fatalf("%s of %q ended %d times, now by %v as %s", x.ID, was, ended[x.ID], by, x.Status)
					}
				}
			}
			for _, w := range s.Work() {
				if s.Task(w.ID) == nil {
					t.Fatalf("%s goes on and has ended", w.ID)
				}
			}
			for _, x := range s.Open() {
				if x.Due <= now {
					t.Fatalf("%s is open at %d, due at %d", x.ID, now, x.Due)
				}
			}
			a, _ := s.Snapshot(codec)
			b, _ := folded.Snapshot(codec)
			restored, err := Restore(codec, a)
			if c, _ := restored.Snapshot(codec); err != nil || !bytes.Equal(a, b) || !bytes.Equal(a, c) {
				t.Fatalf("the states differ: %v", err)
			}
			folded = restored
		}
	})
}
