package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"sync"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tavernsim/internal/wirejson"
	"tavernsim/tools/child"
)

// Stdio serves one client until it closes its end or ctx ends; either ends its calls. Nothing else may write to out.
// A client that leaves while an answer is on its way has closed its end too.
func (s *Server) Stdio(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	l := &lines{out: out}
	from := child.NewLines(in, MaxMessage, l.sound)
	from.Instead = l.tooLong
	x, err := s.sdk.Connect(ctx, &sdk.IOTransport{Reader: from, Writer: l, MaxLineLength: MaxMessage}, nil)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { s.end(x) })()
	err = x.Wait()
	if errors.Is(err, io.ErrClosedPipe) || errors.Is(err, syscall.EPIPE) {
		err = nil
	}
	return cmp.Or(ctx.Err(), err)
}

// lines are what a client sends and gets over stdio. The library would end at a line that is no message.
type lines struct {
	mu      sync.Mutex // a line is written at a time
	out     io.WriteCloser
	version string // that the client began with; of the reader alone
}

// Write implements io.Writer; the library writes a line at a time.
func (l *lines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(line)
}

// Close implements io.Closer.
func (l *lines) Close() error { return l.out.Close() }

// sound is a line as the library gets it; nothing if it is no message, and then it has its answer.
func (l *lines) sound(line []byte) ([]byte, error) {
	if err := message(line); err != nil && !errors.Is(err, errID) {
		return nil, l.refuse("null", jsonrpc.CodeParseError, err)
	} else if err == nil {
		if err = l.known(line); err == nil {
			return line, nil
		}
		return nil, l.refuseOf(line, err)
	}
	return nil, l.refuseOf(line, errID)
}

// tooLong answers a request that is longer than it may be. An answer that is becomes an error.
func (l *lines) tooLong(m *child.Long) ([]byte, error) {
	if m.Answer {
		return m.Fails(), nil
	}
	return nil, l.refuse(string(m.ID), jsonrpc.CodeInvalidRequest, m.Error())
}

// known reports what the library would not take for a message, or for a list of them.
func (l *lines) known(line []byte) error {
	if line[0] != '[' {
		_, err := jsonrpc.DecodeMessage(line)
		if l.version == "" && textIn(line, "method") == "initialize" {
			l.version = textIn(line, "params", "protocolVersion")
		}
		return err
	}
	if l.version != "2025-03-26" && l.version != "2024-11-05" {
		return errors.New("a list of messages is of the version 2025-03-26")
	}
	var list []json.RawMessage
	err := json.Unmarshal(line, &list)
	if len(list) == 0 {
		return errors.New("the list is empty")
	}
	ids := map[jsonrpc.ID]bool{}
	for _, m := range list {
		decoded, bad := jsonrpc.DecodeMessage(m)
		if q, request := decoded.(*jsonrpc.Request); request && (!q.IsCall() || ids[q.ID]) {
			bad = errors.New("in a list each request has an id of its own") // the library waits for an answer to each
		} else if request {
			ids[q.ID] = true
		}
		err = cmp.Or(err, bad)
	}
	return err
}

// refuseOf answers a line that is JSON. An answer that is none of the protocol has no answer: two that answer
// each other's errors would not end.
func (l *lines) refuseOf(line []byte, why error) error {
	id, answer := "null", false
	_ = wirejson.Read(line, func(r *wirejson.Reader) { // message has read it
		if !r.Is('{') {
			r.Skip()
			return
		}
		r.Object(func(name []byte) {
			switch string(name) {
			case "id":
				if raw := r.Raw(); raw[0] == '"' || raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9' {
					id = string(raw)
				}
			case "result", "error":
				answer = true
			}
		})
	})
	if answer {
		return nil
	}
	return l.refuse(id, jsonrpc.CodeInvalidRequest, why)
}

func (l *lines) refuse(id string, code int64, why error) error {
	text, err := json.Marshal(why.Error())
	if err == nil {
		_, err = l.Write(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`+"\n", id, code, text))
	}
	return err
}

// message is what a client sent, if no object of it has a name twice: readers differ in which of
// the two they take. Its id is one that an answer can have.
func message(b []byte) error {
	id, method, _, twice, err := child.Parts(b)
	if err = cmp.Or(err, twice); err != nil {
		return err
	}
	if method != nil && string(id) == "null" { // the library takes it for a notification
		return errID
	}
	// The library reads a number as a float, and answers its whole part.
	if n, err := strconv.ParseFloat(string(id), 64); err == nil && (n != math.Trunc(n) || math.Abs(n) >= 1<<53) {
		return errID
	}
	return nil
}

var errID = errors.New("the id is a text or a whole number below 2^53")
