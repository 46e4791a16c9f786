package serve

import (
	"context"
	"fmt"
	"io"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tavernsim/protocol"
	"tavernsim/tools/toolstest"
)

// Promise 6: values of a variable are completed, at most 100 of them; what cannot be is refused in words.
func TestComplete(t *testing.T) {
	o := offer(nil)
	o.Templates = []Template{{URI: "test://{name}", Name: "doc", Values: map[string]func(context.Context) ([]string, error){
		"name": func(context.Context) ([]string, error) {
			list := []string{"ball"}
			for i := range 120 {
				list = append(list, fmt.Sprintf("a%03d", i))
			}
			return list, nil
		},
	}}}
	c := client(t, New(o))
	if caps := c.InitializeResult().Capabilities; caps.Completions == nil || caps.Resources == nil || caps.Resources.Subscribe || caps.Resources.ListChanged || caps.Prompts != nil {
		t.Errorf("%+v", caps)
	}
	if r, err := c.ListResourceTemplates(t.Context(), nil); err != nil || len(r.ResourceTemplates) != 1 || r.ResourceTemplates[0].URITemplate != "test://{name}" {
		t.Errorf("%+v, %v", r, err)
	}
	for _, x := range []struct{ kind, uri, variable, value, want string }{
		{"ref/resource", "test://{name}", "name", "b", "1 false [ball]"},
		{"ref/resource", "test://{name}", "name", "a11", "10 false [a110 a111 a112 a113 a114 a115 a116 a117 a118 a119]"},
		{"ref/resource", "test://{name}", "name", "c", "0 false []"},
		{"ref/resource", "test://{name}", "name", "", "121 true [ball a000 "},
		{"ref/resource", "test://{name}", "other", "", "has no variable"},
		{"ref/resource", "test://{other}", "name", "", "there is no template"},
		{"ref/prompt", "", "name", "", "there are no prompts"},
	} {
		ref := &sdk.CompleteReference{Type: x.kind, URI: x.uri}
		if x.kind == "ref/prompt" {
			ref.Name = "p"
		}
		r, err := c.Complete(t.Context(), &sdk.CompleteParams{Ref: ref, Argument: sdk.CompleteParamsArgument{Name: x.variable, Value: x.value}})
		got := fmt.Sprint(err)
		if err == nil {
			got = fmt.Sprint(r.Completion.Total, r.Completion.HasMore, r.Completion.Values)
		}
		if !strings.Contains(got, x.want) || err == nil && len(r.Completion.Values) > 100 {
			t.Errorf("%+v: %s", x, got)
		}
	}
}

// Without templates nothing is completed, and the client is told so.
func TestNoTemplates(t *testing.T) {
	c := client(t, New(offer(nil)))
	if caps := c.InitializeResult().Capabilities; caps.Completions != nil || caps.Resources.Subscribe {
		t.Errorf("%+v", caps)
	}
	if r, err := c.ListResourceTemplates(t.Context(), nil); err != nil || len(r.ResourceTemplates) > 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// There is no subscription to what is not there.
func TestSubscribeNothing(t *testing.T) {
	w := watched{docs: map[string]*doc{}, state: func(uri string) (string, error) { return "", protocol.Errorf(protocol.KindNotFound, "%s", uri) }}
	if err := w.subscribe(t.Context(), &sdk.SubscribeRequest{Params: &sdk.SubscribeParams{URI: "test://none"}}); err == nil || !strings.Contains(err.Error(), "not found") || len(w.docs) > 0 {
		t.Errorf("%v", err)
	}
}

// A session that subscribes again and again has one goroutine that waits for its end.
func TestSubscribeAgainAndAgain(t *testing.T) {
	o := offer(nil)
	o.State = func(string) (string, error) { return "same", nil }
	s := New(o)
	c := client(t, s)
	waiting := func() (n int) {
		b := make([]byte, 4<<20)
		for one := range strings.SplitSeq(string(b[:runtime.Stack(b, true)]), "\n\n") {
			if strings.Contains(one, "ServerSession).Wait") && strings.Contains(one, "serve.(*watched)") {
				n++
			}
		}
		return n
	}
	others := waiting() // of sessions that end
	for i := range 50 {
		uri := fmt.Sprintf("test://%d", i%2)
		if err := c.Subscribe(t.Context(), &sdk.SubscribeParams{URI: uri}); err != nil {
			t.Fatal(err)
		}
		if err := c.Unsubscribe(t.Context(), &sdk.UnsubscribeParams{URI: uri}); err != nil {
			t.Fatal(err)
		}
	}
	if n := waiting(); n > others+1 {
		t.Errorf("%d goroutines wait for the end of one session", n)
	}
}

// Promise 6: who has subscribed hears of a change, over stdio and HTTP; who has not any more, and who has
// left, does not, and nothing is looked at then.
func TestSubscribe(t *testing.T) {
	for _, form := range []string{"stdio", "http"} {
		t.Run(form, func(t *testing.T) {
			var state atomic.Int64
			var once sync.Once
			begun := make(chan struct{}) // closed when test://a is watched
			o := offer(nil)
			o.State = func(uri string) (string, error) {
				if uri != "test://a" && uri != "test://b" {
					return "", protocol.Errorf(protocol.KindNotFound, "%s", uri)
				}
				if uri == "test://b" {
					return "same", nil
				}
				now := fmt.Sprint(state.Load())
				once.Do(func() { close(begun) })
				return now, nil
			}
			s := New(o)
			heard := make(chan string, 10)
			me := sdk.NewClient(&sdk.Implementation{Name: "client", Version: "1"}, &sdk.ClientOptions{ResourceUpdatedHandler: func(_ context.Context, q *sdk.ResourceUpdatedNotificationRequest) {
				heard <- q.Params.URI
			}})
			var c *sdk.ClientSession
			var err error
			if form == "http" {
				h := httptest.NewServer(s.Handler(""))
				defer h.Close()
				c, err = me.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: h.URL}, nil)
			} else {
				theirs, in := io.Pipe()
				out, mine := io.Pipe()
				go func() { _ = s.Stdio(context.Background(), theirs, mine) }()
				c, err = me.Connect(t.Context(), &sdk.IOTransport{Reader: out, Writer: in}, nil)
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, uri := range []string{"test://a", "test://a", "test://b"} {
				if err := c.Subscribe(t.Context(), &sdk.SubscribeParams{URI: uri}); err != nil {
					t.Errorf("%s: %v", uri, err)
				}
			}
			<-begun // a client of 2026-07-28 does not wait for it
			state.Add(1)
			select {
			case uri := <-heard:
				if uri != "test://a" {
					t.Error(uri)
				}
			case <-time.After(toolstest.Long):
				t.Error("nothing was heard")
			}
			if err := c.Unsubscribe(t.Context(), &sdk.UnsubscribeParams{URI: "test://a"}); err != nil {
				t.Error(err)
			}
			_ = c.Close()
			s.Close()
			if s.watched.mu.Lock(); len(s.watched.docs) > 0 || s.watched.stop != nil {
				t.Errorf("%d documents are still watched", len(s.watched.docs))
			}
			s.watched.mu.Unlock()
			if len(heard) > 0 {
				t.Errorf("and %s", <-heard)
			}
		})
	}
}
