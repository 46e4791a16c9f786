package wire

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"tavernsim/internal/wirejson"
	"tavernsim/protocol"
	"tavernsim/protocol/picture"
)

// Bounds of a request.
const (
	maxMessages   = 10_000
	maxTools      = 1_000 // and calls of a message
	maxName       = 256   // bytes
	maxInputs     = 2_048
	maxDimensions = 4_096
	maxTokens     = 1 << 30
	maxLevels     = 100 // of lists and objects
)

// reader notes the last member that was entered, for the error.
type reader struct {
	*wirejson.Reader
	field []byte
}

func (r *reader) where() string {
	if len(r.field) == 0 {
		return ""
	}
	return fmt.Sprintf(" in %.64q", r.field)
}

// object calls member for every member that is not null. What it does not read is passed over.
func (r *reader) object(member func(name string)) {
	r.Object(func(name []byte) {
		if r.field = name; !r.Null() {
			member(string(name))
		}
	})
}

// member reads the member with a name, and passes over the others.
func (r *reader) member(name string, read func()) {
	r.object(func(n string) {
		if n == name {
			read()
		}
	})
}

// list calls element for every element, which may not be null. What it does not read is passed over.
func (r *reader) list(element func()) {
	r.Array(func() {
		if r.Is('n') {
			r.Fail("want no null in a list")
			return
		}
		element()
	})
}

// whole reads a whole number of a range.
func (r *reader) whole(low, high int) int {
	n, err := strconv.Atoi(string(r.Raw()))
	if err != nil || n < low || n > high {
		r.Fail(fmt.Sprintf("want a whole number from %d to %d, not the value that ends", low, high))
	}
	return n
}

// yes reads true or false.
func (r *reader) yes() bool {
	word := string(r.Raw())
	if word != "true" && word != "false" {
		r.Fail("want true or false, not the value that ends")
	}
	return word == "true"
}

// float reads a number.
func (r *reader) float() float64 {
	f, err := strconv.ParseFloat(string(r.Raw()), 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		r.Fail("want a smaller number, not the value that ends")
	case err != nil:
		r.Fail("want a number, not the value that ends")
	}
	return f
}

// Question is a request in the words of the engine, and how it wants its answer.
type Question struct {
	protocol.ModelRequest
	Stream  bool
	Counted bool // the stream ends with usage
	Wants   Wants
	Schema  []byte   // JSON, of the parameters of the tool that has to be called; nil = it has none, or none has to be
	system  string   // of the messages protocol
	thinks  bool     // of the messages protocol: thinking is enabled
	unknown string   // a member that the messages protocol does not have; "" = there is none
	Inputs  []string // of embeddings; token ids are words
	IDs     int64    // of the tokens in Inputs; 0 = they are texts
	Dims    int
	Base64  bool
}

// Decode reads the body of a request.
func Decode(p Protocol, body []byte) (Question, error) {
	var q Question
	if !utf8.Valid(body) {
		return q, protocol.Errorf(protocol.KindInvalid, "the body is not what was expected: want UTF-8")
	}
	var r reader
	if err := wirejson.ReadLevels(body, maxLevels, func(in *wirejson.Reader) {
		r.Reader = in
		switch p {
		case Messages:
			q.messages(&r)
		case Embeddings:
			q.Dims = defaultDimensions
			q.embeddings(&r)
		default:
			q.chat(&r)
		}
	}); err != nil {
		return q, protocol.Errorf(protocol.KindInvalid, "the body is not what was expected: %w%s", err, r.where())
	}
	switch {
	case q.unknown != "":
		return q, protocol.Errorf(protocol.KindInvalid, "%.64s: Extra inputs are not permitted", q.unknown)
	case q.Model == "":
		return q, protocol.Errorf(protocol.KindInvalid, `the body has no "model"`)
	case p == Embeddings && len(q.Inputs) == 0:
		return q, protocol.Errorf(protocol.KindInvalid, `the body has no "input"`)
	case p != Embeddings && len(q.Messages) == 0:
		return q, protocol.Errorf(protocol.KindInvalid, `the body has no "messages"`)
	case p == Messages && q.MaxTokens == 0:
		return q, protocol.Errorf(protocol.KindInvalid, `the body has no "max_tokens"`)
	}
	if q.Wants != (Wants{}) {
		if err := q.check(); err != nil {
			return q, err
		}
	}
	if q.Wants.Some {
		if err := q.findSchema(p, body); err != nil {
			return q, err
		}
	}
	if q.system != "" {
		q.Messages = slices.Insert(q.Messages, 0, protocol.ModelMessage{Role: protocol.RoleSystem, Text: q.system})
	}
	q.Agent = cmp.Or(q.Agent, q.Model)
	return q, nil
}

