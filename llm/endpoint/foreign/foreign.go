// Package foreign recognizes answers in another protocol than that of the endpoint, so that an error can tell the user
// what the server answered and what to change.
package foreign

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"tavernsim/llm"
	"tavernsim/protocol"
)

// Answer says of an answer, or of the first event of one, that it is not of a protocol, but of another one, and what to
// do; "" = it is not known to be. page says that it is a page for people, perhaps of a proxy.
func Answer(data []byte, own string) (is string, page bool) {
	mark := map[string]string{llm.OpenAI: `"choices"`, llm.Anthropic: `"message_start"`}[own]
	if start := bytes.TrimSpace(data); len(start) == 0 || bytes.Contains(data, []byte(mark)) {
		return "", false
	} else if start[0] == '<' {
		return "the answer is a page of HTML or XML, not of a model; base_url may be the address of something else", true
	}
	var form struct {
		Type, Object                                    string
		Choices, Content, Message, Response, Candidates json.RawMessage
		Done                                            *bool
	}
	if data[0] != '{' || json.Unmarshal(data, &form) != nil {
		return "", false
	}
	do := ""
	switch {
	case form.Choices != nil && own != llm.OpenAI:
		is, do = "of the protocol openai (chat completions)", "give the endpoint protocol: openai"
	case (form.Type == "message" && form.Content != nil || form.Type == "message_start") && own != llm.Anthropic:
		is, do = "of the protocol anthropic (messages)", "give the endpoint protocol: anthropic"
	case form.Done != nil && (form.Message != nil || form.Response != nil):
		is, do = "in the own form of ollama", "base_url has to end with /v1"
	case form.Object == "response" || strings.HasPrefix(form.Type, "response."):
		is, do = "of the responses of OpenAI", "base_url has to be an address of chat completions"
	case form.Candidates != nil:
		is, do = "in the own form of Gemini", "base_url has to be an address of chat completions, which ends with /openai"
	default:
		return "", false
	}
	return fmt.Sprintf("the answer is %s, and not of the protocol %s: %s", is, own, do), false
}

// Header says why nobody here reads an answer with a header; "" = its body decides.
func Header(h http.Header) string {
	if kind := h.Get("Content-Type"); strings.HasPrefix(kind, "application/grpc") {
		return fmt.Sprintf("the answer has the type %.40s: the server speaks gRPC; base_url has to be its address for JSON over HTTP", kind)
	}
	return Encoded(h)
}

// Encoded says that an answer is compressed; "" = it is not, whatever else the header says: servers write none or utf-8 so
// that a proxy does not compress a stream.
func Encoded(h http.Header) string {
	how := strings.ToLower(strings.Join(h.Values("Content-Encoding"), ", "))
	compressed := func(c string) bool { return strings.Contains(how, c) }
	if !slices.ContainsFunc([]string{"gzip", "deflate", "br", "zstd", "compress"}, compressed) {
		return ""
	}
	return "the answer has the Content-Encoding " + protocol.Short(how, 40) + ", which was not asked for and which simd does not read; let the server, or the proxy before it, send answers as they are"
}
