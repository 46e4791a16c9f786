package wire

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"

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
)

// Question is a request in the words of the engine, and how it wants its answer.
type Question struct {
	protocol.ModelRequest
	Stream  bool
	Counted bool     // the stream ends with usage
	system  string   // of the messages protocol
	Inputs  []string // of embeddings
	Dims    int
	Base64  bool
}

// Decode reads the body of a request.
func Decode(p Protocol, body string) (Question, error) {
	var q Question
	r := reader{src: body}
	var err error
	switch p {
	case Messages:
		err = r.document(func() { q.messages(&r) })
	case Embeddings:
		q.Dims = defaultDimensions
		err = r.document(func() { q.embeddings(&r) })
	default:
		err = r.document(func() { q.chat(&r) })
	}
	if err != nil {
		return q, protocol.Errorf(protocol.KindInvalid, "the body is not what was expected: %w", err)
	}
	switch {
	case q.Model == "":
		return q, protocol.Errorf(protocol.KindInvalid, `the body has no "model"`)
	case p == Embeddings && len(q.Inputs) == 0:
		return q, protocol.Errorf(protocol.KindInvalid, `the body has no "input"`)
	case p != Embeddings && len(q.Messages) == 0:
		return q, protocol.Errorf(protocol.KindInvalid, `the body has no "messages"`)
	case p == Messages && q.MaxTokens == 0:
		return q, protocol.Errorf(protocol.KindInvalid, `the body has no "max_tokens"`)
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
		if q.Model = r.text(); len(q.Model) > maxName {
			r.fail("a name of at most 256 bytes")
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
		q.Agent = r.text()
	default:
		r.skip()
	}
}

// chat reads a request for a chat completion.
func (q *Question) chat(r *reader) {
	r.object(func(name string) {
		switch name {
		case "messages":
			r.list(func() { q.chatMessage(r) })
		case "tools":
			r.list(func() {
				r.object(func(name string) {
					if name == "function" {
						q.tool(r)
						return
					}
					r.skip()
				})
			})
		case "response_format":
			r.object(func(name string) {
				if name == "type" {
					q.JSON = r.text() != "text"
					return
				}
				r.skip()
			})
		case "stream_options":
			r.object(func(name string) {
				if name == "include_usage" {
					q.Counted = r.yes()
					return
				}
				r.skip()
			})
		case "n":
			r.whole(1, 1)
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
			m.Role = role(r, r.text())
		case "content":
			m.Text = content(r, func(b block) { m.Images = append(m.Images, b.images...) })
		case "tool_call_id":
			m.CallID = r.text()
		case "tool_calls":
			r.list(func() { addCall(r, &m, chatCall(r)) })
		default:
			r.skip()
		}
	})
	q.add(r, m)
}

func addCall(r *reader, m *protocol.ModelMessage, c protocol.Call) {
	if len(m.Calls) >= maxTools {
		r.fail("at most 1000 calls")
		return
	}
	m.Calls = append(m.Calls, c)
}

func chatCall(r *reader) (c protocol.Call) {
	c.Origin = protocol.OriginNative
	r.object(func(name string) {
		switch name {
		case "id":
			c.ID = r.text()
		case "function":
			r.object(func(name string) {
				if name == "name" {
					c.Tool = r.text()
					return
				}
				r.skip()
			})
		default:
			r.skip()
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
	r.fail("a role: system, developer, user, assistant or tool")
	return ""
}

// messages reads a request of the messages protocol.
func (q *Question) messages(r *reader) {
	r.object(func(name string) {
		switch name {
		case "system":
			q.system = content(r, nil)
		case "messages":
			r.list(func() { q.turn(r) })
		case "tools":
			r.list(func() { q.tool(r) })
		case "metadata":
			r.object(func(name string) {
				if name == "user_id" {
					q.Agent = r.text()
					return
				}
				r.skip()
			})
		default:
			q.common(r, name)
		}
	})
}

// turn reads a message. Results of tools become messages of their own before it.
func (q *Question) turn(r *reader) {
	var m protocol.ModelMessage
	r.object(func(name string) {
		switch name {
		case "role":
			m.Role = role(r, r.text())
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
		default:
			r.skip()
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
	if r.next() != '[' {
		return r.text()
	}
	var joined strings.Builder
	r.list(func() {
		var b block
		r.object(func(name string) {
			switch name {
			case "type":
				b.kind = r.text()
			case "text":
				b.text = r.text()
			case "id":
				b.id = r.text()
			case "name":
				b.name = r.text()
			case "tool_use_id":
				b.result = r.text()
			case "content":
				b.content = content(r, func(x block) { b.images = append(b.images, x.images...) })
			case "image_url":
				r.object(func(name string) {
					if name != "url" {
						r.skip()
						return
					}
					url := r.text()
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
						media = r.text()
					case "data":
						data = r.text()
					default:
						r.skip()
					}
				})
				b.images = inlined(r, media, data)
			default:
				r.skip()
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
	if r.fault == nil && (err != nil || len(raw) == 0 || !slices.Contains(picture.Types(), media)) {
		r.fail("a picture in base64, of the type " + strings.Join(picture.Types(), ", "))
	}
	sum := sha256.Sum256(raw)
	return []protocol.Image{{Type: media, SHA256: hex.EncodeToString(sum[:])}}
}

// add keeps a message.
func (q *Question) add(r *reader, m protocol.ModelMessage) {
	if m.Role == "" && r.fault == nil {
		r.fail(`a message with a "role"`)
	}
	if len(q.Messages) >= maxMessages {
		r.fail("at most 10000 messages")
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
			t.Name = r.text()
		case "description":
			t.Description = r.text()
		default:
			r.skip()
		}
	})
	if len(q.Tools) >= maxTools {
		r.fail("at most 1000 tools")
		return
	}
	q.Tools = append(q.Tools, t)
}

// embeddings reads a request for vectors.
func (q *Question) embeddings(r *reader) {
	r.object(func(name string) {
		switch name {
		case "input":
			q.Inputs = texts(r)
		case "dimensions":
			q.Dims = r.whole(1, maxDimensions)
		case "encoding_format":
			switch r.text() {
			case "float":
			case "base64":
				q.Base64 = true
			default:
				r.fail("float or base64")
			}
		default:
			q.common(r, name)
		}
	})
}

// texts reads a text or a list of texts.
func texts(r *reader) []string {
	if r.next() != '[' {
		return []string{r.text()}
	}
	var list []string
	r.list(func() {
		if len(list) >= maxInputs {
			r.fail("at most 2048 texts")
			return
		}
		list = append(list, r.text())
	})
	return list
}
