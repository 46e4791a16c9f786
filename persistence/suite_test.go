package persistence_test

import (
	"testing"

	"tavernsim/persistence"
	"tavernsim/persistence/persistencetest"
)

func open(dir string, o persistence.Options) (persistencetest.Store, error) {
	s, err := persistence.Open(dir, o)
	if err != nil {
		return nil, err
	}
	return persistencetest.Of(s), nil
}

func TestConformance(t *testing.T) {
	for _, level := range persistence.Durabilities() {
		t.Run("durability="+string(level), func(t *testing.T) {
			persistencetest.Run(t, persistencetest.Backend{
				Open:    open,
				Options: persistence.Options{Durability: level, MemTableSize: 1 << 20},
				Keeps:   level != persistence.Memory,
			})
		})
	}
}
