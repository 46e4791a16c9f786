package serve

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tavernsim/protocol"
)

// Bounds of subscriptions.
const (
	MaxWatched = 1000 // documents that are watched for all clients together

	lookEvery = 500 * time.Millisecond // at each of them
)

// watched are the documents that clients have subscribed to.
type watched struct {
	state   func(uri string) (string, error)
	updated func(uri string)

	mu    sync.Mutex
	docs  map[string]*doc             // by URI; while there are any, one goroutine looks at them
	stop  chan struct{}               // ends it
	waits map[*sdk.ServerSession]bool // for whose end a goroutine waits: each that has subscribed, once
	done  sync.WaitGroup
}

// doc is a document that is watched.
type doc struct {
	state string
	who   map[*sdk.ServerSession]bool
}

// subscribe watches a document for a session, until unsubscribe or the end of the session.
func (w *watched) subscribe(_ context.Context, q *sdk.SubscribeRequest) error {
	uri := q.Params.URI
	state, err := w.state(uri)
	if protocol.KindOf(err) == protocol.KindNotFound {
		return sdk.ResourceNotFoundError(uri)
	}
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	x := w.docs[uri]
	if x == nil && len(w.docs) >= MaxWatched {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("%d resources are subscribed to already, which is the most: unsubscribe from one", MaxWatched)}
	}
	if x == nil {
		x = &doc{state, map[*sdk.ServerSession]bool{}}
		w.docs[uri] = x
	}
	if x.who[q.Session] {
		return nil
	}
	x.who[q.Session] = true
	if w.waits == nil {
		w.waits = map[*sdk.ServerSession]bool{}
	}
	if !w.waits[q.Session] {
		w.waits[q.Session] = true
		w.done.Go(func() { w.await(q.Session) })
	}
	if w.stop == nil {
		stop := make(chan struct{})
		w.stop = stop // leave may take it back before the goroutine begins
		w.done.Go(func() { w.look(stop) })
	}
	return nil
}

func (w *watched) unsubscribe(_ context.Context, q *sdk.UnsubscribeRequest) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.leave(q.Params.URI, q.Session)
	return nil
}

// await ends all subscriptions of a session when it ends.
func (w *watched) await(s *sdk.ServerSession) {
	_ = s.Wait() // how it ended is its own matter
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.waits, s)
	for uri := range w.docs {
		w.leave(uri, s)
	}
}

// leave ends a subscription, if there is one. The lock is held.
func (w *watched) leave(uri string, s *sdk.ServerSession) {
	if x := w.docs[uri]; x != nil {
		if delete(x.who, s); len(x.who) == 0 {
			delete(w.docs, uri)
		}
	}
	if len(w.docs) == 0 && w.stop != nil {
		close(w.stop)
		w.stop = nil
	}
}

// look tells of documents that are others than before, until stop.
func (w *watched) look(stop <-chan struct{}) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		for _, uri := range w.changed() {
			w.updated(uri)
		}
	}
}

// changed are the documents that are others than at the last look.
func (w *watched) changed() (uris []string) {
	w.mu.Lock()
	all := protocol.SortedKeys(w.docs)
	w.mu.Unlock()
	for _, uri := range all {
		state, err := w.state(uri)
		if err != nil {
			state = "" // it is gone
		}
		w.mu.Lock()
		if x := w.docs[uri]; x != nil && x.state != state {
			x.state = state
			uris = append(uris, uri)
		}
		w.mu.Unlock()
	}
	return uris
}
