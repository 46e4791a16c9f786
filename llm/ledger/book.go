package ledger

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"tavernsim/engine/budget"
	"tavernsim/llm"
	"tavernsim/protocol"
)

// Book is the open ledger of one endpoint. Its methods are safe for concurrent use.
type Book struct {
	name  string // of the endpoint
	limit budget.Amount
	file  *os.File

	mu       sync.Mutex
	day      string        // of reserved
	reserved budget.Amount // by this process
	settled  chan struct{} // closed when something settles
}

// Entry is a reservation.
type Entry struct {
	day  string
	most budget.Amount
}

// page is the content of the file.
type page struct {
	Day string `json:"day"` // UTC
	// Taken has what is reserved, too.
	Tokens int64 `json:"tokens"`
	Calls  int64 `json:"calls"`
	Nano   int64 `json:"nano_dollars"`
}

func (p *page) amount() budget.Amount {
	return budget.Amount{Tokens: p.Tokens, Calls: p.Calls, Nano: p.Nano}
}

// pageSize is that of the file: a page and spaces, so that one write replaces it.
const pageSize = 160

// Open opens the ledger of an endpoint, or begins it.
func Open(file, name string, limit budget.Amount) (*Book, error) {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, protocol.Errorf(protocol.KindInvalid, "endpoint %s: its budget a day is counted in a file beside the file of endpoints: %w; make the folder writable, or take window: run", name, err)
	}
	b := &Book{name: name, limit: limit, file: f, settled: make(chan struct{})}
	if _, err := b.Today(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return b, nil
}

// Close closes the file. What is reserved stays taken.
func (b *Book) Close() error { return b.file.Close() }

// Limit is what may be taken a day.
func (b *Book) Limit() budget.Amount { return b.limit }

// Left is what is left today, by the units that have a limit.
func (b *Book) Left() (budget.Amount, error) {
	taken, err := b.Today()
	return b.limit.Minus(taken), err
}

// Today is what was taken or is reserved today.
func (b *Book) Today() (taken budget.Amount, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	err = b.change(func(p *page) bool { taken = p.amount(); return false })
	return taken, err
}

// Reserve takes the most that an attempt may take. unpriced = nobody knows what it costs. The error
// is an [*llm.Failure].
func (b *Book) Reserve(ctx context.Context, most budget.Amount, unpriced bool) (*Entry, error) {
	if unpriced && b.limit.Nano > 0 {
		return nil, b.refuse("the model has no price, and the budget is in dollars; nothing leaves (add prices, or free, to the endpoint)")
	}
	for {
		e, wait, err := b.try(most)
		if wait == nil {
			return e, err
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, llm.Stopped(ctx, b.name)
		}
	}
}

// try reserves if there is room; wait = there is when something has settled.
func (b *Book) try(most budget.Amount) (e *Entry, wait <-chan struct{}, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var refused error
	err = b.change(func(p *page) bool {
		taken := p.amount()
		switch {
		case taken.Plus(most).Within(b.limit):
			e = &Entry{p.Day, most}
			b.reserved = b.reserved.Plus(most)
			p.set(taken.Plus(most))
			return true
		case taken.Minus(b.reserved).Plus(most).Within(b.limit):
			wait = b.settled
		default:
			refused = b.refuse(fmt.Sprintf("%s of %s a day used or reserved, and the request may take %s", taken, b.limit, most))
		}
		return false
	})
	if err != nil {
		return nil, nil, b.refuse(err.Error())
	}
	return e, wait, refused
}

func (b *Book) refuse(text string) error {
	return &llm.Failure{Outcome: llm.OutcomeBudget, Message: "budget of endpoint " + b.name + ": " + text}
}

// Settle replaces a reservation by what the attempt took.
func (b *Book) Settle(e *Entry, took budget.Amount) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.settled)
	b.settled = make(chan struct{})
	return b.change(func(p *page) bool {
		if e.day != p.Day {
			return false // it was taken on a day that is over
		}
		b.reserved = b.reserved.Minus(e.most)
		p.set(p.amount().Minus(e.most).Plus(took))
		return true
	})
}

func (p *page) set(a budget.Amount) { p.Tokens, p.Calls, p.Nano = a.Tokens, a.Calls, a.Nano }

// change reads the page of today and writes it again if f says so. No other process does at the
// same time.
func (b *Book) change(f func(p *page) bool) (err error) {
	if err := lock(b.file); err != nil {
		return protocol.Errorf(protocol.KindTransient, "%s: %w", b.file.Name(), err)
	}
	defer func() { err = errors.Join(err, unlock(b.file)) }()
	data, err := io.ReadAll(io.NewSectionReader(b.file, 0, 2*pageSize))
	if err != nil {
		return protocol.Errorf(protocol.KindTransient, "%s: %w", b.file.Name(), err)
	}
	p := &page{}
	if len(data) > 0 {
		d := json.NewDecoder(bytes.NewReader(data))
		d.DisallowUnknownFields()
		if d.Decode(p) != nil || p.Tokens < 0 || p.Calls < 0 || p.Nano < 0 {
			return protocol.Errorf(protocol.KindCorrupt, "%s: this is no ledger of an endpoint; remove it to begin the day anew", b.file.Name())
		}
	}
	if today := time.Now().UTC().Format(time.DateOnly); p.Day < today { // a clock that goes back begins no day anew
		*p = page{Day: today}
	}
	if b.day != p.Day {
		b.day, b.reserved = p.Day, budget.Amount{}
	}
	if !f(p) {
		return nil
	}
	text, err := json.Marshal(p)
	if err == nil {
		_, err = b.file.WriteAt(append(text, strings.Repeat(" ", max(pageSize-1-len(text), 0))+"\n"...), 0)
	}
	if err != nil {
		return protocol.Errorf(protocol.KindTransient, "%s: %w", b.file.Name(), err)
	}
	return nil
}
