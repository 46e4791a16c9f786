package mock

import (
	"bytes"
	"context"
	"crypto/subtle"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/zeebo/xxh3"

	"tavernsim/llm"
	"tavernsim/llm/mock/alarm"
	"tavernsim/llm/mock/choice"
	"tavernsim/llm/mock/wire"
	"tavernsim/llm/scripted"
	"tavernsim/protocol"
)

// Bounds of a server.
const (
	maxInFlight   = 100_000
	headerTimeout = 10 * time.Second
	readTimeout   = time.Minute
	maxBody       = 16 << 20 // bytes
	idleTimeout   = 2 * time.Minute
	writeTimeout  = time.Minute // of each part of an answer
	maxHeader     = 32 << 10
	keptBuffer    = 1 << 20 // larger ones are not used again
)

// Server is an http.Handler that answers as a model's server would.
type Server struct {
	opts   Options
	model  llm.Instant
	kinds  []kind
	odds   []odd
	limits limits
	tally  *tally
	cache  cache
	rooms  sync.Pool    // of *room
	alarm  *alarm.Alarm // nil = timers are exact enough
	since  time.Time
}

// room is the memory of one request.
type room struct {
	in  bytes.Buffer
	out []byte
}

// New checks the options.
func New(o Options) (*Server, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	odds, err := o.Faults.odds()
	if err != nil {
		return nil, err
	}
	if o.Model == nil {
		if o.Model, err = scripted.Default(); err != nil {
			return nil, err
		}
	}
	o.Faults = o.Faults.withDefaults()
	s := &Server{opts: o, model: o.Model, kinds: catalogue(), odds: odds, tally: newTally(), cache: cache{block: int64(o.Cache)}, since: time.Now()}
	if o.Punctual {
		s.alarm = &alarm.Alarm{}
	}
	s.limits.requests.perMinute, s.limits.tokens.perMinute = float64(o.RPM), float64(o.TPM)
	s.rooms.New = func() any { return new(room) }
	return s, nil
}

// HTTP is a server with bounds that answers with this handler.
func (s *Server) HTTP() *http.Server {
	return &http.Server{Handler: s, ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader}
}

// Report is what the server has done so far, with at most so many questions.
func (s *Server) Report(questions int) Report { return s.tally.report(questions, false) }

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rec := record{key: key{endpoint: route(r.URL.Path)}, fault: noFault}
	mem := s.rooms.Get().(*room)
	mem.in.Reset()
	defer func() {
		s.tally.done(&rec, mem.in.Bytes())
		if mem.in.Cap()+cap(mem.out) <= keptBuffer {
			s.rooms.Put(mem)
		}
	}()
	if flying := s.tally.begin(); flying > maxInFlight {
		s.refuse(w, r, &rec, overloaded("more than 100000 requests at once"))
		return
	}
	switch e := rec.key.endpoint; {
	case e != metrics && !s.admits(r):
		p, _ := problemOf(unauthorized)
		s.refuse(w, r, &rec, p)
	case e == nowhere:
		s.refuse(w, r, &rec, wire.Wrong(404, "no such path; there are chat/completions, messages, embeddings, models, metrics and requests, with or without /v1 before them"))
	case e <= embeddings && r.Method != http.MethodPost, e > embeddings && r.Method != http.MethodGet && r.Method != http.MethodHead:
		s.refuse(w, r, &rec, wire.Wrong(405, "the method is "+r.Method+"; want POST for questions and GET for everything else"))
	case e <= embeddings:
		s.question(w, r, &rec, mem)
	default:
		s.show(w, r, &rec)
	}
}

// bare is a path without the version and the slashes around it.
func bare(path string) string {
	return strings.TrimPrefix(strings.TrimPrefix(strings.TrimSuffix(path, "/"), "/"), "v1/")
}

// route finds what a path asks for.
func route(path string) endpoint {
	path = bare(path)
	if strings.HasPrefix(path, "models/") {
		return models
	}
	for e := range nowhere {
		if path == e.String() {
			return e
		}
	}
	return nowhere
}

