package tooltask

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"tavernsim/protocol"
)

// What agents hear of the ends of tasks, and who does: of calls, of questions to people and of tasks between agents.
func TestWhatAgentsHear(t *testing.T) {
	out := func(v any) protocol.Raw { return protocol.Encode(v) }
	for want, f := range map[string]protocol.Fact{
		"tool.finished map[output:x status:ok task_id:a tool:paint] [ada]":                                &Ended{ID: "a", Agent: "ada", Tool: "paint", Status: "ok", Output: out("x")},
		"tool.finished map[error:no kind:timeout status:timeout task_id:a tool:paint] [ada]":              &Ended{ID: "a", Agent: "ada", Tool: "paint", Status: "timeout", Output: out(nil), Error: "no", ErrorKind: protocol.KindTimeout},
		"tool.finished map[reason:left status:cancelled task_id:a tool:paint] [ada]":                      &Cancelled{ID: "a", Agent: "ada", Tool: "paint", Reason: ReasonLeft},
		"tool.finished map[outcome:unknown reason:requested status:cancelled task_id:a tool:paint] [ada]": &Cancelled{ID: "a", Agent: "ada", Tool: "paint", Reason: ReasonRequested, Unknown: true},
		"panel.interaction_result map[by:gm status:answered task_id:a value:7] [ada]":                     &Ended{ID: "a", Agent: "ada", Tool: PanelTool, Status: "ok", Output: out(map[string]any{"value": int64(7), "by": "gm"})},
		"panel.interaction_result map[error:late status:timeout task_id:a] [ada]":                         &Ended{ID: "a", Agent: "ada", Tool: PlayTool, Status: "timeout", Error: "late"},
		"panel.interaction_result map[error:left status:cancelled task_id:a] [ada]":                       &Cancelled{ID: "a", Agent: "ada", Tool: PlayTool, Reason: ReasonLeft},
		"task.finished map[by:bo name:n note:so result:7 status:done task_id:a type:t] [ada]":             &Ended{ID: "a", Agent: "ada", Tool: AskTool, Status: ReportDone, Output: out(map[string]any{"type": "t", "by": "bo", "name": "n", "note": "so", "result": int64(7)})},
		"task.finished map[by:bo error:why status:timeout task_id:a] [ada bo]":                            &Ended{ID: "a", Agent: "ada", Tool: AskTool, Status: TimedOut, Error: "why", Output: out(map[string]any{"by": "bo"})},
		"task.finished map[by:bo status:cancelled task_id:a] [ada]":                                       &Ended{ID: "a", Agent: "ada", Tool: AskTool, Status: Dismissed, Output: out(map[string]any{"by": "bo", "gone": "bo"})},
		"task.finished map[by:bo status:cancelled task_id:a] [bo]":                                        &Ended{ID: "a", Agent: "ada", Tool: AskTool, Status: Dismissed, Output: out(map[string]any{"by": "bo", "gone": "ada"})},
		" map[] []": &Sent{ID: "a"},
	} {
		typ, payload, to := Heard(f)
		if got := fmt.Sprint(typ, " ", payload, " ", to); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
	for want, f := range map[string]protocol.Answering{
		"{ada task_cancelled true} true map[reason:forked status:cancelled task_id:a tool:paint]":     &Cancelled{ID: "a", Agent: "ada", Tool: "paint", Reason: ReasonForked},
		"{ada task_cancelled true} false map[reason:requested status:cancelled task_id:a tool:paint]": &Cancelled{ID: "a", Agent: "ada", Tool: "paint", Reason: ReasonRequested},
		"{ada task_refused true} true map[message:no task_id:a]":                                      &Refused{ID: "a", Agent: "ada", Message: "no"},
		"{ada released false} true map[by:gm reason:enough]":                                          &Released{Agent: "ada", By: "gm", Reason: "enough"},
	} {
		a, hears := f.Answers()
		if got := fmt.Sprint(a, hears, f.Told()); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
	for want, a := range map[string]Answer{
		"ok": {}, "denied": {Error: "no", ErrorKind: protocol.KindDenied}, "timeout": {Error: "no", ErrorKind: protocol.KindTimeout}, "cancelled": {Error: "no", ErrorKind: protocol.KindCancelled},
		"unknown": {Error: "no", ErrorKind: protocol.KindUnknownOutcome}, "error": {Error: "no", ErrorKind: protocol.KindInternal},
	} {
		if got := status(&a); got != want {
			t.Errorf("%s of %+v", got, a)
		}
	}
}

// What a report says is kept, and told at the end: an asker hears the note, the result and why it was not done. A report that does not say how
// far the task is leaves it where it was.
func TestReports(t *testing.T) {
	s, r := State{}, Rules{Tick: time.Second}
	ask := func(id string, to ...string) Request {
		a := Assignment{Name: "n" + id, Type: "part.do", To: to}
		if id == "b" || id == "e" {
			a.Name = ""
		}
		q := assigned(id, "boss", time.Minute)
		q.Task.Params, q.Most = a.Encode(), 0
		return q
	}
	says := func(id, by, status string, progress float64, note string, result any) string {
		facts := s.Decide(r, 2, []Request{{Task: Task{ID: id, Agent: by}, Report: &Report{Status: status, Progress: progress, Note: note, Result: protocol.Encode(result)}}}, nil)
		switch x := facts[0].(type) {
		case *Reported:
			return fmt.Sprint(x.Status, " ", x.Progress, " ", x.Note)
		case *Ended:
			v, _ := x.Output.Value()
			return fmt.Sprint(x.Status, " ", v, " ", x.ErrorKind, x.Error)
		case *Refused:
			return x.Message
		}
		return ""
	}
	s.Decide(r, 1, []Request{ask("a"), ask("b"), ask("c", "bo", "cy"), ask("d"), {After: time.Hour, Task: Task{ID: "tool", Agent: "boss", Kind: "tool", Tool: "paint"}}, asks("q", "boss", Question{Action: "text", Wait: WaitRun})}, nil)
	if f, ok := s.Decide(r, 1, []Request{settles("tool", Answered, 1)}, nil)[0].(*Refused); !ok {
		t.Errorf("a person answers a call of a tool: %+v", f)
	}
	for _, c := range [][2]string{
		{says("a", "bo", ReportAccepted, -1, "", nil), "accepted 0 "},
		{says("a", "bo", ReportProgress, 0.5, "half", nil), "progress 0.5 half"},
		{says("a", "bo", ReportProgress, -1, "", nil), "progress 0.5 "},
		{says("a", "bo", ReportProgress, 0, "", nil), "progress 0 "},
		{says("a", "bo", ReportDone, 1, "so", "cake"), "done map[by:bo name:na note:so result:cake type:part.do] "},
		{says("a", "bo", ReportDone, 1, "", nil), "the task has ended already (done); your report changes nothing"},
		{says("b", "bo", ReportFailed, -1, "", nil), "failed map[by:bo type:part.do] failed"},
		{says("d", "bo", ReportRefused, -1, "busy", nil), "refused map[by:bo name:nd note:busy type:part.do] busy"},
		{says("c", "ada", ReportAccepted, -1, "", nil), "the task is for bo, cy; your report changes nothing"},
		{says("c", "bo", ReportAccepted, -1, "", nil), "accepted 0 "},
		{says("c", "cy", ReportAccepted, -1, "", nil), "bo has taken the task; your report changes nothing"},
		{says("tool", "boss", ReportDone, -1, "", nil), "there is no open task with this id; your report changes nothing"},
		{says("q", "boss", ReportDone, -1, "", nil), "there is no open task with this id; your report changes nothing"},
		{says("none", "boss", ReportDone, -1, "", nil), "there is no open task with this id; your report changes nothing"},
	} {
		if c[0] != c[1] {
			t.Errorf("%s\nwant %s", c[0], c[1])
		}
	}
	for id, reserved := range map[string]bool{"": false, "c": true, "tool": false, "none": false} {
		if err := s.Reserved(&protocol.Draft{EventHeader: protocol.EventHeader{TaskID: id}}); (err != nil) != reserved {
			t.Errorf("an event about %q: %v", id, err)
		}
	}
	over := s.Decide(r, 2+protocol.Time(time.Hour), nil, nil)
	x, ok := over[0].(*Ended)
	if !ok || x.ErrorKind != protocol.KindTimeout || x.Error != "nobody reported the end within 1m0s" {
		t.Errorf("%+v", over[0])
	}
	s.Decide(r, 3, []Request{ask("e")}, nil)
	if x, ok := s.Decide(r, 3, []Request{cancel("e", "boss")}, nil)[0].(*Ended); !ok || x.ErrorKind != protocol.KindCancelled || !bytes.Equal(x.Output, protocol.Encode(map[string]any{"type": "part.do"})) {
		t.Errorf("%+v", x)
	}
}

// The lists of tasks have the order in which they were opened or taken, and each task once.
func TestWhoseTasks(t *testing.T) {
	s, r := State{}, Rules{Tick: time.Second}
	s.Decide(r, 1, []Request{assigned("z", "ada", time.Hour), assigned("m", "bo", time.Hour), assigned("a", "cy", time.Minute), open("paint", "ada", 2*time.Minute), asks("q", "ada", Question{Action: "text", Wait: WaitHold}), assigned("u", "cy", time.Hour)}, nil)
	ids := func(list []*Task) (text string) {
		for _, x := range list {
			text += " " + x.ID
		}
		return strings.TrimSpace(text)
	}
	heard := slices.Values([]string{"u", "a", "z", "u", "paint", "none"})
	s.Decide(r, 2, []Request{report("m", "ada", ReportAccepted), report("a", "bo", ReportAccepted), report("z", "bo", ReportAccepted), report("a", "bo", ReportProgress)}, nil)
	for _, c := range [][2]string{
		{ids(s.Owed("ada", heard)), "m u"}, // what another one has taken is its own
		{ids(s.Owed("bo", heard)), "z a u"},
		{ids(s.About("ada", heard)), "z m paint q u"},
		{ids(s.Open()), "z m a paint q u"},
		{fmt.Sprint(s.Taken()), "map[ada:1 bo:2]"},
		{fmt.Sprint(s.Missing(1+protocol.Time(2*time.Minute), func(id string) bool { return false })), "[paint]"},
		{fmt.Sprint(s.Missing(1+protocol.Time(2*time.Minute), func(id string) bool { return id == "paint" })), "[]"},
		{fmt.Sprint(s.Next(), s.Holds(), s.AskedBy("ada"), s.OpenOf("ada")), fmt.Sprint(1+protocol.Time(time.Minute), true, 1, 2)},
	} {
		if c[0] != c[1] {
			t.Errorf("%s, want %s", c[0], c[1])
		}
	}
	work := func() (text string) {
		for _, w := range s.Work() {
			text += " " + w.ID
		}
		return text
	}
	if got := work(); got != " m a z" {
		t.Error(got)
	}
	s.Decide(r, 3, []Request{cancel("a", "cy")}, nil)
	if got := work() + fmt.Sprint(s.Taken(), s.Len()); got != " m zmap[ada:1 bo:1] 5" {
		t.Error(got)
	}
	call := open("call", "cy", time.Hour) // it names somebody, and is no task for him
	call.Task.Params = protocol.Encode(map[string]any{"to": []any{"di"}})
	s.Decide(r, 4, []Request{call, assigned("both", "cy", time.Hour, "d", "i")}, nil)
	if got := kinds(s.Decide(r, 5, []Request{{Leave: true, Task: Task{Agent: "di"}}}, nil)); got != "" {
		t.Errorf("nothing ends with an agent that nobody asked: %s", got)
	}
	if x, ok := s.Decide(r, 6, []Request{settles("q", Dismissed, nil)}, nil)[0].(*Ended); !ok || x.Error != "cancelled by gm" {
		t.Errorf("%+v", x)
	}
	if free := (&State{}); free.Owed("ada", heard) != nil || free.Next() != 0 || free.Holds() {
		t.Error("nothing is open")
	}
}

// What is due at several moments ends in their order, whichever was opened first.
func TestEndsComeInTheirOrder(t *testing.T) {
	s, r := State{}, Rules{Tick: time.Second}
	s.Decide(r, 1, []Request{open("late", "ada", time.Minute), open("soon", "ada", time.Second), open("mid", "ada", time.Hour/100)}, nil)
	if x := s.Task("late"); x.Opened != 1 {
		t.Errorf("%+v", x)
	}
	if got := kinds(s.Decide(r, protocol.Time(time.Hour), nil, nil)); got != "ended soon error, ended mid error, ended late error" {
		t.Error(got)
	}
	live := State{}
	live.Decide(Rules{Realtime: true}, 1, []Request{open("a", "ada", 0)}, nil)
	if got := live.Decide(Rules{Realtime: true}, 2, nil, map[string]Told{"a": {Timed: true}}); len(got) > 0 {
		t.Errorf("without an answer it ends: %s", kinds(got))
	}
	if live.Holds() {
		t.Error("time stands for a call")
	}
}

// The budget of the scene gives calls to tasks in their order, as long as calls and money last; a limit of 0 is none. What an agent does itself,
// and what its player is asked, takes nothing of it.
func TestWhatIsLeftForTasks(t *testing.T) {
	task := func(id string, cost int64) Request {
		q := open(id, "ada", time.Minute)
		q.Cost, q.Most = cost, 0
		return q
	}
	play := asks("p", "ada", Question{Action: "order", Wait: WaitHold})
	play.Task.Tool = PlayTool
	for _, c := range []struct {
		left     Left
		requests []Request
		want     string
	}{
		{Left{}, []Request{task("a", 5), task("b", 5)}, "opened, sent, opened, sent"},
		{Left{Calls: 1}, []Request{task("a", 0), task("b", 0)}, "opened, sent, ended b error"},
		{Left{Calls: 2}, []Request{task("a", 5), task("b", 5)}, "opened, sent, opened, sent"},
		{Left{Nano: 10}, []Request{task("a", 4), task("b", 6), task("c", 0)}, "opened, sent, opened, sent, ended c error"},
		{Left{Nano: 10}, []Request{task("a", 11), task("b", 10)}, "ended a error, opened, sent"},
		{Left{Micro: -1}, []Request{task("a", 0), assigned("b", "ada", time.Minute), play}, "ended a error, opened, opened, sent"},
	} {
		s := State{}
		if got := kinds(s.Decide(Rules{Tick: time.Second}, 0, append([]Request{{Left: &c.left}}, c.requests...), nil)); got != c.want {
			t.Errorf("%+v: %s, want %s", c.left, got, c.want)
		}
	}
	s := &State{}
	for n := range MaxAsked {
		s.Decide(Rules{Tick: 1}, 1, []Request{asks(fmt.Sprint(n), "ada", Question{Action: "text", Wait: WaitHold})}, nil)
	}
	one, more := task("a", 0), asks("q", "ada", Question{Action: "text", Wait: WaitHold})
	if more.Most = 1; kinds(s.Decide(Rules{Tick: 1}, 1, []Request{one, cancel("0", "ada"), more}, nil)) != "opened, sent, cancelled, opened, sent" {
		t.Error("questions and tasks of an agent do not have bounds of their own")
	}
}

// A request has the same content behind its way to the service; what is not there is not written.
func TestRequestsTravel(t *testing.T) {
	for name, q := range map[string]Request{
		"open":   {Task: Task{ID: "a", Agent: "ada", Turn: 2, Number: 1, Kind: "tool", Tool: "paint", Params: protocol.Encode("p"), URIs: protocol.Encode(nil), Timeout: 3, Retry: 4, Once: true}, After: 5, Most: 6, Cost: 7},
		"free":   {Task: Task{ID: "a", Agent: "ada", Params: protocol.Encode("p"), URIs: protocol.Encode(nil)}},
		"cancel": {Cancel: true, Task: Task{ID: "a", Agent: "ada"}}, "leave": {Leave: true, Task: Task{Agent: "ada"}},
		"settle": {Task: Task{ID: "a"}, Settle: &Settle{Status: Answered, By: "gm", Value: protocol.Encode(int64(1))}},
		"report": {Task: Task{ID: "a", Agent: "ada"}, Report: &Report{Status: ReportDone, Progress: 0.5, Note: "so", Result: protocol.Encode(int64(1))}},
		"seat":   {Seat: &Seat{Player: Player{Agent: "ada", By: "gm", Wait: WaitHold, OnTimeout: SilentPlays, Timeout: 9}, Release: true, Reason: "why"}},
		"left":   {Left: &Left{1, 2, 3, 4}},
	} {
		got, err := ReadRequest(q.AppendMsg(nil))
		if q.Cancel || q.Leave {
			got.Task.Params, got.Task.URIs = nil, nil
		}
		if err != nil || !reflect.DeepEqual(got, q) {
			t.Errorf("%s: %+v, %v\nwant %+v", name, got, err, q)
		}
		if cost := strings.Contains(string(q.AppendMsg(nil)), "cost"); cost != (q.Cost > 0) {
			t.Errorf("%s: it has a cost: %t", name, cost)
		}
	}
	for _, c := range [][2]map[string]string{{nil, nil}, {{"pic": "fam://x"}, nil}, {nil, {"fam://x": "sha256-a"}}, {{"pic": "fam://x", "map": "fam://y"}, {"fam://x": "sha256-a", "fam://y": "sha256-b"}}} {
		task := Task{URIs: EncodeURIs(c[0], c[1])}
		if uris, contents := task.References(); !reflect.DeepEqual(uris, c[0]) || !reflect.DeepEqual(contents, c[1]) {
			t.Errorf("%v, %v; want %v", uris, contents, c)
		}
	}
	if got := string(EncodeURIs(nil, nil)); got != "\xc0" {
		t.Errorf("%q", got)
	}
	q := Question{Panel: "p", Action: "a", To: "you", Wait: WaitRun, Payload: "x", Schema: "y"}
	task := Task{Params: q.Encode()}
	if got := task.Question(); got != q {
		t.Errorf("%+v, want %+v", got, q)
	}
	if v, _ := (&Question{Action: "a"}).Encode().Value(); fmt.Sprint(v) != "map[action:a wait:]" {
		t.Error(v)
	}
	if _, err := ReadRequest(protocol.Encode("no map")); protocol.KindOf(err) != protocol.KindCorrupt {
		t.Error(err)
	}
}

// A snapshot leaves out the lists at its end that are empty; no task of one that had some is an empty list. A restored state goes on as the
// first one.
func TestSnapshots(t *testing.T) {
	codec, r := protocol.NewCodec(Facts()), Rules{Tick: time.Second}
	seat := Request{Seat: &Seat{Player: Player{Agent: "ada", By: "gm"}}}
	for name, c := range map[string]struct {
		requests []Request
		head     string
	}{
		"nothing": {nil, "\xc0"},
		"ended":   {[]Request{open("a", "ada", time.Hour), cancel("a", "ada")}, "\x92\x90\x91"},
		"open":    {[]Request{open("a", "ada", time.Hour)}, "\x92\x91"},
		"taken":   {[]Request{assigned("a", "ada", time.Hour), report("a", "bo", ReportAccepted)}, "\x93\x91"},
		"both":    {[]Request{open("a", "ada", time.Hour), cancel("a", "ada"), open("b", "ada", time.Hour)}, "\x92\x91"},
		"played":  {[]Request{seat}, "\x94\xc0\xc0"},
	} {
		s := State{}
		for i := range c.requests {
			s.Decide(r, 1, c.requests[i:i+1], nil)
		}
		raw, err := s.Snapshot(codec)
		if err != nil || !strings.HasPrefix(string(raw), c.head) {
			t.Errorf("%s: %x, %v", name, raw, err)
		}
		again, err := Restore(codec, raw)
		if same, _ := again.Snapshot(codec); err != nil || !bytes.Equal(same, raw) || !reflect.DeepEqual(again.Players, s.Players) {
			t.Errorf("%s: %+v, %v, want %+v", name, again, err, s)
		}
	}
	if s, err := Restore(codec, nil); err != nil || s.Len() != 0 {
		t.Error(s, err)
	}
}

// So many ended tasks are remembered, the newest, and each copy of a state remembers its own.
func TestWhatIsRemembered(t *testing.T) {
	s := State{}
	for n := range maxEnded + 3 {
		s.Apply(&Cancelled{ID: fmt.Sprint(n), Agent: "ada", Tool: PlayTool})
	}
	a, b := s, s
	a.Apply(&Ended{ID: "a", Agent: "ada", Tool: PlayTool, Status: "ok"})
	b.Apply(&Ended{ID: "b", Agent: "ada", Tool: "paint", Status: "ok"})
	if len(s.Past) != maxEnded || s.Past[0].ID != "3" || len(a.Past) != maxEnded || a.Past[0].ID != "4" || a.Past[maxEnded-1].ID != "a" || b.Past[maxEnded-1].ID != "b" || cap(b.Past) > 3*maxEnded {
		t.Errorf("%d and %d with room for %d", len(s.Past), len(b.Past), cap(b.Past))
	}
	for id, played := range map[string]bool{"a": true, "4": true, "3": false, "b": false} {
		if a.Played("ada", id) != played || a.Played("bo", id) {
			t.Errorf("%s was played: %t", id, !played)
		}
	}
	if b.Played("ada", "b") {
		t.Error("a call is no turn that was played")
	}
}

// An agent has one player at a time, who may say again that he plays it. Another one waits until it is released, which who does not play it cannot.
func TestSeats(t *testing.T) {
	s, r := &State{}, Rules{Tick: time.Second}
	seat := func(agent, by string, release bool) string {
		var got []string
		for _, f := range s.Decide(r, 1, []Request{{Seat: &Seat{Player: Player{Agent: agent, By: by}, Release: release, Reason: "why"}}}, nil) {
			if x, is := f.(*Refused); is {
				got = append(got, x.Message)
			} else {
				got = append(got, f.FactKind())
			}
		}
		for _, p := range s.Players {
			got = append(got, p.Agent+" by "+p.By)
		}
		return strings.Join(got, ", ")
	}
	for _, c := range [][2]string{
		{seat("ada", "anna", true), "nobody plays it"},
		{seat("ada", "anna", false), "agent.taken_over, ada by anna"},
		{seat("bo", "ben", false), "agent.taken_over, ada by anna, bo by ben"},
		{seat("ada", "ben", false), "anna plays it; it must be released first, ada by anna, bo by ben"},
		{seat("ada", "anna", false), "agent.taken_over, bo by ben, ada by anna"},
		{seat("bo", "ben", true), "agent.released, ada by anna"},
	} {
		if c[0] != c[1] {
			t.Errorf("%s, want %s", c[0], c[1])
		}
	}
	s.Decide(r, 1, []Request{asks("own", "ada", Question{Action: "text", Wait: WaitRun})}, nil)
	if s.WaitsForPlayer("ada") || s.PlayerOf("bo") != nil {
		t.Error("a question of the agent is none to its player")
	}
	play := asks("play", "ada", Question{Action: "order", Wait: WaitHold})
	play.Task.Tool = PlayTool
	s.Decide(r, 1, []Request{play}, nil)
	if !s.WaitsForPlayer("ada") || s.WaitsForPlayer("bo") {
		t.Error("its player is asked")
	}
	facts := s.Decide(r, 1, []Request{{Seat: &Seat{Player: Player{Agent: "ada"}, Release: true}}}, nil)
	if got := kinds(facts); got != "agent.released, ended play cancelled" || s.Players != nil {
		t.Errorf("%s, %v", got, s.Players)
	}
	if x, is := facts[1].(*Ended); !is || x.Error != "cancelled" {
		t.Errorf("%+v", facts[1])
	}
}
