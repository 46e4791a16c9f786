package history

import (
	"tavernsim/engine/agenda"
	"tavernsim/persistence"
	"tavernsim/protocol"
)

// Edition is the newest fact of a scene whose plugins were read again; nil = there is none.
func Edition(journal Journal, codec *protocol.Codec) (last *agenda.PluginsChanged, err error) {
	err = journal.Scan(persistence.Query{Kinds: []string{agenda.FactPlugins}}, func(r protocol.Record) error {
		f, err := codec.ReadFact(r.Kind, r.Data)
		if x, ok := f.(*agenda.PluginsChanged); ok {
			last = x
		}
		return err
	})
	return last, err
}
