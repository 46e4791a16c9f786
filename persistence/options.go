package persistence

import (
	"errors"
	"log/slog"
	"time"

	"tavernsim/persistence/format"
	"tavernsim/persistence/pebbledb"
	"tavernsim/protocol"
)

// Durability is what is promised when a wave is answered.
type Durability = pebbledb.Level

const (
	Memory  = pebbledb.Memory  // nothing is kept beyond the store's Close; the directory is not touched
	Process = pebbledb.Process // survives a kill of the process, not a loss of power
	Power   = pebbledb.Power   // survives a loss of power: the disk has synced
)

// Durabilities lists the levels, weakest first.
func Durabilities() []Durability { return []Durability{Memory, Process, Power} }

// ParseDurability reads a level's name; "" is process.
func ParseDurability(name string) (Durability, error) {
	switch d := Durability(name); d {
	case "":
		return Process, nil
	case Memory, Process, Power:
		return d, nil
	}
	return "", protocol.Errorf(protocol.KindInvalid, "durability %q: want memory, process or power", name)
}

// Options of a store. The zero value is ready to use.
type Options struct {
	// Durability of every journal of the store; "" = process.
	Durability Durability

	// BatchFacts is how many facts make a block; 0 = 4096, up to 1,048,576. Few
	// cost a database entry and a compression each, many make a reader that
	// wants one fact unpack more. The digest does not depend on it.
	BatchFacts int

	// BatchBytes ends a block earlier when its facts have so many bytes; 0 = 1
	// MiB. A larger fact makes a block of its own.
	BatchBytes int

	// StagedBlocks bounds the blocks of one journal that are being filled or
	// wait for the database; 0 = 4, at least 2. Beyond it Append waits. Times
	// BatchBytes it is a journal's memory.
	StagedBlocks int

	// OpenWaves bounds the waves of one journal that are closed and not yet
	// durable; beyond it CloseWave waits. 1 means that a wave waits for the sync
	// of the one before. 0 = 16, or more small ones: as many as have OpenFacts
	// facts together, at most 512.
	OpenWaves int

	// OpenFacts is how many facts the waves beyond the first OpenWaves may have
	// together; 0 = 65,536 where OpenWaves is 0, else none.
	OpenFacts int

	// MemTableSize is how many bytes the database collects before it writes a
	// table; 0 = 64 MiB, at least 256 KiB. Small ones cost throughput (4 MiB: to
	// a quarter), and up to four of them are in memory. The same bytes are read
	// again at Open after a kill.
	MemTableSize int

	// KeepSnapshots is how many snapshots of a scene are kept; 0 = 2. With 1
	// there is nothing to fall back to when the newest is damaged.
	KeepSnapshots int

	// Keep is how much history journals keep once there are newer snapshots; the
	// zero value keeps all of it, and nothing is ever dropped.
	Keep Keep

	// Traces reads from facts to which causal traces they belong, for the index
	// and for Query.Trace; the zero value reads none.
	Traces Traces

	// ReadOnly opens what is there without changing a fact: journals are read,
	// not written. What a kill left behind the last closed wave is passed over,
	// not removed. The directory is seen as it was at Open, whoever writes there
	// before and after: no lock is taken, nothing is written, no permission to
	// write is needed.
	ReadOnly bool

	// ToDamage, with ReadOnly, opens what stands before a damage of the database's
	// write-ahead log, as if the log ended there; [Store.LogDamage] says where.
	// Without it a store with a damaged log does not open.
	ToDamage bool

	// FS replaces the operating system's file system, for tests.
	FS pebbledb.FS

	// Log is told what the database says about itself; nil = nobody.
	Log *slog.Logger

	// Observer is told what happens, for metrics; nil = nobody.
	Observer Observer
}