// common reads a member that several protocols have.
func (q *Question) common(r *reader, name string) {
	switch name {
	case "model":
		if q.Model = r.Text(); len(q.Model) > maxName {
			r.Fail("want a name of at most 256 bytes")
		}
	case "stream":
		q.Stream = r.yes()
	case "max_tokens", "max_completion_tokens":
		q.MaxTokens = r.whole(1, maxTokens)
	case "temperature":
		t := r.float()
		q.Temperature = &t
	case "stop", "stop_sequences":
		q.Stop = texts(r)
	case "user":
		q.Agent = r.Text()
	}
}

// chat reads a request for a chat completion.
func (q *Question) chat(r *reader) {
	r.object(func(name string) {
		switch name {
		case "messages":
			q.Messages = nil // of a member that comes twice the last counts
			r.list(func() { q.chatMessage(r) })
		case "tools":
			q.Tools = nil
			r.list(func() { r.member("function", func() { q.tool(r) }) })
		case "response_format":
			r.member("type", func() { q.JSON = r.Text() != "text" })
		case "stream_options":
			r.member("include_usage", func() { q.Counted = r.yes() })
		case "tool_choice":
			q.Wants.chatChoice(r)
		case "parallel_tool_calls":
			q.Wants.Single = !r.yes()
		case "n":
			if r.float() != 1 {
				r.Fail("this server gives one choice: want 1, not the value that ends")
			}
		default:
			q.common(r, name)
		}
	})
}

func (q *Question) chatMessage(r *reader) {
	var m protocol.ModelMessage
	r.object(func(name string) {
		switch name {
		case "role":
			m.Role = role(r, r.Text())
		case "content":
			m.Text = content(r, func(b block) { m.Images = append(m.Images, b.images...) })
		case "tool_call_id":
			m.CallID = r.Text()
		case "tool_calls":
			r.list(func() { addCall(r, &m, chatCall(r)) })
		}
	})
	q.add(r, m)
}

func addCall(r *reader, m *protocol.ModelMessage, c protocol.Call) {
	if len(m.Calls) >= maxTools {
		r.Fail("want at most 1000 calls")
		return
	}
	m.Calls = append(m.Calls, c)
}

func chatCall(r *reader) (c protocol.Call) {
	c.Origin = protocol.OriginNative
	r.object(func(name string) {
		switch name {
		case "id":
			c.ID = r.Text()
		case "function":
			r.member("name", func() { c.Tool = r.Text() })
		}
	})
	return c
}

func role(r *reader, name string) protocol.Role {
	switch name {
	case "developer":
		return protocol.RoleSystem
	case "system", "user", "assistant", "tool":
		return protocol.Role(name)
	}
	r.Fail("want a role: system, developer, user, assistant or tool")
	return ""
}

// messages reads a request of the messages protocol.
func (q *Question) messages(r *reader) {
	r.object(func(name string) {
		switch name {
		case "system":
			q.system = content(r, nil)
		case "messages":
			q.Messages = nil // of a member that comes twice the last counts
			r.list(func() { q.turn(r) })
		case "tools":
			q.Tools = nil
			r.list(func() { q.tool(r) })
		case "metadata":
			r.member("user_id", func() { q.Agent = r.Text() })
		case "tool_choice":
			q.Wants.messagesChoice(r)
		case "thinking":
			r.member("type", func() { q.thinks = r.Text() != "disabled" })
		case "output_config":
			r.member("format", func() { q.JSON = true })
		case "model", "stream", "max_tokens", "temperature", "stop_sequences":
			q.common(r, name)
		case "cache_control", "container", "context_management", "inference_geo", "mcp_servers", "output_format", "service_tier", "speed", "top_k", "top_p":
		default:
			q.unknown = strings.Clone(name) // else each name is kept
		}
	})
}

// turn reads a message. Results of tools become messages of their own before it.
func (q *Question) turn(r *reader) {
	var m protocol.ModelMessage
	r.object(func(name string) {
		switch name {
		case "role":
			m.Role = role(r, r.Text())
		case "content":
			m.Text = content(r, func(b block) {
				switch b.kind {
				case "image":
					m.Images = append(m.Images, b.images...)
				case "tool_use":
					addCall(r, &m, protocol.Call{ID: b.id, Tool: b.name, Origin: protocol.OriginNative})
				case "tool_result":
					q.add(r, protocol.ModelMessage{Role: protocol.RoleTool, Text: b.content, CallID: b.result, Images: b.images})
				}
			})
		}
	})
	if m.Text != "" || len(m.Calls) > 0 || len(m.Images) > 0 || len(q.Messages) == 0 {
		q.add(r, m)
	}
}

// block is a part of a content.
type block struct {
	kind, text, id, name, result, content string
	images                                []protocol.Image
}

