package models

import (
	"tavernsim/llm"
	"tavernsim/llm/replay"
	"tavernsim/llm/store"
	"tavernsim/protocol"
)

// keeping is the store of a set, and the run whose answers it keeps.
type keeping struct {
	*store.Store
	run string
}

func (k *keeping) opened() bool { return k != nil && k.Store != nil }

// Belongs tells a set the name of its run: it is given no answer of its own out of the
// store. It must be called before a request.
func (s *Set) Belongs(run string) { s.keeps.run = run }

// asksStore gives the question by which the store knows a request; false = it is not for
// the store, because another answer would do as little as none.
func (a *asked) asksStore(question string, q *protocol.ModelRequest) (store.Question, bool) {
	ok := a.keeps.opened() && a.Provider != nil && !a.instead && q.Temperature != nil && *q.Temperature == 0
	return store.Question{Hash: question, Kind: a.Kind, Model: a.sent}, ok
}

// known reports whether nobody is asked, because the answer is there.
func (a *asked) known(question string, q *protocol.ModelRequest) bool {
	if _, ok := a.find(a.answers, question, q); ok {
		return true
	}
	if s, ok := a.asksStore(question, q); ok {
		_, ok = a.keeps.Get(s, a.keeps.run)
		return ok
	}
	return false
}

// stored finds the answer to a question in the store. It takes as long as it would have
// taken here, and says where it came from.
func (a *asked) stored(question string, q *protocol.ModelRequest) (answer protocol.ModelAnswer, ok bool) {
	s, ok := a.asksStore(question, q)
	if !ok {
		return answer, false
	}
	e, ok := a.keeps.Get(s, a.keeps.run)
	if !ok {
		return answer, false
	}
	answer, _ = e.Answer() // a failure is never kept
	answer.Latency = a.Latency.Of(answer.Usage.Output, answer.Latency)
	o := answer.Origin
	o.Endpoint, o.Reused, o.Served = a.name, true, (&llm.Served{Model: a.file, By: llm.ByStore}).Raw()
	a.counts.reused.Add(1)
	a.counts.stored.Add(1)
	a.counts.answered(o)
	return answer, true
}

// keep keeps an answer in the store.
func (a *asked) keep(q *protocol.ModelRequest, answer *protocol.ModelAnswer) {
	if s, ok := a.asksStore(answer.Origin.Question, q); ok {
		e := replay.Of("", "", 0, 0, answer, nil)
		a.keeps.Put(s, a.keeps.run, &e)
	}
}
