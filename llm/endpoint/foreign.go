package endpoint

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"

	"tavernsim/llm"
	"tavernsim/protocol"
)

// foreign is the failure of an answer, or of the first event of one, that is of another protocol; nil = it is not
// known to be. Asking again does not help.
func (e *Endpoint) foreign(data []byte) error {
	mark := map[string]string{llm.OpenAI: `"choices"`, llm.Anthropic: `"message_start"`}[e.Protocol]
	if len(data) == 0 || bytes.Contains(data, []byte(mark)) {
		return nil
	}
	if start := bytes.TrimSpace(data); len(start) > 0 && start[0] == '<' { // of a proxy, perhaps: it may pass
		return e.Failed(llm.OutcomeTruncated, "the answer is a page of HTML or XML, not of a model; base_url may be the address of something else: %s", e.start(start))
	}
	var form struct {
		Type, Object                                    string
		Choices, Content, Message, Response, Candidates json.RawMessage
		Done                                            *bool
	}
	if data[0] != '{' || json.Unmarshal(data, &form) != nil {
		return nil
	}
	is, do := "", ""
	switch {
	case form.Choices != nil && e.Protocol != llm.OpenAI:
		is, do = "of the protocol openai (chat completions)", "give the endpoint protocol: openai"
	case (form.Type == "message" && form.Content != nil || form.Type == "message_start") && e.Protocol != llm.Anthropic:
		is, do = "of the protocol anthropic (messages)", "give the endpoint protocol: anthropic"
	case form.Done != nil && (form.Message != nil || form.Response != nil):
		is, do = "in the own form of ollama", "base_url has to end with /v1"
	case form.Object == "response" || strings.HasPrefix(form.Type, "response."):
		is, do = "of the responses of OpenAI", "base_url has to be an address of chat completions"
	case form.Candidates != nil:
		is, do = "in the own form of Gemini", "base_url has to be an address of chat completions, which ends with /openai"
	default:
		return nil
	}
	return e.Failed(llm.OutcomeBadRequest, "the answer is %s, and not of the protocol %s: %s", is, e.Protocol, do)
}

// start is the beginning of what a server sent, for an error.
func (e *Endpoint) start(data []byte) string { return protocol.Short(e.Hide(string(data)), 120) }

// unreadable is the failure of an answer whose header says that nobody here reads it; nil = it does not.
func (e *Endpoint) unreadable(h http.Header) error {
	if coded := encoded(h); coded != "" {
		return e.Failed(llm.OutcomeBadRequest, "%s", coded)
	}
	if kind := h.Get("Content-Type"); strings.HasPrefix(kind, "application/grpc") {
		return e.Failed(llm.OutcomeBadRequest, "the answer has the type %.40s: the server speaks gRPC; base_url has to be its address for JSON over HTTP", kind)
	}
	return nil
}

// encoded says that an answer is compressed; "" = it is not.
func encoded(h http.Header) string {
	how := strings.Join(h.Values("Content-Encoding"), ", ")
	if how == "" || strings.EqualFold(how, "identity") {
		return ""
	}
	return "the answer has the Content-Encoding " + protocol.Short(how, 40) + ", which was not asked for and which simd does not read; let the server, or the proxy before it, send answers as they are"
}
