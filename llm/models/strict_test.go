package models

import (
	"testing"

	"tavernsim/internal/source"
)

// A zero, or an empty list, that older programs took for the default is a fault; in the files of a run it is none, and
// its models are made.
func TestWrittenZerosOfModelFiles(t *testing.T) {
	for name, text := range map[string]string{
		"tokens":  "kind: openai\nmodel: m\nparams: {max_tokens: 0}\n",
		"latency": "kind: openai\nmodel: m\nlatency: {first_token: 0s, per_token: 0s}\n",
		"words":   "kind: openai\nmodel: m\nlatency: \"\"\n",
		"match":   "rules:\n  - {match: {events: []}, answer: x}\n",
		"after":   "rules:\n  - {answer: x, failures: {rate_limited: 1, retry_after: 0s}}\n",
		"faulty":  "kind: faulty\nmodel: base\nfaults: {slow: 1, slow_for: 0s}\n",
		"route":   "kind: route\nroute: [{use: base}]\nfallback: [{on: [], use: base}]\npatience: 0s\n",
	} {
		file, data := "models/"+name+".yaml", []byte(text)
		if Read(file, data, &source.Report{}) {
			t.Errorf("%s is taken", name)
		}
		old, strict := &source.Report{}, &source.Report{}
		if old.Strict = strict; !Read(file, data, old) || old.Total() > 0 || strict.Total() == 0 {
			t.Errorf("%s of an older run: %v, %v", name, old.Err(), strict.Err())
		}
		if _, err := New(Options{Files: []File{{file, data}, {"models/base.yaml", []byte("otherwise: x\n")}}, Scripts: true}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, text := range map[string]string{
		"first": "kind: openai\nmodel: m\nlatency: {first_token: 0s, per_token: 1ms}\n",
		"none":  "kind: openai\nmodel: m\nlatency: {mode: none, first_token: 0s}\n",
	} {
		report := &source.Report{}
		if !Read("models/"+name+".yaml", []byte(text), report) {
			t.Error(report.Err())
		}
	}
}