// admits reports whether a request shows the key, in any of the usual headers.
func (s *Server) admits(r *http.Request) bool {
	if s.opts.Key == "" {
		return true
	}
	bearer, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	for _, shown := range [...]string{bearer, r.Header.Get("X-Api-Key"), r.Header.Get("Api-Key")} {
		if subtle.ConstantTimeCompare([]byte(shown), []byte(s.opts.Key)) == 1 {
			return true
		}
	}
	return false
}

// refuse answers a request that is wrong.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, rec *record, p wire.Problem) {
	rec.outcome = refused
	answer := refusing(p, wire.Refusal(wire.Protocol(rec.key.endpoint), bare(r.URL.Path)), "")
	s.send(w, r, rec, &answer)
}

// show answers what is no question.
func (s *Server) show(w http.ResponseWriter, r *http.Request, rec *record) {
	out := reply{status: 200, kind: "application/json"}
	switch rec.key.endpoint {
	case models:
		if name, one := strings.CutPrefix(bare(r.URL.Path), "models/"); one && name != "" {
			addModel(&out, name)
			break
		}
		out.Add(`{"object":"list","data":[`)
		addModel(&out, "mock")
		out.Add(`],"has_more":false,"first_id":"mock","last_id":"mock"}`)
	case metrics:
		var text bytes.Buffer
		s.tally.prometheus(&text, time.Since(s.since))
		out.kind, out.Body = "text/plain; version=0.0.4; charset=utf-8", text.Bytes()
	default:
		most := 100
		if text := r.URL.Query().Get("questions"); text != "" {
			n, err := strconv.Atoi(text)
			if err != nil || n < 0 {
				s.refuse(w, r, rec, wire.Wrong(400, "questions: want a number from 0 on"))
				return
			}
			most = n
		}
		out.Body, _ = json.MarshalIndent(s.tally.report(most, r.URL.Query().Get("body") == "1"), "", "  ") // of plain fields
		out.Add("\n")
	}
	s.send(w, r, rec, &out)
}

// addModel adds what both protocols say of one model. Each name is that of a model, as in questions.
func addModel(out *reply, name string) {
	id, _ := json.Marshal(name) // of a text
	out.Add(`{"id":`, string(id), `,"object":"model","type":"model","display_name":`, string(id), `,"created":`, wire.Created, `,"created_at":"2026-01-01T00:00:00Z","owned_by":"simd"}`)
}

// question answers a question.
func (s *Server) question(w http.ResponseWriter, r *http.Request, rec *record, mem *room) {
	from := io.Reader(r.Body)
	if r.ContentLength < 0 || r.ContentLength > maxBody {
		from = io.LimitReader(from, maxBody+1)
	}
	body := &mem.in
	if _, err := body.ReadFrom(from); err != nil {
		s.refuse(w, r, rec, wire.Wrong(400, "the body could not be read to its end"))
		return
	}
	if body.Len() > maxBody {
		s.refuse(w, r, rec, wire.Wrong(413, "the body is larger than 16 MiB"))
		return
	}
	hash := xxh3.Hash128(body.Bytes())
	binary.BigEndian.PutUint64(rec.key.hash[:8], hash.Hi)
	binary.BigEndian.PutUint64(rec.key.hash[8:], hash.Lo)
	rec.question, rec.attempt = true, s.tally.ask(rec.key)
	if text := r.Header.Get("X-Attempt"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			s.refuse(w, r, rec, wire.Wrong(400, "X-Attempt: want a number from 0 on"))
			return
		}
		rec.attempt = n
	}
	q, err := wire.Decode(wire.Protocol(rec.key.endpoint), body.Bytes())
	if err != nil {
		s.refuse(w, r, rec, wire.Wrong(400, err.Error()))
		return
	}
	rec.model, rec.stream = q.Model, q.Stream
	chance := protocol.NewDraw(s.opts.Seed, uint64(rec.key.endpoint), hash.Hi, hash.Lo)
	answer := s.decide(&q, rec, chance, mem.out)
	if cap(answer.Body) > cap(mem.out) {
		mem.out = answer.Body[:0]
	}
	s.send(w, r, rec, &answer)
}

