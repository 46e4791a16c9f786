package knowledge

import (
	"tavernsim/engine/knowledge/vector"
	"tavernsim/protocol"
	"tavernsim/protocol/grown"
)

// snapshot is the stored form of a State: what differs from the project's files.
type snapshot struct {
	Version int64
	Shelves []shelfSnapshot // by id of the base
}

type shelfSnapshot struct {
	KB        string
	Writes    uint64
	Suggested uint64
	Queue     []Suggestion
	Entries   []protocol.Raw // written by the run, by id
	Failed    int64
	Again     protocol.Time
	Seen      []seenEntry // entries with vectors, by id, each with that of its similar.to behind it
}

type seenEntry struct {
	ID     string
	Vector []byte
}

const snapshotVersion = 1

// Snapshot encodes what the run added to the project's bases. Equal states give
// equal bytes.
func Snapshot(codec *protocol.Codec, s State) (protocol.Raw, error) {
	snap := snapshot{Version: snapshotVersion}
	for _, id := range s.IDs() {
		sh := s.shelves[id]
		if sh.writes == 0 && sh.suggested == 0 && !sh.base.embedded && sh.failed == 0 {
			continue
		}
		kept := shelfSnapshot{KB: id, Writes: sh.writes, Suggested: sh.suggested, Queue: sh.queue, Failed: sh.failed, Again: sh.again}
		for _, d := range sh.base.sorted() {
			if d.written {
				kept.Entries = append(kept.Entries, d.entry.Encode())
			}
			if d.seen {
				kept.Seen = append(kept.Seen, seenEntry{d.entry.ID, vector.Bytes(d.vector.Components(d.vector.Dimensions()))})
			}
			if d.liked {
				kept.Seen = append(kept.Seen, seenEntry{likenessOf(d.entry.ID), vector.Bytes(d.like.Components(d.like.Dimensions()))})
			}
		}
		if sh.base.embedded && len(kept.Seen) == 0 {
			kept.Seen = []seenEntry{{}} // entries had vectors, so queries go on to want one; no entry has this id
		}
		snap.Shelves = append(snap.Shelves, kept)
	}
	return codec.Marshal(&snap)
}

// Restore lays a snapshot over the project's bases, given as the State that
// [NewState] made.
func Restore(codec *protocol.Codec, project State, data protocol.Raw) (State, error) {
	var snap snapshot
	if err := grown.Unmarshal(codec, data, &snap); err != nil {
		return State{}, err
	}
	if snap.Version != snapshotVersion {
		return State{}, protocol.Errorf(protocol.KindCorrupt, "knowledge snapshot: version %d; want %d", snap.Version, snapshotVersion)
	}
	s := project
	for _, kept := range snap.Shelves {
		if _, ok := s.shelves[kept.KB]; !ok {
			return State{}, protocol.Errorf(protocol.KindNotFound, "knowledge snapshot: the project has no base %q", kept.KB)
		}
		docs := make([]*doc, 0, len(kept.Entries))
		for _, raw := range kept.Entries {
			e, err := decodeEntry(raw)
			if err != nil {
				return State{}, protocol.Errorf(protocol.KindCorrupt, "knowledge snapshot: base %s: %w", kept.KB, err)
			}
			docs = append(docs, project.shelves[kept.KB].base.doc(e, true))
		}
		s = s.change(kept.KB, func(sh shelf) shelf {
			sh.base, sh.writes, sh.suggested, sh.queue = sh.base.with(docs...).dressed(kept.Seen), kept.Writes, kept.Suggested, kept.Queue
			sh.failed, sh.again = kept.Failed, kept.Again
			return sh
		})
	}
	return s, nil
}
