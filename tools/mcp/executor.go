package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"mime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tavernsim/protocol"
	"tavernsim/tools"
	"tavernsim/tools/child"
	"tavernsim/tools/manifest"
	"tavernsim/tools/mcp/sound"
	"tavernsim/tools/sandbox"
)

const startTime = 20 * time.Second

// Options of an Executor.
type Options struct {
	Sandbox *sandbox.Box // nil = no program is started
	// Secrets gives a server, by the id mcp:NAME, the secrets that it needs; nil = none.
	Secrets func(id string, names []string) (map[string]string, error)
	// Env gives a program, by the name of its server, NAME=value: options of its plugin; nil =
	// none.
	Env func(server string) []string
	// Mounts are folders that every program sees, beside those of the system.
	Mounts []sandbox.Mount
	// Mask is that of child.Program.
	Mask func(string) string
	// Start bounds the time in which a server must be ready; 0 = 20 s.
	Start time.Duration
	// Failed is told of each failure of a server, by the id mcp:NAME; off says why it does not
	// start again, "" = it does. nil = nobody is.
	Failed func(id, off string)
	// Asked is told of each request that has ended, with its method and what came of it; nil =
	// nobody is.
	Asked func(method, outcome string)
	// Pause and Group are those of child.Of.
	Pause time.Duration
	Group *child.Group
}

// Server is what an Executor speaks with.
type Server struct {
	Definition *manifest.Server
	Pin        *manifest.Pin
}

// Executor carries out the tools of all servers of a scene.
type Executor struct{ servers map[string]*server }

// server is one server with the session that is open, if one is.
type server struct {
	child.Keeper[*session]
	ID string
}

func newServer(of Server, opt Options) *server {
	var last *session // that was opened; the keeper opens one after another
	return &server{ID: of.Definition.ID, Keeper: child.Keep(child.Of[*session]{
		Name: "the MCP server " + of.Definition.ID, Start: opt.Start, Pause: opt.Pause, Group: opt.Group, End: (*session).end, Final: final, Later: later,
		Open: func(ctx context.Context) (*session, error) {
			open, err := of.connect(ctx, opt)
			if err == nil {
				open.second = last != nil && last.doubted.Load()
				last = open
			}
			return open, err
		},
		Failed: func(off string) {
			if opt.Failed != nil {
				opt.Failed("mcp:"+of.Definition.ID, off)
			}
		},
	})}
}

// New makes an executor. It starts nothing.
func New(servers []Server, opt Options) *Executor {
	if opt.Start <= 0 {
		opt.Start = startTime
	}
	x := &Executor{map[string]*server{}}
	for _, s := range servers {
		x.servers[s.Definition.ID] = newServer(s, opt)
	}
	return x
}

// Close implements tools.Executor. It returns when no program is left.
func (x *Executor) Close() error {
	for _, s := range x.servers {
		s.Close()
	}
	return nil
}

// Call implements tools.Executor.
func (x *Executor) Call(ctx context.Context, c *tools.Call) tools.Result {
	i := &c.Tool.Implementation
	s := x.servers[i.Server]
	if s == nil {
		return unsent(tools.Fail(protocol.KindNotFound, "there is no MCP server "+i.Server))
	}
	open, failed := s.Session(ctx)
	if failed != nil {
		return unsent(*failed)
	}
	means := open.means(c.Attempt)
	if why := open.refuses(ctx, i.Tool); why != nil {
		if r, ok := errors.AsType[*refused](why.err); ok {
			return unsent(s.refused(open, r, means, manifest.Free)) // the list, not the call
		}
		return unsent(tools.Quote(cmp.Or(why.kind, protocol.KindUnknown), why.own, why.said))
	}
	params := c.Params
	if params == nil {
		params = map[string]any{}
	}
	q := &sdk.CallToolParams{Meta: sdk.Meta{KeyField: c.Key}, Name: i.Tool, Arguments: params}
	defer open.reporting(q, c.Progress)()
	ctx = context.WithValue(ctx, leaves{}, new(atomic.Bool))
	ctx, asking, end := open.asks(ctx, c)
	defer end()
	answer, err := open.call(ctx, q)
	if err != nil {
		if r, ok := errors.AsType[*refused](err); ok && ctx.Err() == nil {
			return asking.told(s.refused(open, r, means, c.Tool.Execution.Repeat))
		}
		return asking.told(s.failed(ctx, open, err, asking))
	}
	s.Answered(open)
	open.judged.Store(true)
	return asking.told(resultOf(i, answer))
}

// rejected is the code that the client library gives to a message that its transport could
// not send, or whose answer it could not read.
const rejected = -32005

// maxData bounds the data of an error that is shown, in bytes.
const maxData = 512

// unsent is the result of a call that never left, whatever came of what had to be asked before.
func unsent(r tools.Result) tools.Result {
	r.Unsent, r.Carried, r.Lost = true, false, false
	return r
}

