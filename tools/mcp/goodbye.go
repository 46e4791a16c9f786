package mcp

import (
	"encoding/json"
	"net/http"
	"sync"
	"time"
)

// goodbyes counts the calls of a session that were cancelled and of which the server has not
// been told yet. The client library tells it beside the caller, so that the session could end
// before: the server would go on with the calls. The zero value is ready.
type goodbyes struct {
	mu   sync.Mutex
	left int           // below 0 while a server was told of a call whose caller has not come back yet
	none chan struct{} // closed when none is left; nil = nobody waits
}

// add counts n more, or less.
func (g *goodbyes) add(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.left += n; g.left <= 0 && g.none != nil {
		close(g.none)
		g.none = nil
	}
}

// wait returns when the server was told of all of them, and after a limit.
func (g *goodbyes) wait(limit time.Duration) {
	g.mu.Lock()
	if g.left <= 0 {
		g.mu.Unlock()
		return
	}
	if g.none == nil {
		g.none = make(chan struct{})
	}
	none := g.none
	g.mu.Unlock()
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case <-none:
	case <-late.C:
	}
}

// maxGoodbyeBody bounds the body of a request that tells of a cancelled call: an id and a
// reason of the library.
const maxGoodbyeBody = 1 << 10 // bytes

// isGoodbye reports whether a request tells a server that a call was cancelled.
func isGoodbye(q *http.Request) bool {
	if q.Method != http.MethodPost || q.ContentLength <= 0 || q.ContentLength > maxGoodbyeBody || q.GetBody == nil {
		return false
	}
	body, err := q.GetBody()
	if err != nil {
		return false
	}
	defer body.Close()
	var m struct {
		Method string `json:"method"`
	}
	return json.NewDecoder(body).Decode(&m) == nil && m.Method == "notifications/cancelled"
}
