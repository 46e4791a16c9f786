package tooling_test

import (
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"tavernsim/engine/tooltask"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/tooling"
	"tavernsim/tools/sandbox"
)

// child runs the callers, or goes on with them.
func child(where string) error {
	dir, port, _ := strings.Cut(where, " ")
	if hooks, ok := strings.CutPrefix(port, "hooks "); ok {
		return hooksChild(dir, hooks)
	}
	port, how, _ := strings.Cut(port, " ")
	p, err := load(port, callersOf(how)...)
	if err != nil {
		return err
	}
	def, err := p.Scene("")
	if err != nil {
		return err
	}
	s := &scenestest.Scene{Project: p, Def: def, Dir: filepath.Join(dir, "store")}
	set := scenestest.Settings{Tools: tooling.Live}
	if how == byService || how == repeated {
		set.Sandbox = sandbox.New(sandbox.Options{})
	}
	return s.Child(set)
}

// What the calls of the callers are: requests over HTTP within a turn, the same as tasks, or
// calls of a service of a plugin that makes the requests.
const (
	inline    = ""
	asTasks   = "tasks"
	byService = "service"
	repeated  = "repeated" // by such a service; all may be repeated
)

// callersOf changes the callers.
func callersOf(how string) []string {
	switch how {
	case asTasks:
		return []string{"execution: {repeat:", "execution: {mode: async, repeat:"}
	case repeated:
		return append(callersOf(byService), "{repeat: never,", "{repeat: by_key,")
	case byService:
		return []string{
			`{"id": "test", "model": "models/none.yaml"}`, `{"id": "test", "model": "models/none.yaml", "plugins": ["till"]}` + till,
			`{type: http, url: "http://127.0.0.1:PORT/read/{/q}"}`, "{type: service, name: till/till, method: read}",
			`{type: http, method: POST, url: "http://127.0.0.1:PORT/pay"}`, "{type: service, name: till/till, method: pay}",
			`{type: http, method: POST, url: "http://127.0.0.1:PORT/fire"}`, "{type: service, name: till/till, method: fire}",
			"needs: [\"net:127.0.0.1:PORT\"]\n", "",
		}
	}
	return nil
}

// A process is killed again and again while its tasks are out: the same holds for them, and
// each task that is due ends once.
func TestKillTasks(t *testing.T) {
	server, s, kills := killed(t, asTasks)
	for _, n := range server.of("/fire") {
		if n != 1 {
			t.Errorf("a call that must not be repeated was made %d times", n)
		}
	}
	payments := server.of("/pay")
	if len(server.keys) != len(payments) || len(payments) < turns/2 {
		t.Errorf("%d payments have %d keys", len(payments), len(server.keys))
	}
	last, due, ended := protocol.Time(0), map[string]protocol.Time{}, map[string]int{}
	unknown, fired := 0, 0
	for _, f := range factsOf(t, s) {
		switch x := f.(type) {
		case *tooltask.Opened:
			due[x.Task.ID] = x.Task.Due
			last = max(last, x.Task.Opened)
		case *tooltask.Ended:
			ended[x.ID]++
			if x.Tool == "srv.fire" {
				fired++
			}
			if x.Status == "unknown" {
				unknown++
			}
		}
	}
	for id, at := range due {
		if n := ended[id]; n > 1 || at <= last && n == 0 {
			t.Errorf("task %s, due at %s, ended %d times", id, at, n)
		}
	}
	if len(server.of("/fire"))+unknown < fired || len(due) < turns {
		t.Errorf("%d calls were made, %d are unknown, %d ended; %d tasks", len(server.of("/fire")), unknown, fired, len(due))
	}
	mustVerify(t, s, scenestest.Settings{})
	t.Logf("%d kills, %d tasks, %d outcomes unknown", kills, len(due), unknown)
}

// A process is killed again and again while its tools are called: a tool that must not be
// repeated is never called twice, one with a key has one key and so one effect for each
// call, and what was lost is told.
func TestKill(t *testing.T) { checkKilled(t, inline) }