// failed is the result of a call without an answer, or with an error in its place.
func (s *server) failed(ctx context.Context, open *session, err error, asking *asking) tools.Result {
	if said, ok := errors.AsType[*jsonrpc.Error](err); ok && ctx.Err() == nil && said.Code != rejected {
		s.Answered(open)
		open.judged.Store(true)
		if said.Code == child.Unsound {
			return unsoundResult(s.ID, said.Message, 0)
		}
		text := said.Message
		if n := len(said.Data); n > 0 && n <= maxData {
			text += "; data: " + string(said.Data)
		}
		r := tools.Quote(tools.KindTool, fmt.Sprintf("the MCP server %s: error %d", s.ID, said.Code), ": "+text)
		r.Size = int64(len(text))
		return r
	}
	kind, text := protocol.KindTransient, ""
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) { // the library tells the server
		open.wire.cancelled()
	}
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		kind, text = protocol.KindTimeout, "no answer"
		if asking.waited() {
			text = "no answer; it asked a person"
		} else {
			s.Silent(open)
		}
	case ctx.Err() != nil:
		kind, text = protocol.KindCancelled, "cancelled"
	default:
		err = open.cause(err)
		s.Broken(open, err)
		text = err.Error()
	}
	r := tools.Fail(kind, fmt.Sprintf("the MCP server %s: %s", s.ID, text))
	r.Own, r.Lost = fmt.Sprintf("the MCP server %s gave no answer", s.ID), true // the cause may quote the server
	if !open.wire.left(ctx) {
		return unsent(r) // its session ended before
	}
	return r
}

// unsoundResult is the result of a call whose answer is none.
func unsoundResult(server, why string, size int64) tools.Result {
	r := tools.Fail(tools.KindBadOutput, fmt.Sprintf("the result of the MCP server %s: %s", server, protocol.Short(why, 400)))
	r.Own, r.Size = fmt.Sprintf("the result of the MCP server %s is not sound", server), size
	return r
}

// resultOf is what an answer means. A value counts before texts, which say the same.
func resultOf(i *manifest.Implementation, a *sdk.CallToolResult) tools.Result {
	if a.NeedsInput() { // without questions: see session.call
		return tools.Fail(protocol.KindTransient, fmt.Sprintf("the MCP server %s is busy", i.Server))
	}
	r := tools.Output(nil)
	said := make([]string, 0, len(a.Content))
	for _, c := range a.Content {
		said = append(said, textOf(&r, c))
	}
	text := strings.Join(said, "\n")
	if a.IsError {
		r := tools.Fail(tools.KindTool, text)
		r.Own, r.Size = fmt.Sprintf("the MCP server %s: the tool failed", i.Server), int64(len(text))
		return r
	}
	r.Size = int64(len(text))
	for _, b := range r.Blobs {
		r.Size += int64(len(b.Data))
	}
	if a.StructuredContent != nil {
		v, size, err := sound.ValueOf(a.StructuredContent)
		if err != nil {
			return unsoundResult(i.Server, "structuredContent is no value: "+err.Error(), size)
		}
		r.Output, r.Size = v, size
	} else if len(a.Content) > 0 {
		r.Output = text
	}
	return r
}

// textOf is a piece of an answer for a model. What is no text is attached to the result.
func textOf(r *tools.Result, c sdk.Content) string {
	switch x := c.(type) {
	case *sdk.TextContent:
		return x.Text
	case *sdk.ImageContent:
		return attached(r, "image", "image", x.MIMEType, x.Data)
	case *sdk.AudioContent:
		return attached(r, "audio", "audio", x.MIMEType, x.Data)
	case *sdk.ResourceLink:
		list := []string{"resource " + x.URI}
		for _, more := range []string{x.Name, x.MIMEType} {
			if more != "" {
				list = append(list, protocol.Short(more, 200))
			}
		}
		return "[" + strings.Join(list, ", ") + "]"
	case *sdk.EmbeddedResource:
		if x.Resource != nil && x.Resource.Text != "" {
			return x.Resource.Text
		}
		if x.Resource != nil {
			return attached(r, "resource "+x.Resource.URI, x.Resource.URI, x.Resource.MIMEType, x.Resource.Blob)
		}
	}
	return sound.NotKnown
}

// attached is a file of an answer in words.
func attached(r *tools.Result, what, name, mediaType string, data []byte) string {
	if kind, params, err := mime.ParseMediaType(protocol.Short(mediaType, 100)); err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
		mediaType = "application/octet-stream" // none, or it has characters that no media type has
	} else {
		mediaType = cmp.Or(mime.FormatMediaType(kind, params), kind)
	}
	return fmt.Sprintf("[%s %s, %d bytes: %s]", what, mediaType, len(data), r.Attach(protocol.Short(name, 200), mediaType, data))
}
