package ledger

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tavernsim/engine/budget"
	"tavernsim/llm"
)

func open(t *testing.T, file string, limit budget.Amount) *Book {
	t.Helper()
	b, err := Open(file, "cloud", limit)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

func today(t *testing.T, b *Book) budget.Amount {
	t.Helper()
	taken, err := b.Today()
	if err != nil {
		t.Fatal(err)
	}
	return taken
}

func reserve(t *testing.T, b *Book, most budget.Amount) *Entry {
	t.Helper()
	e, err := b.Reserve(t.Context(), most, false)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// Promise 1: however many ask at once, in two processes, what was taken is never above the limit, and
// is what the attempts took.
func TestRace(t *testing.T) {
	file, limit := filepath.Join(t.TempDir(), "cloud"), budget.Amount{Tokens: 1000, Calls: 90}
	var took, refused atomic.Int64
	var all sync.WaitGroup
	for _, b := range []*Book{open(t, file, limit), open(t, file, limit)} {
		for i := range 100 {
			all.Go(func() {
				e, err := b.Reserve(t.Context(), budget.Amount{Tokens: 100, Calls: 1}, false)
				if err != nil {
					refused.Add(1)
					return
				}
				if now := took.Add(int64(1 + i%10)); now > limit.Tokens {
					t.Errorf("%d tokens", now)
				}
				if err := b.Settle(e, budget.Amount{Tokens: int64(1 + i%10), Calls: 1}); err != nil {
					t.Error(err)
				}
			})
		}
	}
	all.Wait()
	b := open(t, file, limit)
	if got := today(t, b); got.Tokens != took.Load() || got.Calls != 200-refused.Load() || got.Calls > 90 {
		t.Errorf("%v, %d tokens taken, %d refused", got, took.Load(), refused.Load())
	}
}

// A request waits for what its own process has reserved, and not for what is taken.
func TestWaitsAndRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, filepath.Join(t.TempDir(), "cloud"), budget.Amount{Tokens: 100})
		first := reserve(t, b, budget.Amount{Tokens: 80})
		var second *Entry
		go func() { second = reserve(t, b, budget.Amount{Tokens: 50}) }()
		ctx, cancel := context.WithCancel(t.Context())
		var given error
		go func() { _, given = b.Reserve(ctx, budget.Amount{Tokens: 60}, false) }()
		synctest.Wait()
		cancel()
		synctest.Wait()
		if second != nil || llm.OutcomeOf(given) != llm.OutcomeCancelled {
			t.Errorf("%v, %v", second, given)
		}
		if err := b.Settle(first, budget.Amount{Tokens: 30}); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if second == nil || today(t, b).Tokens != 80 {
			t.Errorf("%v, %v", second, today(t, b))
		}
		_, err := b.Reserve(t.Context(), budget.Amount{Tokens: 71}, false)
		if llm.OutcomeOf(err) != llm.OutcomeBudget || err.Error() != "budget of endpoint cloud: 80 tokens of 100 tokens a day used or reserved, and the request may take 71 tokens" {
			t.Error(err)
		}
	})
}

// Promise 2: what a killed process had reserved stays taken. The next day begins anew, and takes
// nothing back that was reserved on the day before.
func TestDays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file, limit := filepath.Join(t.TempDir(), "cloud"), budget.Amount{Nano: 100}
		killed := open(t, file, limit)
		late := reserve(t, killed, budget.Amount{Nano: 70})
		b := open(t, file, limit)
		if _, err := b.Reserve(t.Context(), budget.Amount{Nano: 31}, false); llm.OutcomeOf(err) != llm.OutcomeBudget {
			t.Error(err)
		}
		if left, err := b.Left(); left.Nano != 30 || err != nil {
			t.Error(left, err)
		}
		time.Sleep(24 * time.Hour) //nolint:forbidigo // in a bubble
		e := reserve(t, b, budget.Amount{Nano: 100})
		for _, x := range []struct {
			*Book
			*Entry
		}{{killed, late}, {b, e}} {
			if err := x.Settle(x.Entry, budget.Amount{Nano: 5}); err != nil {
				t.Error(err)
			}
		}
		if got := today(t, b); got.Nano != 5 {
			t.Error(got)
		}
	})
}

// Promise 3, and what nobody knows the price of.
func TestBadBooks(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(filepath.Join(dir, "none", "cloud"), "cloud", budget.Amount{}); err == nil || !strings.Contains(err.Error(), "make the folder writable") {
		t.Error(err)
	}
	for i, text := range []string{"{", "[]", `{"day":"2026-01-01","tokens":-1}`, `{"euros":1}`, strings.Repeat("x", 5000)} {
		file := filepath.Join(dir, "bad")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(file, "cloud", budget.Amount{Tokens: 1}); err == nil || !strings.Contains(err.Error(), "remove it") {
			t.Error(i, err)
		}
	}
	file := filepath.Join(dir, "cloud")
	b := open(t, file, budget.Amount{Nano: 1})
	if _, err := b.Reserve(t.Context(), budget.Amount{}, true); err == nil || !strings.Contains(err.Error(), "no price") {
		t.Error(err)
	}
	if err := os.WriteFile(file, []byte("?"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Reserve(t.Context(), budget.Amount{}, false); llm.OutcomeOf(err) != llm.OutcomeBudget || !strings.Contains(err.Error(), "remove it") {
		t.Error(err)
	}
	_ = b.Close()
	if _, err := b.Reserve(t.Context(), budget.Amount{}, false); llm.OutcomeOf(err) != llm.OutcomeBudget {
		t.Error(err)
	}
}
