package serve

import (
	"net/http"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// clients knows the sessions over HTTP: when each was last used, and from where. A session
// that nobody has seen yet is one that begins.
type clients struct {
	mu      sync.Mutex
	opening int                 // sessions that begin
	passing int                 // requests without a session that are under way, those that begin one too
	held    int64               // bytes that messages take at most that are read or carried out
	seen    map[string]*session // by id
}

type session struct {
	from string      // host of the client
	used time.Time   // when its last request ended
	busy int         // requests and calls that are under way; a call outlives its request if the client hangs up
	asks int         // requests that are under way
	idle *time.Timer // ends the session, while no request is under way
}

// Bounds of requests over HTTP.
const (
	maxHeld   = 256 << 20 // bytes of all messages that are read or carried out
	leastHeld = 64 << 10  // bytes that a request takes without its message
)

// holding is a request that is noted.
type holding struct {
	of    *clients
	bytes int64
	one   int // 1 = it is of no session
}

// hold notes a request whose message has so many bytes, -1 = nobody knows yet. The caller owes done,
// after the answer; nil = there is no room.
func (c *clients) hold(bytes int64, session string) *holding {
	if bytes < 0 {
		bytes = MaxMessage
	}
	one := 0
	if session == "" {
		one = 1
	}
	bytes = max(bytes, leastHeld)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held+bytes > maxHeld || c.passing+one > MaxClients {
		return nil
	}
	c.held, c.passing = c.held+bytes, c.passing+one
	return &holding{c, bytes, one}
}

// read says how many bytes the message has: no more than hold noted.
func (h *holding) read(bytes int) {
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	least := max(int64(bytes), leastHeld)
	h.of.held, h.bytes = h.of.held-h.bytes+least, least
}

func (h *holding) done() {
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	h.of.held, h.of.passing = h.of.held-h.bytes, h.of.passing-h.one
}

// has reports whether there is such a session.
func (c *clients) has(s *sdk.Server, id string) bool {
	c.mu.Lock()
	seen := c.seen[id] != nil
	c.mu.Unlock()
	if seen {
		return true // or was: then the library says so
	}
	return open(s, id) != nil // its client is faster than the end of its first request
}

// open is the session with an id; nil = there is none.
func open(s *sdk.Server, id string) *sdk.ServerSession {
	for x := range s.Sessions() {
		if x.ID() == id {
			return x
		}
	}
	return nil
}

// begin makes room for a session that a request begins. The caller owes done, after the answer; ok is
// false if there is no room.
func (s *Server) begin(w http.ResponseWriter, q *http.Request) (done func(), ok bool) {
	c, from := &s.clients, hostOf(q.RemoteAddr)
	c.mu.Lock()
	victim := c.victim(s.sdk)
	if victim == nil && !c.room(s.sdk) {
		c.mu.Unlock()
		return nil, false
	}
	c.opening++
	if victim != nil {
		c.drop(victim.ID())
	}
	c.mu.Unlock()
	if victim != nil {
		s.end(victim) // its client begins another one
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.opening--
		if id := w.Header().Get(sessionHeader); id != "" {
			c.seen[id] = &session{from: from, used: time.Now(), idle: time.AfterFunc(idle, func() { s.idled(id) })}
		}
	}, true
}

// busy notes that something of a session is under way, until done; requests is 1 for a request, and 0 for a call.
func (c *clients) busy(id string, requests int) (done func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	x := c.seen[id]
	if x == nil {
		return func() {}
	}
	x.busy, x.asks = x.busy+1, x.asks+requests
	if x.asks > 0 {
		x.idle.Stop()
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		x.busy, x.asks, x.used = x.busy-1, x.asks-requests, time.Now()
		if requests > 0 && x.asks == 0 && c.seen[id] == x {
			x.idle.Reset(idle)
		}
	}
}

// idled ends a session that had no request for a while. Its calls are those of clients that hung up.
func (s *Server) idled(id string) {
	c := &s.clients
	c.mu.Lock()
	x := c.seen[id]
	over := x != nil && x.asks == 0 // else a request came in time
	if over {
		c.drop(id)
	}
	c.mu.Unlock()
	if x := open(s.sdk, id); over && x != nil {
		s.end(x)
	}
}

// drop forgets a session. The lock is held.
func (c *clients) drop(id string) {
	if x := c.seen[id]; x != nil {
		x.idle.Stop()
		delete(c.seen, id)
	}
}

const sessionHeader = "Mcp-Session-Id"

func (c *clients) room(s *sdk.Server) bool {
	n := c.opening
	for x := range s.Sessions() {
		if x.ID() != "" { // else it is that of a request, which is counted
			n++
		}
	}
	return n < MaxClients
}

// victim is the session that ends for the next one, if there is no room: of the host with
// the most sessions, the one that was idle for the longest time; nil = none must end, or
// none can.
func (c *clients) victim(s *sdk.Server) (victim *sdk.ServerSession) {
	open, of := map[string]*sdk.ServerSession{}, map[string]int{}
	for x := range s.Sessions() {
		if x.ID() != "" {
			open[x.ID()] = x
		}
	}
	for id, x := range c.seen {
		if open[id] == nil {
			c.drop(id) // it has ended by itself
			continue
		}
		of[x.from]++
	}
	if len(open)+c.opening < MaxClients {
		return nil
	}
	var worst *session
	for id, x := range c.seen {
		if x.busy > 0 {
			continue
		}
		if worst == nil || of[x.from] > of[worst.from] || of[x.from] == of[worst.from] && x.used.Before(worst.used) {
			worst, victim = x, open[id]
		}
	}
	return victim
}
