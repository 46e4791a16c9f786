package store

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"

	"tavernsim/llm/replay"
	"tavernsim/protocol"
)

// DB keeps values by their keys. It is safe for concurrent use.
type DB interface {
	// Get appends the value of a key to buf.
	Get(key, buf []byte) (value []byte, found bool, err error)
	Set(key, value []byte) error
	Bytes() uint64 // of all files
	Close() error
}

// Bounds.
const (
	DefaultMax = 1 << 30 // bytes of a store
	MaxAnswer  = 1 << 20 // bytes of an answer

	weighEvery = 64 // answers between two looks at the size
)

// Options of New.
type Options struct {
	Name string       // for what is told
	Max  uint64       // bytes; 0 = DefaultMax
	Tell func(string) // hears why nothing is kept or given any more; may be nil
}

// Store is an open store. It is safe for concurrent use.
type Store struct {
	db      DB
	opt     Options
	session string // names this process's answers
	puts    atomic.Int64
	off     atomic.Bool // it is not used any more
	full    atomic.Bool // it is only read
	put     sync.Mutex  // one answer to a question at a time
}

// New makes a store of a database, which it closes.
func New(db DB, opt Options) *Store {
	if opt.Max == 0 {
		opt.Max = DefaultMax
	}
	s := &Store{db: db, opt: opt, session: rand.Text()}
	s.weigh()
	return s
}

// Question is what is asked, and whom.
type Question struct {
	Hash  string // of what the model reads (llm.Hash)
	Kind  string // protocol of the endpoint
	Model string // as the endpoint calls it
}

// key is 16 bytes of the SHA-256 of the question.
func (q *Question) key() []byte {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", q.Hash, q.Kind, q.Model))
	return []byte("a/" + hex.EncodeToString(sum[:16]))
}

// kept is a value of the database.
type kept struct {
	Session string       `json:"session"`
	Run     string       `json:"run"`
	Answer  replay.Entry `json:"answer"`
}

// Get gives the answer to a question of a run, if there is one.
func (s *Store) Get(q Question, run string) (*replay.Entry, bool) {
	k, ok := s.get(q.key())
	if !ok || k.Session == s.session || k.Run == run || k.Answer.Question != q.Hash {
		return nil, false
	}
	return &k.Answer, true
}

func (s *Store) get(key []byte) (*kept, bool) {
	if s.off.Load() {
		return nil, false
	}
	value, found, err := s.db.Get(key, nil)
	if err == nil && !found {
		return nil, false
	}
	k := &kept{}
	if err == nil {
		err = decode(value, k)
	}
	if err != nil {
		s.end(&s.off, "it cannot be read, and is not used any more: %v; delete the folder to begin another", err)
		return nil, false
	}
	return k, true
}

func decode(value []byte, k *kept) error {
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	if err := d.Decode(k); err != nil {
		return fmt.Errorf("an answer in it is damaged: %w", err)
	}
	for i := range k.Answer.Calls {
		v, err := protocol.Normalize(k.Answer.Calls[i].Params)
		if err != nil {
			return fmt.Errorf("an answer in it is damaged: %w", err)
		}
		k.Answer.Calls[i].Params, _ = v.(map[string]any)
	}
	return nil
}

// Put keeps the answer to a question that a run got, unless there is one.
func (s *Store) Put(q Question, run string, e *replay.Entry) {
	if s.off.Load() || s.full.Load() || e.Error != "" || e.Finish == protocol.FinishFiltered {
		return
	}
	value, err := json.Marshal(kept{s.session, run, *e})
	if err != nil || len(value) > MaxAnswer || hides(value) {
		return
	}
	s.put.Lock()
	defer s.put.Unlock()
	key := q.key()
	if _, there := s.get(key); there || s.off.Load() {
		return
	}
	if err := s.db.Set(key, value); err != nil {
		s.end(&s.off, "it cannot be written, and is not used any more: %v", err)
	} else if s.puts.Add(1)%weighEvery == 0 {
		s.weigh()
	}
}

// hides reports whether there are secrets in an answer.
func hides(value []byte) bool {
	var written [2][]byte
	for i := range written {
		k := &kept{}
		if decode(value, k) != nil {
			return true
		}
		if i == 0 {
			k.Answer.Hide()
		}
		written[i], _ = json.Marshal(k) // what was decoded can be written
	}
	return !bytes.Equal(written[0], written[1])
}

func (s *Store) weigh() {
	if n := s.db.Bytes(); n >= s.opt.Max {
		s.end(&s.full, "it has %d MiB and takes no more answers (at most %d); delete the folder to begin another", n>>20, s.opt.Max>>20)
	}
}

// end tells, once, what is over.
func (s *Store) end(what *atomic.Bool, format string, args ...any) {
	if !what.Swap(true) && s.opt.Tell != nil {
		s.opt.Tell("store " + s.opt.Name + ": " + fmt.Sprintf(format, args...))
	}
}

// Close closes the database.
func (s *Store) Close() error { return s.db.Close() }
