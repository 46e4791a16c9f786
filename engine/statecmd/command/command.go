// Package command defines the written form of state commands 2.0: a batch, an
// entry and its options, and how they are read from the text of a model.
// Package statecmd carries the commands out.
//
// # Promises
//
//  1. Decode accepts every batch form (an array, sections keyed by action, `{key:
//     value}` sections, bare keys under delete, the tavern_commands and commands
//     wrappers, a single entry, JSON inside text, damaged JSON) and keeps order:
//     an array as written, sections in the order of [Actions].
//  2. A faulty entry is an entry with a [Fault] and does not hide its
//     neighbours. Only a text without any batch is an error.
//  3. Ignored parts give a warning.
package command

import (
	"strings"
	"time"

	"tavernsim/protocol"
)

// Action is what an entry does.
type Action string

const (
	Ensure Action = "ensure"
	Set    Action = "set"
	Update Action = "update"
	Patch  Action = "patch"
	Add    Action = "add"
	Push   Action = "push"
	Pull   Action = "pull"
	Delete Action = "delete"
)

// Actions lists every action in the order in which the sections of a keyed batch
// are carried out (C21).
func Actions() []Action { return []Action{Ensure, Set, Update, Patch, Add, Push, Pull, Delete} }

// Bounds of a batch (C29).
const (
	MaxEntries   = 200
	MaxKey       = 512       // bytes
	MaxValue     = 256 << 10 // bytes, encoded
	MaxReads     = 200
	MaxListItems = 10_000
)

// Code is the reason of a result or warning.
type Code string

// Codes of results.
const (
	OK        Code = "ok"        // applied, something changed
	Unchanged Code = "unchanged" // applied, nothing had to change
	Duplicate Code = "duplicate" // skipped: the element or idempotency key is there already
	Exists    Code = "exists"    // skipped by ifMissing or ensure; rejected by restore
	Missing   Code = "missing"   // the target is not there
	NotEqual  Code = "not_equal" // skipped by ifEquals
	NoMatch   Code = "no_match"  // skipped: pull found nothing
	Inspected Code = "inspected" // ignored: tavern_inspect

	InvalidEntry       Code = "invalid_entry"
	Truncated          Code = "truncated" // the text ended inside the entry
	UnknownAction      Code = "unknown_action"
	InvalidKey         Code = "invalid_key"
	BadPrefix          Code = "bad_prefix"
	InvalidPath        Code = "invalid_path"
	Reserved           Code = "reserved_segment"
	InvalidOption      Code = "invalid_option"
	ConflictingOptions Code = "conflicting_options"
	InvalidExpiry      Code = "invalid_expiry"
	MissingValue       Code = "missing_value"
	MissingCriteria    Code = "missing_criteria"
	InvalidValue       Code = "invalid_value"
	VersionConflict    Code = "version_conflict"
	Conflict           Code = "conflict" // somebody holds the place, or changed what was read
	WrongType          Code = "wrong_type"
	OutOfRange         Code = "out_of_range"
	UniqueConflict     Code = "unique_conflict"
	NotEmpty           Code = "not_empty"
	BinConflict        Code = "bin_conflict"
	Limit              Code = "limit"
	Denied             Code = "denied"
	Protected          Code = "protected"
	UnknownRoot        Code = "unknown_root"
	SchemaViolation    Code = "schema"
	ExpectFailed       Code = "expect_failed"
	JSONPatch          Code = "json_patch"
	RolledBack         Code = "transaction" // undone, or not run, because another entry was rejected
)

// Codes of warnings.
const (
	WarnRepaired      Code = "repaired_json"
	WarnEmbedded      Code = "embedded_json"
	WarnNoCommands    Code = "no_commands"
	WarnUnknownField  Code = "unknown_field"
	WarnUnknownOption Code = "unknown_option"
	WarnIgnored       Code = "option_ignored"
	WarnMisplaced     Code = "misplaced_option"
	WarnSection       Code = "section_mismatch"
	WarnPayload       Code = "idempotency_payload"
	WarnExpect        Code = "unknown_expect"
	WarnStripped      Code = "version_stripped"
	WarnCoerced       Code = "coerced"
	WarnNoReason      Code = "no_reason"
)

// Warning says what was ignored, repaired or changed on the way. Index is the
// entry's; -1 is the batch.
type Warning struct {
	Index   int    `json:"index"`
	Code    Code   `json:"code"`
	Message string `json:"message"`
}

// Fault is why an entry cannot be carried out.
type Fault struct {
	Code    Code
	Message string
}

func (f *Fault) Error() string { return f.Message }

// Batch is what one text of commands asks for.
type Batch struct {
	Entries  []Entry
	Inspect  []string // keys to show; never part of the outcome
	Options  BatchOptions
	Warnings []Warning
}

// BatchOptions are options of the whole.
type BatchOptions struct {
	Transaction bool
	BatchID     string
	TurnID      string
	Reads       []Read
}

// Read declares a place that was looked at and the version of its document: the
// batch is refused when the place changed later.
type Read struct {
	Key     string
	Version int64
}

// Entry is one command.
type Entry struct {
	Index    int
	Action   Action
	Key      string
	Value    any
	HasValue bool
	Options  *Options // nil when there are none
	Warnings []Warning

	Malformed   *Fault // step 1 and 2: no entry, or no known action
	BadOption   *Fault // step 4: reported after the key has been judged
	HasKey      bool
	KeyIsNoText bool
}

// Wants reports whether the entry asks for a transaction.
func (e *Entry) Wants() bool { return e.Options != nil && e.Options.Transaction == Yes }

// Tri is a boolean option that may be absent.
type Tri int8

const (
	Unset Tri = iota
	No
	Yes
)

// Options of an entry. Absent ones are zero.
type Options struct {
	IdempotencyKey string
	Reason         string
	Tags           []string

	IfMissing, IfExists Tri
	HasIfEquals         bool
	IfEquals            any
	HasIfVersion        bool
	IfVersion           int64

	MergeStrategy string // replace, shallow, deep
	UniqueBy      []string
	Dedupe        Tri
	OnConflict    string // extension of push: "replace"
	Position      string // head, tail
	Limit         int
	Where         map[string]any
	Count         int

	SoftDelete    Tri
	RecycleBinKey string
	Cascade       Tri
	AllowMissing  Tri

	TTL       time.Duration
	ExpiresAt protocol.Time

	Expect      map[string]any
	Transaction Tri

	Given map[string]any // as written, for the audit; nil when there are none
}

// Expires is the earlier of ttl and expiresAt; 0 when neither is given.
func (o *Options) Expires(now protocol.Time) protocol.Time {
	at := o.ExpiresAt
	if o.TTL > 0 {
		if end := now.Add(o.TTL); at == 0 || end < at {
			at = end
		}
	}
	return at
}

// Nearest finds the word that a writer may have meant: the one with the smallest
// edit distance, at most a third of the word's length and at least 1.
func Nearest(word string, among []string) string {
	best, limit := "", max(1, len([]rune(word))/3)
	for _, w := range among {
		d := 0
		if !strings.EqualFold(w, word) {
			d = protocol.EditDistance(word, w, limit+1)
		}
		if d <= limit && (best == "" || d < limit) {
			best, limit = w, d
		}
	}
	return best
}

// Hint writes " (did you mean X?)" or nothing.
func Hint(meant string) string {
	if meant == "" {
		return ""
	}
	return " (did you mean " + meant + "?)"
}
