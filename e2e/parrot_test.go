package e2e_test

import (
	"bytes"
	"encoding/binary"
	"strings"
)

// What the parrot says after each of its markers, one token at a time. No token occurs twice.
const (
	parrotSays   = "The| ferry| is| on| the| other| bank."
	parrotLooks  = `{"name":| "look_around",| "arguments":| {"direction":| "north"}}`
	parrotGreets = `{"name": |"PublishEventTool", |"arguments": |{"type": "greeting", |"payload": {"message": "hello"}}}`
)

// parrotForm ends a prompt with a marker: whoever has a tool calls it, and then says what there is to say.
const parrotForm = `{{ $last := "" }}{{ range .Messages }}{{ $last = .Role }}{{ .Role }}: {{ .Content }}
{{ range .ToolCalls }}{"name": "{{ .Function.Name }}", "arguments": {{ .Function.Arguments }}}{{ end }}{{ end }}
{{- $marker := "<|say|>" }}{{ range .Tools }}{{ . }}
{{ if eq $last "tool" }}{{ else if eq .Function.Name "look_around" }}{{ $marker = "<|look|>" }}{{ else if eq .Function.Name "PublishEventTool" }}{{ $marker = "<|greet|>" }}{{ end }}{{ end }}{{ $marker }}`

// parrot is a language model of the architecture llama, in a GGUF file: its weights say of each
// token which one follows, and of every other nothing. An inference server loads it, counts its tokens and samples from it
// as from any model. It needs no training, and its answers are known.
func parrot() []byte {
	const size = 320 // of vocabulary and embeddings: each token has a number of the embedding to itself
	tokens := []string{"<unk>", "<s>", "</s>", "<|say|>", "<|look|>", "<|greet|>"}
	types := []int32{2, 3, 3, 3, 3, 3} // unknown, control
	for b := range 256 {
		tokens, types = append(tokens, "<0x"+strings.ToUpper(string("0123456789abcdef"[b>>4])+string("0123456789abcdef"[b&15]))+">"), append(types, 6)
	}
	next := map[int]int{}
	for marker, text := range map[int]string{3: parrotSays, 4: parrotLooks, 5: parrotGreets} {
		for piece := range strings.SplitSeq(text, "|") {
			next[marker] = len(tokens)
			marker = len(tokens)
			tokens, types = append(tokens, strings.ReplaceAll(piece, " ", "▁")), append(types, 1)
		}
		next[marker] = 2 // the end
	}
	for len(tokens) < size {
		tokens, types = append(tokens, "<unused"+string(rune(len(tokens)))+">"), append(types, 5)
	}
	scores := make([]float32, size)
	embedding, output, ones := make([]float32, size*size), make([]float32, size*size), make([]float32, size)
	for i := range size {
		embedding[i*size+i], ones[i] = 1, 1
	}
	for from, to := range next {
		output[to*size+from] = 1
	}

	var head, body bytes.Buffer
	put := func(v any) { _ = binary.Write(&head, binary.LittleEndian, v) }
	text := func(s string) { put(uint64(len(s))); head.WriteString(s) }
	key := func(name string, kind uint32) { text(name); put(kind) }
	const kindUint32, kindInt32, kindFloat32, kindString, kindArray = 4, 5, 6, 8, 9
	head.WriteString("GGUF")
	put(uint32(3))
	tensors := []struct {
		name string
		rows int // 0 = a vector
		cols int
		data []float32
	}{
		{"token_embd.weight", size, size, embedding}, {"output_norm.weight", 0, size, ones}, {"output.weight", size, size, output},
		{"blk.0.attn_norm.weight", 0, size, ones}, {"blk.0.ffn_norm.weight", 0, size, ones},
		{"blk.0.attn_q.weight", size, size, nil}, {"blk.0.attn_k.weight", size, size, nil}, {"blk.0.attn_v.weight", size, size, nil}, {"blk.0.attn_output.weight", size, size, nil},
		{"blk.0.ffn_gate.weight", 32, size, nil}, {"blk.0.ffn_up.weight", 32, size, nil}, {"blk.0.ffn_down.weight", size, 32, nil},
	}
	numbers := []struct {
		name  string
		value uint32
	}{
		{"general.file_type", 0}, {"llama.vocab_size", size}, {"llama.context_length", 8192}, {"llama.embedding_length", size}, {"llama.block_count", 1}, {"llama.feed_forward_length", 32},
		{"llama.attention.head_count", 5}, {"llama.attention.head_count_kv", 5}, {"llama.rope.dimension_count", 64},
		{"tokenizer.ggml.unknown_token_id", 0}, {"tokenizer.ggml.bos_token_id", 1}, {"tokenizer.ggml.eos_token_id", 2},
	}
	put(uint64(len(tensors)))
	put(uint64(len(numbers) + 7))
	key("general.architecture", kindString)
	text("llama")
	for _, n := range numbers {
		key(n.name, kindUint32)
		put(n.value)
	}
	key("llama.attention.layer_norm_rms_epsilon", kindFloat32)
	put(float32(1e-5))
	key("llama.rope.freq_base", kindFloat32)
	put(float32(10000))
	key("tokenizer.ggml.model", kindString)
	text("llama")
	list := func(name string, kind uint32) { key(name, kindArray); put(kind); put(uint64(size)) }
	list("tokenizer.ggml.tokens", kindString)
	for _, t := range tokens {
		text(t)
	}
	list("tokenizer.ggml.scores", kindFloat32)
	put(scores)
	list("tokenizer.ggml.token_type", kindInt32)
	put(types)
	for _, t := range tensors {
		text(t.name)
		dims := []uint64{uint64(t.cols)}
		if t.rows > 0 {
			dims = append(dims, uint64(t.rows))
		}
		put(uint32(len(dims)))
		put(dims)
		put(uint32(0)) // float32
		put(uint64(body.Len()))
		if t.data == nil {
			t.data = make([]float32, t.rows*t.cols)
		}
		_ = binary.Write(&body, binary.LittleEndian, t.data)
	}
	head.Write(make([]byte, (32-head.Len()%32)%32)) // every tensor is a multiple of 32 bytes long
	return append(head.Bytes(), body.Bytes()...)
}
