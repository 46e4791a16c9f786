package format

import (
	"encoding/binary"
	"fmt"

	"tavernsim/protocol"
)

// Family is the kind of thing that a key names within a scene.
type Family byte

const (
	FamilyBlock Family = 'b' // facts: first seq -> block
	FamilyIndex Family = 'i' // derived from the blocks: first seq -> index entry
	FamilyHead  Family = 'm' // one per scene: where the journal begins
	FamilyNote  Family = 'n' // of some waves: last seq -> what the writer noted
)

// StoreKey names the one entry that says what the database is. No scene has an
// empty id, so no scene's key begins with a zero byte.
func StoreKey() []byte { return []byte{0, 'v'} }

// StoreValue is what StoreKey holds.
func StoreValue() []byte { return append([]byte("simd journal"), Version) }

// CheckStore reads the value of StoreKey.
func CheckStore(value []byte) error {
	const name = "simd journal"
	if len(value) != len(name)+1 || string(value[:len(name)]) != name {
		return corrupt("store entry: %d bytes %q; want %q and a version byte", len(value), clip(value), name)
	}
	if v := value[len(name)]; v == 0 || v > Version {
		return newer("store", v, Version)
	}
	return nil
}

func clip(b []byte) []byte { return b[:min(len(b), 32)] }

// CheckScene says whether an id can be a scene's.
func CheckScene(scene string) error {
	if scene == "" || len(scene) > MaxScene {
		return protocol.Errorf(protocol.KindInvalid, "scene id %q: %d bytes; want 1 to %d", clip([]byte(scene)), len(scene), MaxScene)
	}
	return nil
}

// AppendPrefix appends what all keys of a scene and family begin with.
func AppendPrefix(b []byte, scene string, f Family) []byte {
	b = append(b, byte(len(scene)))
	b = append(b, scene...)
	return append(b, byte(f))
}

// BySeq lists the families whose keys have a seq.
func BySeq() []Family { return []Family{FamilyBlock, FamilyIndex, FamilyNote} }

// AppendKey appends the key of the block (or index entry) that begins at seq, or of
// the note that ends there.
// Keys of one scene and family sort by seq.
func AppendKey(b []byte, scene string, f Family, seq uint64) []byte {
	return binary.BigEndian.AppendUint64(AppendPrefix(b, scene, f), seq)
}

// HeadKey is the key of a scene's head.
func HeadKey(scene string) []byte { return AppendPrefix(nil, scene, FamilyHead) }

// Range gives the bounds, lower inclusive and upper exclusive, of all keys of a
// scene and family.
func Range(scene string, f Family) (lower, upper []byte) {
	return AppendPrefix(nil, scene, f), AppendPrefix(nil, scene, f+1)
}

// AfterScene is a key above every key of the scene and at most the first key of
// the next one.
func AfterScene(scene string) []byte { return append(AppendPrefix(nil, scene, 0xff), 0xff) }

// Key is a key taken apart.
type Key struct {
	Scene  string
	Family Family
	Seq    uint64 // of blocks, index entries and notes
}

// ParseKey takes a scene's key apart.
func ParseKey(key []byte) (Key, error) {
	if len(key) < 3 || key[0] == 0 || len(key) < int(key[0])+2 {
		return Key{}, corrupt("key %x: want length, scene id, family", clip(key))
	}
	n := int(key[0])
	k := Key{Scene: string(key[1 : 1+n]), Family: Family(key[1+n])}
	rest := key[2+n:]
	switch k.Family {
	case FamilyBlock, FamilyIndex, FamilyNote:
		if len(rest) != 8 {
			return k, corrupt("key %x of scene %q: %d bytes of sequence; want 8", clip(key), k.Scene, len(rest))
		}
		k.Seq = binary.BigEndian.Uint64(rest)
	case FamilyHead:
		if len(rest) != 0 {
			return k, corrupt("key %x of scene %q: %d bytes after the head's family; want none", clip(key), k.Scene, len(rest))
		}
	default:
		return k, corrupt("key %x of scene %q: family %q is not known", clip(key), k.Scene, byte(k.Family))
	}
	return k, nil
}

func (k Key) String() string {
	if k.Family == FamilyHead {
		return fmt.Sprintf("%s/%c", k.Scene, k.Family)
	}
	return fmt.Sprintf("%s/%c/%d", k.Scene, k.Family, k.Seq)
}
