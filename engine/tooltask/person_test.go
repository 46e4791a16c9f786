package tooltask

import (
	"strings"
	"testing"
	"time"

	"tavernsim/protocol"
)

// asks is a request for a question.
func asks(id, agent string, q Question) Request {
	return Request{Task: Task{ID: id, Agent: agent, Kind: KindPerson, Tool: PanelTool, Params: q.Encode(), URIs: EncodeURIs(nil, nil), Timeout: time.Minute}}
}

func settles(id, status string, value any) Request {
	return Request{Task: Task{ID: id}, Settle: &Settle{Status: status, By: "gm", Value: protocol.Encode(value)}}
}

// Promise 5: a question ends by a request, once, or at its time; a request at that time
// counts; an executor's answer does not.
func TestQuestions(t *testing.T) {
	minute, r := protocol.Time(time.Minute), Rules{Tick: time.Second}
	s := &State{}
	travelled := []Request{asks("held", "ada", Question{Action: "text", Wait: WaitHold, To: "you", Payload: int64(1)}), asks("runs", "ada", Question{Action: "text", Wait: WaitRun}), asks("alone", "bo", Question{Action: "confirm", Wait: WaitHold, Headless: true, Default: false})}
	for i := range travelled {
		var err error
		if travelled[i], err = ReadRequest(travelled[i].AppendMsg(nil)); err != nil {
			t.Fatal(err)
		}
	}
	told := map[string]Told{"held": {Answer: &Answer{}}, "runs": {Answer: &Answer{}}}
	s.Decide(r, 1, travelled, told)
	if !s.Holds() || s.AskedBy("ada") != 2 || s.OpenOf("ada") != 0 || s.Task("held").Due != 0 || s.Task("runs").Due != 1+minute || s.Task("alone").Due != 1+protocol.Time(time.Second) {
		t.Fatalf("%+v", s.Open())
	}
	if missing := s.Missing(2*minute, func(string) bool { return false }); len(missing) != 0 {
		t.Error("somebody waits for", missing)
	}
	ends := func(now protocol.Time, requests ...Request) string {
		var list []string
		for _, f := range s.Decide(r, now, requests, told) {
			switch x := f.(type) {
			case *Ended:
				v, ok := x.Result()
				by, _ := v["by"].(string)
				if !ok || v["task_id"] != x.ID {
					t.Error(v)
				}
				list = append(list, x.ID+" "+v["status"].(string)+" "+by)
			case *Refused:
				list = append(list, x.ID+" refused")
			}
		}
		return strings.Join(list, ", ")
	}
	if got := ends(1 + protocol.Time(time.Second)); got != "alone answered headless" {
		t.Error(got)
	}
	if got := ends(1+minute, settles("runs", Answered, "now")); got != "runs answered gm" {
		t.Error(got)
	}
	if got := ends(9*minute, settles("held", Dismissed, nil), settles("held", Answered, "late")); got != "held cancelled , held refused" || s.Holds() {
		t.Error(got)
	}
	s.Decide(r, 10*minute, []Request{asks("silent", "ada", Question{Action: "text", Wait: WaitRun})}, nil)
	if got := ends(11 * minute); got != "silent timeout " {
		t.Error(got)
	}
	if s.Decide(Rules{Realtime: true}, 20*minute, []Request{asks("real", "ada", Question{Action: "text", Wait: WaitHold})}, nil); s.Holds() || s.Task("real").Due != 21*minute {
		t.Errorf("in realtime: %+v", s.Open())
	}
}

// A question beside the bound of an agent is a task that has ended, and tools have a bound of
// their own.
func TestAskedTooOften(t *testing.T) {
	s := &State{}
	var list []Request
	for range MaxAsked + 2 {
		list = append(list, asks("q"+string(rune('A'+len(list))), "ada", Question{Action: "text", Wait: WaitHold}))
	}
	facts := s.Decide(Rules{Tick: 1}, 1, list, nil)
	if s.AskedBy("ada") != MaxAsked {
		t.Error(s.AskedBy("ada"), "are open")
	}
	if x, ok := facts[len(facts)-1].(*Ended); !ok || x.ErrorKind != protocol.KindLimit {
		t.Errorf("%+v", facts[len(facts)-1])
	}
}

// Who plays an agent that leaves releases it before its tasks end: the question for its turn is settled then, and none
// of those that are cancelled.
func TestAPlayedAgentLeaves(t *testing.T) {
	s, r := &State{}, Rules{Tick: time.Second}
	play := asks("play", "ada", Question{Action: "order", Wait: WaitHold})
	play.Task.Tool = PlayTool
	s.Decide(r, 1, []Request{{Seat: &Seat{Player: Player{Agent: "ada", By: "anna", Timeout: time.Minute, Wait: WaitHold, OnTimeout: SilentPasses}}}}, nil)
	s.Decide(r, 2, []Request{play, asks("own", "ada", Question{Action: "text", Wait: WaitRun})}, nil)
	var got []string
	for _, f := range s.Decide(r, 3, []Request{{Leave: true, Task: Task{Agent: "ada"}}}, nil) {
		switch x := f.(type) {
		case *Released:
			got = append(got, "released "+x.Agent)
		case *Ended:
			got = append(got, "ended "+x.ID)
		case *Cancelled:
			got = append(got, "cancelled "+x.ID)
		}
	}
	if want := "released ada, ended play, cancelled own"; strings.Join(got, ", ") != want {
		t.Errorf("%v, want %s", got, want)
	}
}