// content reads a text, or a list of parts: their texts joined. other is told of
// parts of another kind; nil passes them over.
func content(r *reader, other func(block)) string {
	if !r.Is('[') {
		return r.Text()
	}
	var joined strings.Builder
	r.list(func() {
		var b block
		r.object(func(name string) {
			switch name {
			case "type":
				b.kind = r.Text()
			case "text":
				b.text = r.Text()
			case "id":
				b.id = r.Text()
			case "name":
				b.name = r.Text()
			case "tool_use_id":
				b.result = r.Text()
			case "content":
				b.content = content(r, func(x block) { b.images = append(b.images, x.images...) })
			case "image_url":
				r.member("url", func() {
					url := r.Text()
					if rest, here := strings.CutPrefix(url, "data:"); here {
						media, data, _ := strings.Cut(rest, ";base64,")
						b.images = inlined(r, media, data)
					} else {
						b.images = []protocol.Image{{URI: url}} // of a server that is not asked
					}
				})
			case "source":
				var media, data string
				r.object(func(name string) {
					switch name {
					case "media_type":
						media = r.Text()
					case "data":
						data = r.Text()
					}
				})
				b.images = inlined(r, media, data)
			}
		})
		if joined.WriteString(b.text); other != nil {
			other(b)
		}
	})
	return joined.String()
}

// inlined reads an image as servers do, its type and bytes in base64, and names the bytes.
func inlined(r *reader, media, data string) []protocol.Image {
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil || len(raw) == 0 || !slices.Contains(picture.Types(), media) {
		r.Fail("want a picture in base64, of the type " + strings.Join(picture.Types(), ", "))
	}
	sum := sha256.Sum256(raw)
	return []protocol.Image{{Type: media, SHA256: hex.EncodeToString(sum[:])}}
}

// add keeps a message.
func (q *Question) add(r *reader, m protocol.ModelMessage) {
	if m.Role == "" {
		r.Fail(`want a message with a "role"`)
	}
	if len(q.Messages) >= maxMessages {
		r.Fail("want at most 10000 messages")
		return
	}
	q.Messages = append(q.Messages, m)
}

// tool reads what a tool is called and does.
func (q *Question) tool(r *reader) {
	var t protocol.ToolSpec
	r.object(func(name string) {
		switch name {
		case "name":
			t.Name = r.Text()
		case "description":
			t.Description = r.Text()
		}
	})
	if len(q.Tools) >= maxTools {
		r.Fail("want at most 1000 tools")
		return
	}
	q.Tools = append(q.Tools, t)
}

// embeddings reads a request for vectors.
func (q *Question) embeddings(r *reader) {
	r.object(func(name string) {
		switch name {
		case "input":
			q.inputs(r)
		case "dimensions":
			q.Dims = r.whole(1, maxDimensions)
		case "encoding_format":
			switch r.Text() {
			case "float":
			case "base64":
				q.Base64 = true
			default:
				r.Fail("want float or base64")
			}
		default:
			q.common(r, name)
		}
	})
}

// inputs reads a text, a list of texts, the token ids of one text, or a list of these. A text of token ids has them as words.
func (q *Question) inputs(r *reader) {
	q.Inputs, q.IDs = nil, 0 // of a member that comes twice the last counts
	if !r.Is('[') {
		q.Inputs = []string{r.Text()}
		return
	}
	var one []byte
	worded := false
	r.list(func() {
		switch {
		case len(q.Inputs) >= maxInputs:
			r.Fail("want at most 2048 texts")
		case r.Is('"'):
			worded = true
			q.Inputs = append(q.Inputs, r.Text())
		case r.Is('['):
			var ids []byte
			r.list(func() { ids = q.id(r, ids) })
			if ids == nil {
				r.Fail("want token ids in each list, not none")
			}
			q.Inputs = append(q.Inputs, string(ids))
		default:
			one = q.id(r, one)
		}
	})
	if (worded || len(q.Inputs) > 0 && one != nil) && q.IDs > 0 {
		r.Fail("want texts, lists of token ids, or the token ids of one text, and not both")
	}
	if one != nil {
		q.Inputs = []string{string(one)}
	}
}

// id reads a token id and adds it to others.
func (q *Question) id(r *reader, to []byte) []byte {
	q.IDs++
	return append(strconv.AppendInt(to, int64(r.whole(0, math.MaxInt32)), 10), ' ')
}

// texts reads a text or a list of texts.
func texts(r *reader) []string {
	if !r.Is('[') {
		return []string{r.Text()}
	}
	var list []string
	r.list(func() {
		if len(list) >= maxInputs {
			r.Fail("want at most 2048 texts")
			return
		}
		list = append(list, r.Text())
	})
	return list
}
