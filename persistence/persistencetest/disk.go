package persistencetest

import (
	"math/rand/v2"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"tavernsim/persistence/pebbledb"
	"tavernsim/protocol"
)

// Disks for the tests of packages that do not know Pebble.

// OSDisk is the operating system's.
func OSDisk() pebbledb.FS { return vfs.Default }

// MemDisk is an empty one in memory.
func MemDisk() pebbledb.FS { return vfs.NewMem() }

// CrashDisk is an empty one in memory of which [CrashDisk.Kill] makes copies.
type CrashDisk struct{ *vfs.MemFS }

// NewCrashDisk makes one.
func NewCrashDisk() CrashDisk { return CrashDisk{vfs.NewCrashableMem()} }

// Kill is a copy as a kill of the process leaves the disk at this moment: with
// everything that was written, synced or not.
func (d CrashDisk) Kill() CrashDisk {
	return CrashDisk{d.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})}
}

// LosePower is a copy as a loss of power leaves the disk: of what was not synced,
// block by block and name by name, so many of a hundred are there.
func (d CrashDisk) LosePower(percent int, rng *rand.Rand) pebbledb.FS {
	return d.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rng})
}

// CopyDisk copies a folder from one disk to another.
func CopyDisk(from pebbledb.FS, dir string, to pebbledb.FS, as string) error {
	ok, err := vfs.Clone(from, to, dir, as)
	if err == nil && !ok {
		err = protocol.Errorf(protocol.KindNotFound, "copy %s: it does not exist", dir)
	}
	return err
}

// DiskOp is what is done to a file.
type DiskOp struct {
	Path                        string
	Write, Sync, Create, Remove bool
}

// FailingDisk does what a disk does, but for what fail says no to. It is asked on
// many goroutines.
func FailingDisk(disk pebbledb.FS, fail func(DiskOp) error) pebbledb.FS {
	return errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
		return fail(DiskOp{
			Path: op.Path, Write: op.Kind == errorfs.OpFileWrite, Create: op.Kind == errorfs.OpCreate, Remove: op.Kind == errorfs.OpRemove,
			Sync: op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData,
		})
	}))
}