// decide makes the reply of a question.
func (s *Server) decide(q *wire.Question, rec *record, chance protocol.Draw, room []byte) reply {
	f := wire.FormOf(wire.Protocol(rec.key.endpoint), q.Stream)
	id := chance.Sub(useID)
	a := wire.Answer{ID: strconv.FormatUint(id.Uint64(), 36), Model: q.Model}
	wait, fail := s.ask(f, q, chance, &a)
	if fail != nil {
		return s.failed(f, rec, fail, &a)
	}
	headers, lack, what := s.limits.take(time.Now(), a.Usage.Input+a.Usage.Output, f)
	if lack > 0 {
		p, _ := problemOf(rateLimited)
		p.Kind, p.Text = what, "Rate limit reached for "+what+" per minute. Please try again in "+lack.Round(time.Millisecond).String()+"."
		rec.outcome = limited
		r := refusing(p, f, a.ID)
		r.retryAfter(lack)
		r.headers = append(r.headers, headers...)
		return r
	}
	try := chance.Sub(useTry, uint64(rec.attempt))
	rec.fault = s.draw(&try, f, rec.attempt)
	rec.in, rec.out = a.Usage.Input, a.Usage.Output
	if rec.fault == cutArguments && len(a.Calls) == 0 {
		rec.fault = noFault
	}
	if rec.fault != noFault {
		rec.outcome = faulty
	}
	r := s.plan(f, rec.fault, q, &a, room)
	r.headers = append(r.headers, headers...)
	r.wait += s.latency(f, try, wait, a.Usage.Output)
	return r
}

// Uses of chance; each has a stream of its own.
const (
	useContent = iota + 1
	useID
	useTry // what differs from one time of a question to the next: fault and latency
	useCall
)

// ask lets the script answer, or counts the texts that are to become vectors. The
// script's own latency is what it returns.
func (s *Server) ask(f wire.Form, q *wire.Question, chance protocol.Draw, a *wire.Answer) (time.Duration, *llm.Failure) {
	if f == wire.Vectors {
		if a.Usage.Input = q.IDs; q.IDs == 0 {
			for _, text := range q.Inputs {
				a.Usage.Input += scripted.EstimateTokens(text)
			}
		}
		return 0, nil
	}
	q.Draw = chance.Sub(useContent)
	said, err := s.model.Answer(&q.ModelRequest)
	if err != nil {
		var fail *llm.Failure
		if !errors.As(err, &fail) {
			fail = &llm.Failure{Outcome: llm.OutcomeServerError, Message: err.Error()}
		}
		return 0, fail
	}
	choice.Obey(f, q, &said, q.Draw.Sub(useCall))
	a.Say(&said)
	a.Usage.CacheRead = min(s.cache.read(&q.ModelRequest), a.Usage.Input)
	return said.Latency, nil
}

// latency is how long the answer takes: the options', else the script's. Streams
// spend the time of their tokens between the events.
func (s *Server) latency(f wire.Form, d protocol.Draw, script time.Duration, tokens int64) time.Duration {
	if s.opts.Latency == (scripted.Latency{}) {
		return script
	}
	if f.Streaming() {
		tokens = 0
	}
	return s.opts.Latency.Draw(d, max(tokens, 0))
}

// failed is the reply for a failure that the script wants.
func (s *Server) failed(f wire.Form, rec *record, fail *llm.Failure, a *wire.Answer) reply {
	rec.outcome = failing
	switch fail.Outcome {
	case llm.OutcomeTimeout:
		return reply{end: hanging}
	case llm.OutcomeRateLimited:
		p, _ := problemOf(rateLimited)
		r := refusing(p, f, a.ID)
		r.retryAfter(fail.RetryAfter)
		return r
	case llm.OutcomeBadRequest:
		return refusing(wire.Wrong(400, fail.Message), f, a.ID)
	}
	p, _ := problemOf(serverError)
	p.Text = fail.Message
	return refusing(p, f, a.ID)
}

