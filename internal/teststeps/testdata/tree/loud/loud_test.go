package loud_test

import "testing"

func TestDouble(t *testing.T) {} // in quiet, too

func TestSend(t *testing.T) {}

func TestSendOften(t *testing.T) { times(t) }

func TestDraws(t *testing.T) { rapid.Check(t, nil) }

func times(t *testing.T) int {
	if testing.Short() {
		return 1
	}
	return 1000
}

func TestShows(t *testing.T) { t.Log(often{}) }

type often struct{}

func (often) String() string {
	asks := testing.Short
	if asks() {
		return "short"
	}
	return "long"
}
