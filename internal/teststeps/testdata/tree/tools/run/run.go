package run

func Start() { go func() {}() }
