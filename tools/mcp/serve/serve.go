package serve

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tavernsim/engine/agent/tool"
	"tavernsim/internal/lenient"
	"tavernsim/protocol"
	"tavernsim/tools"
	"tavernsim/tools/mcp"
)

// Bounds.
const (
	MaxMessage = 4 << 20 // bytes
	MaxDepth   = protocol.MaxDepth
	AtOnce     = 64
	MaxClients = 256 // sessions over HTTP

	idle = 10 * time.Minute // without a request, after which a session over HTTP ends
)

// Tool is one tool.
type Tool struct {
	Name        string // 1 to 64 of A-Z a-z 0-9 _ -
	Description string
	Parameters  any // JSON Schema of an object
	Output      any // JSON Schema of an object; nil = none is promised
	// Check says what is wrong with an output that is promised; nil = nothing but another type.
	Check    func(output any) error
	ReadOnly bool
	Call     func(ctx context.Context, params map[string]any) tools.Result
}

// Listed is the tool as clients are told of it.
func (t *Tool) Listed() *sdk.Tool {
	hints := &sdk.ToolAnnotations{ReadOnlyHint: t.ReadOnly}
	if t.ReadOnly {
		hints.OpenWorldHint = new(false) // it asks nothing outside
	}
	return &sdk.Tool{Name: t.Name, Description: t.Description, InputSchema: t.Parameters, OutputSchema: t.Output, Annotations: hints}
}

// Document is something to read.
type Document struct {
	URI, Name, Description, MediaType string
}

// Offer is all that a server offers.
type Offer struct {
	Name, Version string
	Instructions  string // for the model of the client
	Tools         []Tool
	// Documents lists them, as often as a client asks; nil = there are none.
	Documents func(context.Context) ([]Document, error)
	// Read gives a document.
	Read func(ctx context.Context, uri string) ([]byte, error)
	// Templates are forms of URIs of documents.
	Templates []Template
	// State is one text for each state of a document, "" while there is nothing to read yet; it is asked
	// again and again while clients have subscribed. nil = nobody can.
	State func(uri string) (string, error)
	// Asked is told of each request that has ended, with its method and what came of it, as that of mcp.Options;
	// nil = nobody is.
	Asked func(method, outcome string)
}

// Server serves an offer to any number of clients.
type Server struct {
	offer Offer
	sdk   *sdk.Server
	slots chan struct{}

	ending  *ending
	clients clients
	watched watched
}

// New makes a server.
func New(o Offer) *Server {
	s := &Server{offer: o, slots: make(chan struct{}, AtOnce), ending: newEnding(), clients: clients{seen: map[string]*session{}}}
	s.sdk = sdk.NewServer(&sdk.Implementation{Name: o.Name, Version: o.Version}, s.options())
	for i := range o.Tools {
		t := &o.Tools[i]
		s.sdk.AddTool(t.Listed(), func(ctx context.Context, q *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return answered(ctx, func() *sdk.CallToolResult {
				defer s.clients.busy(q.Session.ID(), 0)()
				ctx, end := progressing(ctx, q)
				defer end()
				return s.call(ctx, t, q.Params.Arguments)
			}), nil
		})
	}
	if o.Documents != nil {
		s.sdk.AddReceivingMiddleware(s.documents)
		// The library finishes what is read in the form of the request's version. Whether there is such a document, the offer says.
		s.sdk.AddResourceTemplate(&sdk.ResourceTemplate{Name: "document", URITemplate: "{+uri}"}, s.read)
	}
	s.sdk.AddReceivingMiddleware(noPrompts)
	if o.Asked != nil {
		s.sdk.AddReceivingMiddleware(mcp.Counting(o.Asked)) // it sees what those before it answer
	}
	s.sdk.AddReceivingMiddleware(s.ending.within)
	return s
}

// noPrompts refuses what the library would answer for a server that has prompts: none are declared.
func noPrompts(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, q sdk.Request) (sdk.Result, error) {
		if strings.HasPrefix(method, "prompts/") {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: method + ": there are no prompts"}
		}
		return next(ctx, method, q)
	}
}

