package whole

import "testing"

func TestSend(t *testing.T) {}

func ExampleWhole() {}

func Testless() {}