// send carries a reply out.
func (s *Server) send(w http.ResponseWriter, r *http.Request, rec *record, out *reply) {
	in, answered := rec.in, rec.out // count when the answer has been sent to its end
	rec.status, rec.in, rec.out = out.status, 0, 0
	if !s.pass(w, r.Context(), out.wait) {
		rec.outcome = gone
		return
	}
	if out.end == hanging && !s.pass(w, r.Context(), s.opts.Faults.HoldFor) {
		rec.outcome = gone
	}
	if out.end == hanging || out.end == broken && out.cut == 0 {
		rec.status = 0
		drop(w)
		return
	}
	h := w.Header()
	for i := 0; i+1 < len(out.headers); i += 2 {
		h.Set(out.headers[i], out.headers[i+1])
	}
	h.Set("Content-Type", out.kind)
	if size := len(out.Body); len(out.Events) == 0 && (size > 2<<10 || out.cut+out.fill+len(out.pauses) > 0) { // else net/http counts
		if out.fill > 0 {
			size += fillSize
		}
		h.Set("Content-Length", strconv.Itoa(size))
	}
	w.WriteHeader(out.status)
	if r.Method == http.MethodHead {
		return
	}
	err := s.write(w, r, out)
	if err != nil {
		rec.outcome = gone
	}
	if err == nil && out.end == whole && out.status == http.StatusOK {
		rec.in, rec.out = in, answered
	}
	if out.end == broken {
		drop(w)
	}
}

// write sends the body, with its pauses.
func (s *Server) write(w http.ResponseWriter, r *http.Request, out *reply) error {
	c := http.NewResponseController(w)
	sent := 0
	part := func(to int) error {
		_, err := w.Write(out.Body[sent:to])
		sent = to
		return err
	}
	for _, p := range out.pauses {
		_ = c.SetWriteDeadline(time.Now().Add(writeTimeout)) // a writer that has none is a test's
		if err := part(p.at); err != nil {
			return err
		}
		_ = c.Flush()
		if !s.pass(w, r.Context(), p.wait) {
			return r.Context().Err()
		}
	}
	if len(out.pauses) > 0 || out.fill > 0 {
		_ = c.SetWriteDeadline(time.Now().Add(writeTimeout))
	}
	if out.fill > 0 {
		if err := errors.Join(part(out.fill), fill(w, out.Body[out.fill-1])); err != nil {
			return err
		}
	}
	if out.end == broken {
		err := part(out.cut)
		_ = c.Flush()
		return err
	}
	return part(len(out.Body))
}

// fill writes 64 MiB: letters within a text, spaces elsewhere.
func fill(w io.Writer, before byte) error {
	letter := " "
	if before == '"' {
		letter = "a"
	}
	block := bytes.Repeat([]byte(letter), 64<<10)
	for range fillSize / len(block) {
		if _, err := w.Write(block); err != nil {
			return err
		}
	}
	return nil
}

// waiter is a writer that hears by itself whether its client leaves.
type waiter interface {
	wait(d time.Duration) bool // false if the client left before
}

// pass waits; false if the client left before.
func (s *Server) pass(w http.ResponseWriter, ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return llm.Stopped(ctx, "mock") == nil
	}
	defer s.alarm.End(s.alarm.Set(d))
	if w, ok := w.(waiter); ok {
		return w.wait(d)
	}
	return llm.Wait(ctx, "mock", d) == nil
}

// drop resets the connection. A writer without one, or of HTTP/2, ends by the
// panic that the server knows.
func drop(w http.ResponseWriter) {
	hijacker, ok := w.(http.Hijacker)
	if !ok {
		panic(http.ErrAbortHandler)
	}
	conn, _, err := hijacker.Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // a reset instead of an end
	}
	_ = conn.Close()
}