// options of the library: what is declared is what the offer has.
func (s *Server) options() *sdk.ServerOptions {
	o := &sdk.ServerOptions{Instructions: s.offer.Instructions, Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}}}
	if s.offer.Documents != nil {
		o.Capabilities.Resources = &sdk.ResourceCapabilities{Subscribe: s.offer.State != nil}
	}
	if s.offer.State != nil {
		s.watched = watched{docs: map[string]*doc{}, state: s.offer.State, updated: func(uri string) {
			_ = s.sdk.ResourceUpdated(context.Background(), &sdk.ResourceUpdatedNotificationParams{URI: uri}) // a client that is gone is seen elsewhere
		}}
		o.SubscribeHandler, o.UnsubscribeHandler = s.watched.subscribe, s.watched.unsubscribe
	}
	if len(s.offer.Templates) > 0 {
		o.CompletionHandler = s.complete
	}
	return o
}

// progressing is a context whose calls tell the client how far they are, if it wants to know,
// until end. A client that reads slowly is not waited for before that.
func progressing(ctx context.Context, q *sdk.CallToolRequest) (_ context.Context, end func()) {
	token := q.Params.GetProgressToken()
	if token == nil {
		return ctx, func() {}
	}
	const most = 16 // reports that wait; more are dropped
	reports, last := make(chan tools.Progress, most), -1.0
	var said sync.WaitGroup
	said.Go(func() {
		for p := range reports {
			if p.Done <= last {
				continue // the protocol wants it to grow
			}
			last = p.Done
			_ = q.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Progress: p.Done, Total: p.Total, Message: p.Message}) // a client that is gone is seen elsewhere
		}
	})
	return tools.WithProgress(ctx, func(_ string, p tools.Progress) {
			select {
			case reports <- p:
			default:
			}
		}), func() {
			close(reports)
			said.Wait()
		}
}

func (s *Server) call(ctx context.Context, t *Tool, arguments json.RawMessage) (answer *sdk.CallToolResult) {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return answerOf(new(tools.Fail(protocol.KindCancelled, "the call was cancelled")))
	}
	defer func() {
		if p := recover(); p != nil {
			answer = answerOf(new(tools.Fail(protocol.KindInternal, fmt.Sprintf("the tool %s failed: %v", t.Name, p))))
		}
	}()
	params, err := parameters(arguments)
	if err != nil {
		return answerOf(new(tools.Fail(protocol.KindInvalid, err.Error())))
	}
	r := t.Call(ctx, params)
	t.keepPromise(&r)
	return answerOf(&r)
}

// keepPromise makes an error of an output that is not what the tool promises: clients
// refuse such an answer as a whole. What there is of it stays, as text.
func (t *Tool) keepPromise(r *tools.Result) {
	if t.Output == nil || r.Error != nil {
		return
	}
	_, object := r.Output.(map[string]any)
	switch {
	case r.Meta.Cut:
		r.Error = tools.Fail(protocol.KindLimit, "the call was carried out, but its output is too long, and what is left of it is not what outputSchema promises").Error
	case !object:
		r.Error = tools.Fail(tools.KindBadOutput, fmt.Sprintf("the output breaks outputSchema: want an object, not %s", nameOf(r.Output))).Error
	case t.Check != nil:
		if err := t.Check(r.Output); err != nil {
			r.Error = tools.Fail(tools.KindBadOutput, "the output breaks outputSchema: "+err.Error()).Error
		}
	}
}

func parameters(arguments json.RawMessage) (map[string]any, error) {
	if len(arguments) == 0 {
		return map[string]any{}, nil
	}
	read, err := lenient.Read(string(arguments), lenient.Options{Plain: true, Strict: true, Bytes: MaxMessage})
	if err != nil {
		return nil, fmt.Errorf("the arguments: %w", err)
	}
	switch params := read.Value.(type) {
	case nil:
		return map[string]any{}, nil
	case map[string]any:
		return params, nil
	}
	return nil, fmt.Errorf("the arguments: want an object such as {\"town\": \"Rome\"}, not %s", nameOf(read.Value))
}

// nameOf names what a value of JSON is, if it is no object.
func nameOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case []any:
		return "a list"
	case string:
		return "a text"
	case bool:
		return "true or false"
	}
	return "a number"
}

