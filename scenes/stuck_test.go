package scenes_test

import (
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tavernsim/actors"
	"tavernsim/engine/bus/delivery"
	"tavernsim/internal/metrics"
	"tavernsim/internal/metrics/scrape"
	"tavernsim/protocol"
	"tavernsim/scenes"
	"tavernsim/scenes/scenestest"
)

// logged is a log that is read while it is written.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements io.Writer.
func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// hung is a middleware that takes five minutes for its first event.
func hung() delivery.Chain {
	first := make(chan struct{}, 1)
	first <- struct{}{}
	return delivery.Chain{delivery.Func(func(_ delivery.Message, v delivery.Verdict) delivery.Verdict {
		select {
		case <-first:
			<-time.After(5 * time.Minute)
		default:
		}
		return v
	})}
}

// A middleware that does not return holds the channel, and with it the scene: the
// log says so once, and /livez fails until it returns.
func TestStuckMiddleware(t *testing.T) {
	s := stormScene(t, "pair")
	synctest.Test(t, func(t *testing.T) {
		set, log := metrics.New(), &logged{}
		r, err := s.StartWith(scenestest.Settings{
			Middleware: hung(), StuckAfter: scenes.StuckAfter, Stuck: scenes.Stuck(set, slog.New(slog.NewTextHandler(log, nil))),
		})
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(scenes.StuckAfter - time.Second)
		synctest.Wait()
		mustLive(t, set, 200, "alive")
		<-time.After(2 * time.Minute)
		synctest.Wait()
		mustLive(t, set, 503, "scene s: $events does not return from commit")
		for _, want := range []string{"scene=s agent=$events given=commit", "does not return from a message"} {
			if n := strings.Count(log.String(), want); n != 1 {
				t.Errorf("%q stands %d times in %s", want, n, log)
			}
		}
		if res := r.Close(); res.Err != nil || !res.Final {
			t.Error(res)
		}
		mustLive(t, set, 200, "alive")
	})
}

func mustLive(t *testing.T, set *metrics.Set, status int, text string) {
	t.Helper()
	w := httptest.NewRecorder()
	scrape.Handler(set, scrape.Options{}).ServeHTTP(w, httptest.NewRequest("GET", "/livez", nil))
	if w.Code != status || !strings.Contains(w.Body.String(), text) {
		t.Errorf("/livez: %d %s, want %d %s", w.Code, w.Body, status, text)
	}
}

// An agent that is stuck is shown, and does not end the process' life.
func TestStuckAgent(t *testing.T) {
	set := metrics.New()
	free := scenes.Stuck(set, slog.New(slog.DiscardHandler))(actors.Stuck{Receiver: "s/a_1", Envelope: &protocol.Envelope{Kind: protocol.KindWake}})
	defer free()
	mustLive(t, set, 200, "alive")
}

// Where a host has several runs, the name of an actor begins with the run's directory.
func TestStuckActorOfOneOfSeveralRuns(t *testing.T) {
	var log strings.Builder
	scenes.Stuck(metrics.New(), slog.New(slog.NewTextHandler(&log, nil)))(actors.Stuck{
		Receiver: "/runs/2/s/a_1", Envelope: &protocol.Envelope{Kind: protocol.KindWake},
	})()
	if want := "scene=/runs/2/s agent=a_1 given=wake"; strings.Count(log.String(), want) != 2 {
		t.Errorf("want %q twice in %s", want, &log)
	}
}