// The same for the service of a plugin that answers when the process is killed, and dies with
// it: what it was asked is counted outside of both.
func TestKillServices(t *testing.T) {
	withNet(t)
	checkKilled(t, byService)
}

// A scene whose calls may all be repeated has the digest of one that nobody killed, also where
// the service that carries them out dies with each process.
func TestKilledScenesHaveOneDigest(t *testing.T) {
	box := withNet(t)
	_, s, kills := killed(t, repeated)
	var killed string
	s.Journal(t, func(j *persistence.Journal) { killed = j.Durable().Digest.String() })
	r := s.Fresh(t).Run(t, scenestest.Settings{Tools: tooling.Live, Sandbox: box})
	if r.Err != nil || !r.Final || r.Digest() != killed {
		t.Errorf("killed %d times the digest is %s, want %s; %+v", kills, killed, r.Digest(), r.Err)
	}
}

// The server of these tests takes a request that was cut for none: a client in Python sends
// head and body by two writes, and may be killed between them.
func TestACutRequestHasNoEffect(t *testing.T) {
	server, port := count(t, &counting{})
	conn, err := net.Dial("tcp", "127.0.0.1:"+port)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "POST /pay HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, conn); err != nil { // until the server has ended it
		t.Fatal(err)
	}
	if n := server.of("/pay"); len(n)+len(server.keys) > 0 {
		t.Errorf("%v %v", n, server.keys)
	}
}

func checkKilled(t *testing.T, how string) {
	t.Helper()
	server, s, kills := killed(t, how)
	again := 0
	for _, n := range server.of("/fire") {
		if n != 1 {
			t.Errorf("a call that must not be repeated was made %d times", n)
		}
	}
	for _, n := range server.of("/read") {
		again += n - 1
	}
	payments := server.of("/pay")
	for _, n := range payments {
		again += n - 1
	}
	if len(server.keys) != len(payments) || len(payments) != turns {
		t.Errorf("%d payments have %d keys, want %d: %v", len(payments), len(server.keys), turns, server.keys)
	}
	unknown := 0
	s.Journal(t, func(j *persistence.Journal) {
		if err := j.Scan(persistence.Query{}, func(r protocol.Record) error {
			if r.Kind == "agent.outcome_unknown" {
				unknown++
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	})
	if fired := len(server.of("/fire")); fired+unknown < turns {
		t.Errorf("%d calls were made and %d are unknown, of %d", fired, unknown, turns)
	}
	t.Logf("%d kills, %d requests repeated, %d outcomes unknown", kills, again, unknown)
}

// chance is that of a test; SIMD_TEST_SEED repeats it.
func chance(t *testing.T) *rand.Rand {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("SIMD_TEST_SEED"); s != "" {
		seed, _ = strconv.ParseUint(s, 10, 64)
	}
	t.Logf("repeat with SIMD_TEST_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// killed runs the callers in processes that are killed, to their end.
func killed(t *testing.T, how string) (server *counting, s *scenestest.Scene, kills int) {
	if testing.Short() {
		t.Skip("processes are killed")
	}
	rng, most := chance(t), 12
	if scenestest.Long() {
		most = 60
	}
	server, port := count(t, &counting{delay: 2 * time.Millisecond})
	dir := t.TempDir()
	where := strings.TrimSpace(dir + " " + port + " " + how)
	// Killed by the count of its requests, not by the clock: a fast machine would be at the end before.
	within := func(kill func()) {
		later := time.Duration(rng.Int64N(int64(2 * server.delay))) // before or after the answer
		server.after(1+rng.IntN(8), func() { time.AfterFunc(later, kill) })
	}
	for kills < most && !scenestest.RunChild(t, childEnv, where, within) {
		kills++
	}
	if kills == most && !scenestest.RunChild(t, childEnv, where, nil) {
		t.Fatal("the last child was killed")
	}
	if kills < 3 {
		t.Errorf("%d kills", kills)
	}
	s = scene(t, port, callersOf(how)...)
	s.Dir = filepath.Join(dir, "store")
	return server, s, kills
}