// answerOf is a result as a client gets it: an object also as such, all else as text.
func answerOf(r *tools.Result) *sdk.CallToolResult {
	a := &sdk.CallToolResult{Content: []sdk.Content{}}
	switch v := r.Output.(type) {
	case nil:
	case string:
		a.Content = append(a.Content, &sdk.TextContent{Text: v})
	default:
		text, err := json.Marshal(v)
		if err != nil {
			r.Error = &tools.Error{Kind: protocol.KindInternal, Message: err.Error()}
			break
		}
		a.Content = append(a.Content, &sdk.TextContent{Text: string(text)})
		if _, object := v.(map[string]any); object {
			a.StructuredContent = json.RawMessage(text)
		}
	}
	if r.Error == nil {
		a.Content = append(a.Content, filesOf(r.Blobs)...)
	}
	if r.Error != nil {
		a.IsError, a.StructuredContent = true, nil
		text := fmt.Sprintf("%s: %s", r.Error.Kind, r.Error.Message)
		if r.Error.RetryAfter > 0 {
			text += fmt.Sprintf(" (try again after %s)", r.Error.RetryAfter.Std())
		}
		a.Content = slices.Insert(a.Content, 0, sdk.Content(&sdk.TextContent{Text: text}))
	}
	return a
}

// filesOf are the files that a call left, as a client gets them. Those that do not fit into one
// message are named only.
func filesOf(blobs []tools.Blob) (list []sdk.Content) {
	room := MaxMessage / 2 // they are written as base64
	for _, b := range blobs {
		if len(b.Data) > room {
			list = append(list, &sdk.TextContent{Text: fmt.Sprintf("The file %s (%s, %d bytes) is left out: the files of an answer have at most %d bytes.", b.Name, b.Type, len(b.Data), MaxMessage/2)})
			continue
		}
		room -= len(b.Data)
		switch kind, _, _ := strings.Cut(b.Type, "/"); kind {
		case "image":
			list = append(list, &sdk.ImageContent{Data: b.Data, MIMEType: b.Type})
		case "audio":
			if b.Type == "audio/wave" { // so net/http names it, and clients do not know it
				b.Type = "audio/wav"
			}
			list = append(list, &sdk.AudioContent{Data: b.Data, MIMEType: b.Type})
		default:
			sum := sha256.Sum256(b.Data)
			list = append(list, &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: tool.ArtifactScheme + "sha256-" + hex.EncodeToString(sum[:]), MIMEType: b.Type, Blob: append([]byte{}, b.Data...), Meta: sdk.Meta{"name": b.Name}}})
		}
	}
	return list
}

// private: what one client gets is not for others.
func private() sdk.Cacheable { return sdk.Cacheable{CacheScope: "private"} }

// documents answers for the lists of documents and of their templates.
func (s *Server) documents(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, q sdk.Request) (sdk.Result, error) {
		switch method {
		case "resources/list":
			list, err := s.offer.Documents(ctx)
			if err != nil {
				return nil, err
			}
			r := &sdk.ListResourcesResult{Resources: []*sdk.Resource{}, Cacheable: private()}
			for _, d := range list {
				r.Resources = append(r.Resources, &sdk.Resource{URI: d.URI, Name: d.Name, Description: d.Description, MIMEType: d.MediaType})
			}
			return r, nil
		case "resources/templates/list":
			return s.templates(), nil
		}
		return next(ctx, method, q)
	}
}

// read gives the bytes of a document.
func (s *Server) read(ctx context.Context, q *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	b, err := s.offer.Read(ctx, q.Params.URI)
	if protocol.KindOf(err) == protocol.KindNotFound {
		return nil, sdk.ResourceNotFoundError(q.Params.URI)
	}
	if err != nil {
		return nil, err
	}
	return &sdk.ReadResourceResult{Cacheable: private(), Contents: []*sdk.ResourceContents{{URI: q.Params.URI, MIMEType: "application/json", Text: string(b)}}}, nil
}

// Close ends the sessions of all clients, and their calls.
func (s *Server) Close() {
	s.ending.endAll()
	for x := range s.sdk.Sessions() {
		s.end(x)
	}
	s.watched.done.Wait()
}

// end ends a session and its calls.
func (s *Server) end(x *sdk.ServerSession) {
	defer s.ending.end(x)()
	s.clients.mu.Lock()
	s.clients.drop(x.ID())
	s.clients.mu.Unlock()
	_ = x.Close() // the client sees its end
}