// Traces says how traces are read from facts. What facts mean is not known here.
type Traces struct {
	// Rule is the number of this way of reading, from 1. Who reads more or other
	// traces than before takes a new number: what was indexed by another rule
	// counts as any trace until the index is rebuilt.
	Rule byte
	// Of calls yield with every trace of a fact, if any; yield keeps nothing. It
	// must take any bytes and must not panic: the journal's writer calls it on a goroutine of
	// its own, where a panic ends the process. The writer and readers call it at the same
	// time. Set with Rule.
	Of func(kind string, data []byte, yield func(trace []byte))
}

// has reports whether a fact belongs to a trace.
func (t Traces) has(r *protocol.Record, trace string) (found bool) {
	t.Of(r.Kind, r.Data, func(b []byte) { found = found || string(b) == trace })
	return found
}

const (
	defaultBatchFacts    = 4096
	defaultBatchBytes    = 1 << 20
	defaultStagedBlocks  = 4
	defaultOpenWaves     = 16
	defaultOpenFacts     = 65_536
	maxSmallWaves        = 512
	defaultMemTableSize  = 64 << 20
	defaultKeepSnapshots = 2
	minMemTableSize      = 256 << 10
	maxMemTableSize      = 2 << 30
)

func (o Options) withDefaults() Options {
	set := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	if o.Durability == "" {
		o.Durability = Process
	}
	set(&o.BatchFacts, defaultBatchFacts)
	set(&o.BatchBytes, defaultBatchBytes)
	set(&o.StagedBlocks, defaultStagedBlocks)
	if o.OpenWaves == 0 {
		set(&o.OpenFacts, defaultOpenFacts)
	}
	set(&o.OpenWaves, defaultOpenWaves)
	set(&o.MemTableSize, defaultMemTableSize)
	set(&o.KeepSnapshots, defaultKeepSnapshots)
	if o.Observer == nil {
		o.Observer = nobody{}
	}
	return o
}

// Validate reports every option that cannot be, at once.
func (o Options) Validate() error {
	o = o.withDefaults()
	_, durability := ParseDurability(string(o.Durability))
	return errors.Join(durability, o.Traces.validate(),
		inRange("BatchFacts", o.BatchFacts, 1, format.MaxFacts),
		inRange("BatchBytes", o.BatchBytes, 1, format.MaxData),
		inRange("StagedBlocks", o.StagedBlocks, 2, 1024),
		inRange("OpenWaves", o.OpenWaves, 1, 4096),
		inRange("OpenFacts", o.OpenFacts, 0, 1<<30),
		inRange("MemTableSize", o.MemTableSize, minMemTableSize, maxMemTableSize),
		inRange("KeepSnapshots", o.KeepSnapshots, 1, 1000))
}

func (t Traces) validate() error {
	if (t.Rule == 0) != (t.Of == nil) {
		return protocol.Errorf(protocol.KindInvalid, "persistence: option Traces: rule %d and a function: %v; want both or neither", t.Rule, t.Of != nil)
	}
	return nil
}

func inRange(name string, v, low, high int) error {
	if v < low || v > high {
		return protocol.Errorf(protocol.KindInvalid, "persistence: option %s: %d; want %d to %d", name, v, low, high)
	}
	return nil
}

// Observer is told what happens to journals. It is called from their goroutines
// and delays them for as long as it takes.
type Observer interface {
	// BlockStored: a block of facts, raw bytes of them, went to the database as
	// stored bytes.
	BlockStored(scene string, facts, raw, stored int)
	// WaveKept: a wave is durable. commit is the time from its hand-over to the
	// database, latency the time from CloseWave.
	WaveKept(scene string, w Wave, commit, latency time.Duration)
	// Waited: Append or CloseWave had to wait because a bound was reached.
	Waited(scene string, d time.Duration)
	// SnapshotSaved: a snapshot of so many bytes was written, or failed.
	SnapshotSaved(scene string, bytes int64, d time.Duration, err error)
}

type nobody struct{}

func (nobody) BlockStored(string, int, int, int)                   {}
func (nobody) WaveKept(string, Wave, time.Duration, time.Duration) {}
func (nobody) Waited(string, time.Duration)                        {}
func (nobody) SnapshotSaved(string, int64, time.Duration, error)   {}
