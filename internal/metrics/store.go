package metrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"tavernsim/persistence"
)

// storeDescs are what the database says of itself.
type storeDescs struct {
	disk, memtable, debt, amplification *prometheus.Desc
	files, sizes                        *prometheus.Desc // by level
	counters                            []storeCounter
}

type storeCounter struct {
	desc *prometheus.Desc
	read func(*persistence.Metrics) float64
}

func (s *Set) makeStore() storeDescs {
	d := storeDescs{
		disk:          s.desc("pebble_disk_usage_bytes", "gauge", "Bytes of all files of the database."),
		memtable:      s.desc("pebble_memtable_size_bytes", "gauge", "Bytes of tables in memory."),
		debt:          s.desc("pebble_compaction_debt_bytes", "gauge", "Bytes that compactions still have to rewrite."),
		amplification: s.desc("pebble_read_amplification", "gauge", "Tables that a read looks into; the largest of all stores."),
		files:         s.desc("pebble_level_files", "gauge", "Tables of a level.", "level"),
		sizes:         s.desc("pebble_level_size_bytes", "gauge", "Bytes of a level.", "level"),
	}
	counter := func(name, help string, read func(*persistence.Metrics) float64) {
		d.counters = append(d.counters, storeCounter{s.desc(name, "counter", help), read})
	}
	counter("pebble_compactions_total", "Compactions.", func(m *persistence.Metrics) float64 { return float64(m.Compactions) })
	counter("pebble_compacted_bytes_total", "Bytes written by compactions.", func(m *persistence.Metrics) float64 { return float64(m.CompactedBytes) })
	counter("pebble_flushes_total", "Tables written from memory.", func(m *persistence.Metrics) float64 { return float64(m.Flushes) })
	counter("pebble_flushed_bytes_total", "Bytes written from memory.", func(m *persistence.Metrics) float64 { return float64(m.FlushedBytes) })
	counter("pebble_wal_written_bytes_total", "Bytes written to the log of the database.", func(m *persistence.Metrics) float64 { return float64(m.WALWritten) })
	counter("pebble_wal_syncs_total", "Syncs of the log: none below durability power.", func(m *persistence.Metrics) float64 { return float64(m.WALSyncs) })
	counter("pebble_write_stalls_total", "Times that commits had to wait for tables to be written.", func(m *persistence.Metrics) float64 { return float64(m.WriteStalls) })
	counter("pebble_write_stall_seconds_total", "Time that commits waited for tables to be written.", func(m *persistence.Metrics) float64 { return m.WriteStallTime.Seconds() })
	counter("pebble_block_cache_hits_total", "Reads answered from memory.", func(m *persistence.Metrics) float64 { return float64(m.CacheHits) })
	counter("pebble_block_cache_misses_total", "Reads that went to the disk.", func(m *persistence.Metrics) float64 { return float64(m.CacheMisses) })
	return d
}

// addCounters adds what must not go back when a store is closed.
func addCounters(to *persistence.Metrics, m persistence.Metrics) {
	to.Compactions += m.Compactions
	to.CompactedBytes += m.CompactedBytes
	to.Flushes += m.Flushes
	to.FlushedBytes += m.FlushedBytes
	to.WALWritten += m.WALWritten
	to.WALSyncs += m.WALSyncs
	to.WriteStalls += m.WriteStalls
	to.WriteStallTime += m.WriteStallTime
	to.CacheHits += m.CacheHits
	to.CacheMisses += m.CacheMisses
}

func addGauges(to *persistence.Metrics, m persistence.Metrics) {
	to.DiskUsage += m.DiskUsage
	to.MemTables += m.MemTables
	to.CompactionDebt += m.CompactionDebt
	to.ReadAmplification = max(to.ReadAmplification, m.ReadAmplification)
	for i := range m.LevelFiles {
		if i == len(to.LevelFiles) {
			to.LevelFiles, to.LevelBytes = append(to.LevelFiles, 0), append(to.LevelBytes, 0)
		}
		to.LevelFiles[i] += m.LevelFiles[i]
		to.LevelBytes[i] += m.LevelBytes[i]
	}
}

func (w *watched) collectStore(ch chan<- prometheus.Metric) {
	sum := w.retired
	for _, s := range w.sources {
		if s.Store != nil {
			m := s.Store.Metrics()
			addCounters(&sum, m)
			addGauges(&sum, m)
		}
	}
	d := &w.store
	gauge(ch, d.disk, sum.DiskUsage)
	gauge(ch, d.memtable, sum.MemTables)
	gauge(ch, d.debt, sum.CompactionDebt)
	gauge(ch, d.amplification, sum.ReadAmplification)
	for i := range sum.LevelFiles {
		gauge(ch, d.files, sum.LevelFiles[i], strconv.Itoa(i))
		gauge(ch, d.sizes, sum.LevelBytes[i], strconv.Itoa(i))
	}
	for _, c := range d.counters {
		ch <- prometheus.MustNewConstMetric(c.desc, prometheus.CounterValue, c.read(&sum))
	}
}
